"""What every fake does around its peer, seen from outside: real processes, real sockets."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleetgate.gateway.demo.stage import free_port

FAKE = (sys.executable, "-P", "-m", "fleetgate", "fake")


class Fake:
    """A fake as a child process, spoken to as any language would."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [*FAKE, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def tell(self, **op: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(op) + "\n")
        self.process.stdin.flush()

    def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def until(self, **members: object) -> dict[str, Any]:
        """The next line that has these members."""
        while True:
            line = self.line()
            if members.items() <= line.items():
                return line

    def end(self) -> int:
        self.process.communicate(timeout=20)
        return self.process.returncode


@pytest.fixture
def fakes() -> Iterator[list[Fake]]:
    made: list[Fake] = []
    yield made
    for fake in made:
        fake.process.kill()
        fake.process.communicate()


def test_closed_input_is_asking_it_to_end(fakes: list[Fake], tmp_path: Path) -> None:
    fake = Fake("agency-client", "--socket", str(tmp_path / "none"))
    fakes.append(fake)
    assert fake.end() == 0


def test_sigterm_is_asking_it_to_end(fakes: list[Fake], tmp_path: Path) -> None:
    fake = Fake("agency-client", "--socket", str(tmp_path / "none"))
    fakes.append(fake)
    fake.tell(op="workers", id="1")
    assert fake.line() == {"id": "1", "ok": True, "workers": []}
    fake.process.send_signal(signal.SIGTERM)
    assert fake.end() == 0


def test_a_state_directory_serves_one_process(fakes: list[Fake], tmp_path: Path) -> None:
    url = f"ws://127.0.0.1:{free_port()}/agent"
    words = ("rvbox-client", "--exec", "--connect", url, "--client-id", "h")
    first = Fake(*words, "--state", str(tmp_path))
    fakes.append(first)
    first.tell(op="runs", id="1")
    assert first.line()["ok"]
    second = Fake(*words, "--state", str(tmp_path))
    fakes.append(second)
    _, said = second.process.communicate(timeout=20)
    assert second.process.returncode == 1
    assert "journal.db" in said
