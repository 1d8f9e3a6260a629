"""`gateway serve` as a program: its log, its admin socket, its signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from fleetgate.gateway.admin.client import AdminClient, AdminError, Lines
from fleetgate.gateway.cli import main
from fleetgate.gateway.commands.serve import _link_line
from fleetgate.gateway.registry import BUILTIN
from fleetgate.transports.memory import memory_link_pair

PROGRAM = (sys.executable, "-m", "fleetgate.gateway.cli", "serve", "--config")

CONFIG = """\
[gateway]
name = "gw"
journal = "sqlite:j.db"
[[south]]
name = "hosts"
protocol = "rvbox"
listen = "tcp://127.0.0.1:0"
[[route]]
from = "admin"
to = "hosts"
"""


class Served:
    """A gateway at work: its process, its log, its config file and its admin socket."""

    def __init__(self, process: trio.Process, config: Path) -> None:
        self.process = process
        self.config = config
        self.admin = AdminClient(f"unix:{config.parent}/j.db.admin/socket")
        self._buffer = b""

    async def said(self, event: str) -> dict[str, Any]:
        """Read the log until it says `event`."""
        while True:
            line = await self.line()
            if line["event"] == event:
                return line

    async def line(self) -> dict[str, Any]:
        assert self.process.stderr is not None
        while b"\n" not in self._buffer:
            data = await self.process.stderr.receive_some()
            assert data, f"the log ended: {self._buffer!r}"
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        parsed: dict[str, Any] = json.loads(line)
        return parsed


@asynccontextmanager
async def _serving(config: Path, program: tuple[str, ...] = PROGRAM) -> AsyncIterator[Served]:
    async with trio.open_nursery() as nursery:
        run = partial(
            trio.run_process, [*program, str(config)], check=False, stderr=subprocess.PIPE
        )
        process = await nursery.start(run)
        try:
            yield Served(process, config)
        finally:
            process.terminate()


LISTING = """
import json, sys
from fleetgate.gateway.cli import main
code = main(sys.argv[1:])
print(json.dumps({"event": "modules", "names": sorted(sys.modules)}), file=sys.stderr)
sys.exit(code)
"""
"""The program, which names at its end what it has imported."""


async def test_a_gateway_imports_the_protocols_that_its_config_names_and_no_other(
    tmp_path: Path,
) -> None:
    config = tmp_path / "gw.toml"
    config.write_text(CONFIG)
    program = (sys.executable, "-P", "-c", LISTING, "serve", "--config")
    async with _serving(config, program) as served:
        await served.said("gateway_ready")
        served.process.terminate()
        names = set((await served.said("modules"))["names"])
    protocols = {f"fleetgate.protocols.{each}" for each in BUILTIN}
    assert protocols & names == {"fleetgate.protocols.rvbox"}
    assert "fleetgate.protocols.rvbox.southbound" in names
    heavy = {
        *("asyncio", "grpclib", "httpx", "rich", "structlog", "trio_asyncio"),
        *(
            "trio_websocket",
            "fleetgate.gateway.fakes",
            "fleetgate.gateway.local",
            "fleetgate.gateway.fidelity",
        ),
        "fleetgate.protocols.rvbox.northbound",
    }
    assert heavy & names == set()


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    config = tmp_path / "gw.toml"
    config.write_text(CONFIG)
    async with _serving(config) as served:
        await served.said("gateway_ready")
        yield served


async def test_it_says_what_it_does_and_answers(served: Served) -> None:
    status = await served.admin.get("/v1/status")
    assert (status["name"], status["pid"]) == ("gw", served.process.pid)
    assert status["config"] == str(served.config)
    assert status["draining"] is False
    assert status["journal"]["failing"] is None
    assert status["journal"]["damaged"] is False
    (entry,) = status["entries"]
    assert (entry["entry"], entry["facing"], entry["protocol"]) == ("hosts", "south", "rvbox")
    assert (entry["listens"], entry["links"]) == (True, [])
    assert (await served.admin.get("/v1/workers"))["workers"] == []


async def test_fault_14_a_link_is_shown_with_its_last_byte_each_way(
    autojump_clock: MockClock,
) -> None:
    near, far = memory_link_pair(limit=100)
    driver: Any = SimpleNamespace(link=near, worker="hosts/h")
    line = _link_line(driver)
    assert (line["silent"], line["quiet"]) == (None, None)
    await near.send(b"out")
    await trio.sleep(7)
    await far.send(b"in")
    await near.receive()
    await trio.sleep(3)
    line = _link_line(driver)
    assert (line["silent"], line["quiet"]) == (3, 10)
    assert (line["worker"], line["frames_in"], line["frames_out"]) == ("hosts/h", 1, 1)


async def test_local_pools_need_no_journal_on_disk_and_are_among_the_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path / "run"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    config = tmp_path / "gw.toml"
    config.write_text(
        '[gateway]\nname = "gw"\njournal = "memory:"\n[[local]]\nname = "here"\n'
        'adapters = ["mock"]\n[[route]]\nfrom = "admin"\nto = "here"\n'
    )
    async with _serving(config) as served:
        await served.said("gateway_ready")
        admin = AdminClient(f"unix:{runtime}/fleetgate/gw/socket")
        (entry,) = (await admin.get("/v1/status"))["entries"]
    assert (entry["entry"], entry["protocol"], entry["links"]) == ("here", "local", [])


async def test_SIGTERM_ends_it_in_order(served: Served) -> None:
    served.process.send_signal(signal.SIGTERM)
    await served.said("gateway_draining")
    await served.said("gateway_stopped")
    assert await served.process.wait() == 0
    assert not (served.config.parent / "j.db.admin" / "socket").exists()


async def test_draining_by_the_admin_socket_is_the_same(served: Served) -> None:
    assert (await served.admin.post("/v1/drain"))["draining"] is True
    await served.said("gateway_stopped")
    assert await served.process.wait() == 0


async def test_I5_a_run_that_waits_is_there_after_a_restart(served: Served) -> None:
    body = {"run": "mine", "input": {"line": "ls"}}
    await served.admin.post("/v1/runs", body)
    served.process.send_signal(signal.SIGTERM)
    assert await served.process.wait() == 0
    async with _serving(served.config) as again:
        await again.said("gateway_ready")
        run = (await again.admin.get("/v1/runs/admin%2Fmine"))["run"]
        assert run["state"] == "queued"


async def test_I5_a_run_goes_on_at_its_worker_while_the_gateway_restarts(tmp_path: Path) -> None:
    config = tmp_path / "gw.toml"
    config.write_text(CONFIG.replace("tcp://127.0.0.1:0", "unix:run/s"))
    host = [sys.executable, "-m", "fleetgate.gateway.cli", "fake", "rvbox-client", "--exec"]
    host += ["--connect", f"unix:{tmp_path}/run/s", "--client-id", "mill"]
    host += ["--state", str(tmp_path / "mill")]
    body = {"run": "mine", "input": {"line": "echo up; cat"}, "interactive": True}
    path = "/v1/runs/admin%2Fmine"
    async with trio.open_nursery() as nursery:
        async with _serving(config) as served:
            await served.said("gateway_ready")
            run = partial(trio.run_process, host, stdin=subprocess.PIPE, capture_stdout=True)
            process = await nursery.start(partial(run, check=False, capture_stderr=True))
            await served.admin.post("/v1/runs", body)
            async with served.admin.stream(f"{path}/events?follow=1") as lines:
                seen = await _until(lines, "OutputProduced")
            served.process.send_signal(signal.SIGTERM)
            assert await served.process.wait() == 0
        async with _serving(config) as again:
            await again.said("gateway_ready")
            await again.admin.post(f"{path}/input", {"text": "on", "newline": True})
            await again.admin.post(f"{path}/close")
            after = seen[-1]["seq"]
            async with again.admin.stream(f"{path}/events?follow=1&after={after}") as lines:
                seen += await _until(lines, "RunFinished")
        process.terminate()
    assert [line["seq"] for line in seen] == list(range(1, len(seen) + 1))
    printed = [line["data_base64"] for line in seen if line["type"] == "OutputProduced"]
    assert b"".join(map(b64decode, printed)) == b"up\non\n"
    assert seen[-1]["outcome"]["state"] == "succeeded"


async def _until(lines: Lines, kind: str) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    async for line in lines:
        seen.append(line)
        if line["type"] == kind:
            break
    return seen


async def test_SIGHUP_with_a_bad_file_keeps_the_running_config_and_says_so(
    served: Served,
) -> None:
    served.config.write_text(CONFIG.replace("protocol =", "protocl ="))
    served.process.send_signal(signal.SIGHUP)
    refused = await served.said("config_refused")
    assert refused["reason"] == f"{served.config}:4: south.hosts.protocol: is missing"
    assert refused["note"] == "the running config stays"
    assert len((await served.admin.get("/v1/status"))["entries"]) == 1


async def test_SIGHUP_with_a_good_file_changes_over(served: Served) -> None:
    served.config.write_text(
        CONFIG.replace('name = "gw"', 'name = "other"\nlog_level = "error"').replace(
            "tcp://127.0.0.1:0", "unix:run/s"
        )
    )
    served.process.send_signal(signal.SIGHUP)
    # From here on only errors are logged, so it is the socket that tells.
    while True:
        (entry,) = (await served.admin.get("/v1/status"))["entries"] or [None]
        if entry is not None and entry["address"].startswith("unix:"):
            break
    assert (served.config.parent / "run" / "s").exists()


async def test_what_is_changed_and_needs_a_restart_is_said(served: Served) -> None:
    served.config.write_text(CONFIG.replace('name = "gw"', 'name = "other"'))
    served.process.send_signal(signal.SIGHUP)
    assert (await served.said("config_needs_restart"))["keys"] == ["name"]
    await served.said("config_reloaded")


async def test_no_secret_is_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "gw.toml"
    text = CONFIG.replace("tcp://127.0.0.1:0", "ws://127.0.0.1:0")
    grants = 'tokens = [{ token = { env = "GW_TOKEN" }, id = "h" }]'
    config.write_text(text.replace("[[route]]", f"{grants}\n[[route]]"))
    monkeypatch.setenv("GW_TOKEN", "hunter2-hunter2")
    async with _serving(config) as served:
        seen: list[dict[str, Any]] = []
        while not seen or seen[-1]["event"] != "gateway_ready":
            seen.append(await served.line())
        status = await served.admin.get("/v1/status")
    assert "hunter2" not in json.dumps([seen, status])


async def test_the_journal_has_one_owner_and_the_second_says_so(served: Served) -> None:
    argv = [*PROGRAM, str(served.config)]
    ended = await trio.run_process(argv, check=False, capture_stderr=True)
    assert ended.returncode == 1
    last = json.loads((ended.stderr or b"").splitlines()[-1])
    assert last["event"] == "gateway_failed"
    assert "j.db" in last["reason"]


FILLING = """
import resource, signal, sys
from fleetgate.gateway.cli import main

