"""Starts of programs: how they are run, waited for, and given a peer. Never how fast."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.bench import starting
from fleetgate.gateway.bench.starting import Program, compiled, listening, start
from fleetgate.gateway.bench.task import BenchFailed

LISTENER = """
import socket, json
listener = socket.create_server(("127.0.0.1", 0))
print(json.dumps({"event": "ready", "address": f"tcp:{listener.getsockname()[1]}"}), flush=True)
while True:
    peer, _ = listener.accept()
    peer.sendall(b"hello\\n")
    print("word " * 100_000, flush=True)  # more than a pipe holds
"""

DIALLER = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1].partition(":")[2]))) as peer:
    print('{"event":"ready"}', peer.makefile().readline(), flush=True)
    sys.stdin.read()
"""

PROGRAMS = {
    "dialler": Program(("-c", DIALLER.replace("{", "{{").replace("}", "}}"), "{peer}"), True, "l"),
    "l": Program(("-c", LISTENER.replace("{", "{{").replace("}", "}}")), goes_on=True),
}


def test_a_program_that_fails_is_told_with_its_words() -> None:
    broken = Program(("-c", "import sys; sys.exit('no such thing')"))
    said = "broken ended with exit code 1: no such thing"
    with compiled() as environment, pytest.raises(BenchFailed, match=said):
        start("broken", broken, environment)


def test_a_program_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "END_WITHIN", 0.01)
    endless = Program(("-c", "import signal; signal.pause()"))
    with compiled() as environment, pytest.raises(BenchFailed, match="took more than 0 s"):
        start("endless", endless, environment)


def test_a_service_that_never_says_that_it_is_ready_is_told() -> None:
    mute = Program(("-c", "print('hello')"), goes_on=True)
    with compiled() as environment, pytest.raises(BenchFailed, match="mute: it never said"):
        start("mute", mute, environment)


def test_one_peer_is_there_for_every_start_of_a_program_that_dials() -> None:
    with compiled() as environment, listening(PROGRAMS, environment) as peers:
        assert list(peers) == ["l"]
        for _ in range(3):
            said = start("dialler", PROGRAMS["dialler"], environment, peers).lines
            assert said == [b'{"event":"ready"} hello\n']


def test_a_peer_is_not_started_where_nothing_dials_it() -> None:
    with compiled() as environment, listening({"l": PROGRAMS["l"]}, environment) as peers:
        assert peers == {}


def test_a_start_is_that_of_a_program_which_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own sources take a fifth of a second, where nothing that is compiled may be kept."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    version = Program(("-P", "-m", "fleetgate", "version"))
    with compiled() as environment:
        start("gateway version", version, environment)
        kept = Path(environment["PYTHONPYCACHEPREFIX"])
        assert list(kept.rglob("gateway/cli.*.pyc"))
    assert not kept.exists()
