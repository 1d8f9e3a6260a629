"""The plugin in test sessions of others: plain, unittest, trio, asyncio, anyio, with xdist."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from fleetgate.gateway.fakes.cli import FAKES

PLUGIN = "fleetgate.gateway.fakes.pytest_plugin"

TRANSCRIPTS = Path(__file__).parents[2] / "transcripts"

OTHERS = ("xdist", "pytest_trio.plugin", "pytest_asyncio.plugin", "anyio.pytest_plugin")

pytest_plugins = ["pytester"]

TESTS = {
    "test_plain.py": """
        import pytest

        def test_a_daemon_and_its_client(fleetgate_agency_daemon, fleetgate_agency_client):
            path = fleetgate_agency_daemon.address.removeprefix("unix:")
            client = fleetgate_agency_client(socket=path)
            client.start("r", {"prompt": "hello"})
            assert client.wait("r")["state"] == "succeeded"
            fleetgate_agency_daemon.expect("frame", dir="in", name="start_run")

        def test_a_recording(fleetgate_agency_daemon, fleetgate_replay):
            daemon = fleetgate_agency_daemon(script="{transcripts}/script.toml")
            fleetgate_replay(
                "{transcripts}/agency.jsonl", connect=daemon.address, match_shape=True)

        def test_that_fails_beside_a_recording(fleetgate_replay):
            fleetgate_replay("{transcripts}/agency.jsonl", timeout=3600)
            assert False

        def test_that_fails_beside_a_replay_that_differs(
                fleetgate_replay, fleetgate_agency_client):
            daemon = fleetgate_replay("{transcripts}/agency.jsonl")
            client = fleetgate_agency_client(socket=daemon.address.removeprefix("unix:"))
            client.start("r", {"prompt": "another"})
            daemon.wait_spoken()
            assert False

        def test_a_peer_that_ends_before_the_replay(fleetgate_replay, fleetgate_kodelet_runner):
            plane = fleetgate_replay("{transcripts}/kodelet.jsonl", match_shape=True)
            fleetgate_kodelet_runner(server=plane.address, script="{transcripts}/script.toml")

        def test_that_plays_to_nobody(fleetgate_replay):
            fleetgate_replay("{transcripts}/iop.jsonl", timeout=0.01)

        def test_that_fails_with_nobody_there(fleetgate_rvbox_server):
            fleetgate_rvbox_server.expect("link", state="up", within=0.01)

        def test_that_fails(fleetgate_agency_daemon, fleetgate_agency_client):
            path = fleetgate_agency_daemon.address.removeprefix("unix:")
            fleetgate_agency_client(socket=path).expect("worker", state="ready")
            assert False

        def test_that_has_no_fake_and_fails():
            assert False

        def test_wrong_option(fleetgate_rvbox_server):
            fleetgate_rvbox_server(lisen=1)
        """,
    "test_unit.py": """
        import tempfile, unittest
        from fleetgate.gateway.fakes import threads

        class Tests(unittest.TestCase):
            def test_a_host(self):
                server = self.enterContext(threads.RvboxServer())
                place = self.enterContext(tempfile.TemporaryDirectory())
                self.enterContext(threads.RvboxClient(
                    connect=server.address, client_id="h", state=place))
                server.start("r", {"line": "echo"})
                self.assertEqual(server.wait("r")["state"], "succeeded")
        """,
    "test_aio.py": """
        import asyncio
        import pytest
        from fleetgate.gateway.fakes.threads import aside

        @pytest.mark.asyncio
        async def test_a_peer_in_this_loop(fleetgate_agency_daemon):
            path = fleetgate_agency_daemon.address.removeprefix("unix:")
            _, writer = await asyncio.open_unix_connection(path)
            await aside(fleetgate_agency_daemon.expect, "link", state="up")
            writer.close()
            await writer.wait_closed()

        @pytest.mark.asyncio
        async def test_a_loop_beside_grpc(fleetgate_iop_edge, fleetgate_iop_node):
            fleetgate_iop_node(connect=fleetgate_iop_edge.address)
            await aside(fleetgate_iop_edge.start, "r", {"prompt": "x"})
            assert (await aside(fleetgate_iop_edge.wait, "r"))["state"] == "succeeded"
            assert type(asyncio.get_running_loop()).__module__.startswith("asyncio")
        """,
    "test_any.py": """
        import anyio
        import pytest
        from fleetgate.gateway.fakes.threads import aside

        @pytest.fixture(params=["asyncio", "trio"])
        def anyio_backend(request):
            return request.param

        @pytest.mark.anyio
        async def test_a_peer_in_this_loop(fleetgate_agency_daemon):
            path = fleetgate_agency_daemon.address.removeprefix("unix:")
            async with await anyio.connect_unix(path):
                await aside(fleetgate_agency_daemon.expect, "link", state="up")
        """,
    "test_tri.py": """
        import pytest, tempfile, trio
        from fleetgate.gateway.fakes import AgencyClient, AgencyDaemon
        from fleetgate.gateway.fakes.threads import aside

        @pytest.mark.trio
        async def test_a_peer_in_this_loop(fleetgate_agency_daemon):
            path = fleetgate_agency_daemon.address.removeprefix("unix:")
            async with await trio.open_unix_socket(path):
                await aside(fleetgate_agency_daemon.expect, "link", state="up")

        @pytest.mark.trio
        async def test_fakes_of_this_loop_are_shown_too():
            with tempfile.TemporaryDirectory() as place:
                async with AgencyDaemon(socket=f"{place}/s") as daemon, AgencyClient(
                        socket=f"{place}/s"):
                    await daemon.expect("frame", name="hello")
                    assert False
        """,
}


def test_sessions_of_every_kind(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """One session for all of them, in two processes: each costs a second to start. The recording
    of a test that fails would wait an hour for its peer."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    for name, text in TESTS.items():
        text = text.replace("{transcripts}", str(TRANSCRIPTS))
        pytester.makepyfile(**{name.removesuffix(".py"): text})
    words = [word for plugin in (PLUGIN, *OTHERS) for word in ("-p", plugin)]
    done = pytester.runpytest_subprocess(*words, "-n2", "--dist=load", timeout=120)
    done.assert_outcomes(passed=9, failed=8)
    out = done.stdout.str()
    part = _section(out, "test_that_fails")
    assert "frames of agency-daemon at unix:" in part
    assert "frames of agency-client at unix:" in part
    assert '  in  hello  {"requestId": 1' in part
    assert '  out hello  {"requestId": 1' in part
    part = _section(out, "test_that_fails_beside_a_replay_that_differs")
    assert "replay of " in part
    assert 'at request.prompt: expected "summarize", got "another"' in part
    part = _section(out, "test_that_plays_to_nobody")
    assert "link 1: expected a link, got nothing within 0.01 s" in part
    assert "A replay is waited for as long as its peer is there" in part  # so it says why
    part = _section(out, "test_that_fails_with_nobody_there")
    assert "frames of rvbox-server at ws://" in part
    assert "nothing: no link came up here" in part
    assert "concurrent/futures" not in part
    assert "fleetgate/gateway" not in part
    assert "frames of" not in _section(out, "test_that_has_no_fake_and_fails")
    assert "did you mean listen?" in _section(out, "test_wrong_option")
    assert "  in  hello  {" in _section(out, "test_fakes_of_this_loop_are_shown_too")