def may_be(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

signal.signal(signal.SIGUSR1, lambda *_: may_be(10_000))
signal.signal(signal.SIGUSR2, lambda *_: may_be(resource.RLIM_INFINITY))
sys.exit(main(sys.argv[1:]))
"""
"""A gateway that can write no more files after SIGUSR1, and can again after SIGUSR2."""


async def test_a_full_disk_is_said_and_refuses_new_work_until_there_is_room(
    tmp_path: Path,
) -> None:
    config = tmp_path / "gw.toml"
    config.write_text(CONFIG)
    body = {"input": {"line": "ls"}}
    async with _serving(config, (sys.executable, "-c", FILLING, "serve", "--config")) as served:
        await served.said("gateway_ready")
        await served.admin.post("/v1/runs", {"run": "before", **body})
        served.process.send_signal(signal.SIGUSR1)
        await served.admin.get("/v1/status")  # answered behind the signal
        with pytest.raises(AdminError, match="cannot be written") as caught:
            await served.admin.post("/v1/runs", {"run": "during", **body})
        assert caught.value.code == "unavailable"
        assert "SQLITE_" in (await served.said("journal_failing"))["reason"]
        served.process.send_signal(signal.SIGUSR2)
        line = await served.line()
        while line["event"] != "journal_recovered":
            assert line["event"] != "journal_failing"  # fault 24: once for each change of state
            line = await served.line()
        await served.admin.post("/v1/runs", {"run": "after", **body})
        runs = (await served.admin.get("/v1/runs"))["runs"]
    assert sorted(run["run"] for run in runs) == ["admin/after", "admin/before"]


async def test_a_taken_admin_socket_is_said(served: Served) -> None:
    other = served.config.parent / "other.toml"
    address = f"unix:{served.config.parent}/j.db.admin/socket"
    other.write_text(
        CONFIG.replace('journal = "sqlite:j.db"', f'journal = "memory:"\nadmin = "{address}"')
    )
    ended = await trio.run_process([*PROGRAM, str(other)], check=False, capture_stderr=True)
    assert ended.returncode == 1
    last = json.loads((ended.stderr or b"").splitlines()[-1])
    assert last["event"] == "gateway_failed"
    assert "already listening" in last["reason"]
    assert (await served.admin.get("/v1/status"))["name"] == "gw"


async def test_an_entry_that_cannot_listen_is_the_end_and_the_last_line_says_where_to_look(
    tmp_path: Path,
) -> None:
    with socket.socket() as in_the_way:
        in_the_way.bind(("127.0.0.1", 0))
        in_the_way.listen()
        taken = f"127.0.0.1:{in_the_way.getsockname()[1]}"
        config = tmp_path / "gateway.toml"
        config.write_text(
            '[gateway]\nname = "gw"\njournal = "memory:"\n[[south]]\nname = "hosts"\n'
            f'protocol = "rvbox"\nlisten = "ws://{taken}/agent"\n'
        )
        ended = await trio.run_process([*PROGRAM, str(config)], check=False, capture_stderr=True)
    assert ended.returncode == 1
    *before, last = [json.loads(line) for line in (ended.stderr or b"").splitlines()]
    assert (last["event"], last["level"]) == ("gateway_failed", "error")
    assert "entry_failed" in last["reason"]
    (why,) = (line["reason"] for line in before if line["event"] == "entry_failed")
    assert f"cannot listen at ws://{taken}" in why


def test_a_file_that_cannot_be_served_is_said_before_anything_is_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "gw.toml"
    config.write_text(CONFIG.replace("tcp://127.0.0.1:0", "wss://127.0.0.1:0"))
    assert main(["serve", "--config", str(config)]) == 1
    assert "needs a certificate and a key" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["gw.toml"]


async def test_what_crosses_its_links_is_recorded(tmp_path: Path) -> None:
    config, file = tmp_path / "gateway.toml", tmp_path / "r.jsonl"
    config.write_text(CONFIG)
    program = (*PROGRAM[:-1], "--record", str(file), "--config")
    async with _serving(config, program) as served:
        address = (await served.said("entry_listening"))["address"]
        host, port = address.removeprefix("tcp://").split(":")
        stream = await trio.open_tcp_stream(host, int(port))
        async with stream:
            await stream.send_all(b"\x02\xff\xff")  # a frame, and no message
            while await stream.receive_some():
                pass
        await served.said("link_down")
        served.process.terminate()
        await served.said("gateway_stopped")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines[0]["protocols"].keys() >= {"rvbox", "agency"}
    assert [line["event"] for line in lines[1:3]] == ["link", "frame"]
    assert (lines[1]["entry"], lines[2]["from"], lines[2]["raw"]) == ("hosts", "worker", None)
    assert lines[-1]["event"] == "end"


async def test_a_recording_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    config = tmp_path / "gateway.toml"
    config.write_text(CONFIG)
    program = (*PROGRAM[:-1], "--record", str(tmp_path), "--config")
    async with _serving(config, program) as served:
        reason = (await served.said("gateway_failed"))["reason"]
        assert "cannot be written" in reason
        assert await served.process.wait() == 1
