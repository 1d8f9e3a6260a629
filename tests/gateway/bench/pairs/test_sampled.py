"""A bridge that looks at itself: what it is told and what it says. A whole one is in test_trial."""

from __future__ import annotations

import signal

import pytest

from fleetgate.gateway.bench.pairs import sampled
from fleetgate.gateway.bench.pairs.sampled import BEGIN, BEGUN, END, read_spots
from fleetgate.gateway.bench.sampler import Spot


class Told:
    """A sampler that finds one thing."""

    def __init__(self) -> None:
        self.begun = False

    def begin(self) -> None:
        self.begun = True

    def end(self) -> list[Spot]:
        assert self.begun
        return [Spot("core", "core.run.evolve", 0.5)]


async def test_it_begins_and_ends_as_it_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sampled, "Sampler", Told)
    was = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    await sampled.sample(iter([f"{BEGIN}\n", f"{END}\n"]))
    begun, found = capsys.readouterr().out.splitlines()
    assert begun == BEGUN
    assert read_spots(found) == [Spot("core", "core.run.evolve", 0.5)]
    assert signal.SIGALRM not in signal.pthread_sigmask(signal.SIG_SETMASK, was)


@pytest.mark.parametrize("line", ["", "ready", "[]", '{"event": "x"}'])
def test_another_line_is_none_of_it(line: str) -> None:
    assert read_spots(line) is None