def _section(out: str, test: str) -> str:
    """What the session says of one failed test."""
    return out.split(f"_ {test} _")[1].split("\n____")[0].split("short test summary")[0]


def test_it_is_named_for_pytest_to_find() -> None:
    found = importlib.metadata.entry_points(group="pytest11", name="fleetgate")
    assert [each.value for each in found] == [PLUGIN], "install again: pip install -e ."


def test_loading_it_imports_nothing_heavy() -> None:
    """Whoever has fleetgate installed loads it in every session, and coverage begins behind it."""
    code = (
        "import pytest, sys; before = set(sys.modules)\n"
        f"import {PLUGIN}\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    ours = {name for name in done.stdout.split() if name.startswith("fleetgate")}
    assert ours == {
        "fleetgate",
        "fleetgate.gateway",
        "fleetgate.gateway.fakes",
        "fleetgate.gateway.fakes.pytest_plugin",
        "fleetgate.gateway.fakes.shown",
    }
    tops = {name.partition(".")[0] for name in set(done.stdout.split()) - ours}
    assert tops - sys.stdlib_module_names == set()


def test_each_fake_has_a_fixture() -> None:
    from fleetgate.gateway.fakes import pytest_plugin

    for name in FAKES:
        fixture = getattr(pytest_plugin, f"fleetgate_{name.replace('-', '_')}")
        assert fixture.__doc__ or fixture._get_wrapped_function().__doc__
