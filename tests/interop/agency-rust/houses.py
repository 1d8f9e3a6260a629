"""Daemons that a genuine client can meet, each on a socket: the genuine one, ours, and our gateway
in front of the genuine one."""

from __future__ import annotations

import shlex
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import attrs
from programs import Program

LANE = Path(__file__).parent
GATEWAY = [sys.executable, "-P", "-m", "fleetgate"]
ENDS = ("finished", "failed")


@attrs.frozen
class House:
    """A daemon that listens. `program` is what a shutdown ends, with the exit code `ends`."""

    name: str
    socket: Path
    program: Program
    binary: Path
    ends: int = 0

    def request(self, prompt: str, **members: Any) -> dict[str, Any]:
        """A run's request; the genuine daemon starts our provider for it."""
        plain = {"provider": "claude", "model": "", "permission": "plan", "workspaceRoots": []}
        asked = {"approvals": False, "interactive": False, "binary": str(self.binary)}
        return {**plain, **asked, "prompt": prompt, **members}


def write_binary(folder: Path) -> Path:
    """The provider as an executable."""
    binary = folder / "claude"
    words = shlex.join([sys.executable, "-I", str(LANE / "provider.py")])
    binary.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    binary.chmod(0o755)
    return binary


@contextmanager
def genuine(daemon: Path, folder: Path) -> Iterator[House]:
    """The genuine daemon."""
    socket = folder / "genuine" / "socket"
    with Program([daemon, "--socket", socket], listens=False) as program:
        program.until_true(socket.exists, "the genuine daemon listens")
        yield House("genuine", socket, program, write_binary(folder))


@contextmanager
def ours(folder: Path, *words: str, name: str = "ours") -> Iterator[House]:
    """Our fake, over the same adapter as every daemon of ours."""
    socket = folder / "ours" / "socket"
    script = str(LANE / "script.toml")
    command = [*GATEWAY, "fake", "agency-daemon", "--socket", str(socket), "--script", script]
    with Program([*command, *words]) as program:
        program.event(lambda said: said.get("event") == "ready")
        # 3: not we have asked it to end, but its peer (docs/reference/fakes.md)
        yield House(name, socket, program, folder / "nothing", ends=3)


CONFIG = """
[gateway]
journal = "sqlite:{folder}/journal/journal.db"

[[north]]
name = "gui"
protocol = "agency"
listen = "unix:{folder}/north/socket"

[[south]]
name = "daemon"
protocol = "agency"
connect = "unix:{south}"

[[route]]
from = "gui"
to = "daemon"
"""


@contextmanager
def bridge(daemon: Path, folder: Path) -> Iterator[House]:
    """Our gateway, facing the client as a daemon and the genuine daemon as a client."""
    with ExitStack() as stack:
        behind = stack.enter_context(genuine(daemon, folder))
        (folder / "journal").mkdir()
        config = folder / "gateway.toml"
        config.write_text(CONFIG.format(folder=folder, south=behind.socket))
        words = [*GATEWAY, "serve", "--config", str(config)]
        program = stack.enter_context(Program(words, listens=False))
        socket = folder / "north" / "socket"
        program.until_true(socket.exists, "the gateway listens")
        yield House("bridge", socket, program, behind.binary)


class Driver(Program):
    """Genuine clients, each under a name."""

    def __init__(self, crate: Path, house: House) -> None:
        super().__init__([crate, "client"])
        self.house = house
        self.run = f"run-{uuid.uuid4().hex[:8]}"

    def connect(self, name: str) -> Mapping[str, Any]:
        """Connect and say hello; answers the version."""
        said = self.ask(op="connect", **{"as": name}, socket=str(self.house.socket))
        assert "ok" in said, said
        version: Mapping[str, Any] = said["ok"]
        return version

    def asking(self, name: str, type: str, **members: Any) -> str:
        """Ask, and wait for nothing."""
        return self.send(op="request", **{"as": name}, message={"type": type, **members})

    def request(self, name: str, type: str, **members: Any) -> dict[str, Any]:
        """Ask the daemon; answers its response."""
        said = self.answer(self.asking(name, type, **members))
        assert "ok" in said, said
        response: dict[str, Any] = said["ok"]
        return response

    def accepted(self, name: str, type: str, **members: Any) -> None:
        """Ask for what must be accepted."""
        assert self.request(name, type, **members) == {"type": "accepted"}

    def refused(self, name: str, type: str, **members: Any) -> tuple[str, str]:
        """Ask for what must be refused; answers code and message."""
        said = self.request(name, type, **members)
        assert said["type"] == "error", said
        return said["code"], said["message"]

    def start(self, name: str, run: str, prompt: str, **members: Any) -> None:
        """Start a run, which must be accepted."""
        request = self.house.request(prompt, **members)
        self.accepted(name, "start_run", run_id=run, request=request, idempotency_key=f"{run}:s")

    def attach(self, name: str, run: str, after: int = 0) -> dict[str, Any]:
        """Attach; answers the snapshot."""
        said = self.request(name, "attach_run", run_id=run, after_sequence=after)
        assert said["type"] == "run", said
        snapshot: dict[str, Any] = said["run"]
        return snapshot

    def snapshot(self, name: str, run: str) -> dict[str, Any]:
        """The run, from the list."""
        (found,) = (
            each for each in self.request(name, "list_runs")["runs"] if each["runId"] == run
        )
        return dict(found)

    def frame(self, name: str, run: str) -> tuple[int, dict[str, Any]]:
        """The run's next event on this connection: number and event."""
        said = self.event(
            lambda each: each["as"] == name and each.get("frame", {}).get("run_id") == run
        )
        return said["frame"]["sequence"], said["frame"]["event"]

    def until(self, name: str, run: str, *types: str) -> list[tuple[int, dict[str, Any]]]:
        """The run's next events, up to the first of one of `types`."""
        frames = [self.frame(name, run)]
        while frames[-1][1]["type"] not in types:
            frames.append(self.frame(name, run))
        return frames

    def ended(self, name: str) -> None:
        """The daemon closes this connection."""
        message = {"type": "list_runs"}
        self.until_true(
            lambda: "error" in self.ask(op="request", **{"as": name}, message=message),
            "the daemon closes the connection",
        )
