"""What comes of a trial that fails."""

from __future__ import annotations

import pytest

from fleetgate.core.journal.api import JournalError
from fleetgate.gateway.bench.losses import TRIES, Losses
from fleetgate.gateway.bench.task import BenchFailed


class Trial:
    """Fails so often, and then has a result."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.begun = 0

    async def __call__(self) -> str:
        self.begun += 1
        if self.errors:
            raise self.errors.pop(0)
        return "a result"


async def test_a_trial_that_fails_once_is_tried_again() -> None:
    losses, trial = Losses(), Trial(BenchFailed("the port was taken"))
    assert await losses.attempt("one", trial) == "a result"
    assert (trial.begun, losses.lines) == (2, [])


async def test_one_that_fails_again_is_said_and_is_no_reason_to_stop(
    capsys: pytest.CaptureFixture[str],
) -> None:
    losses, trial = Losses(), Trial(*[BenchFailed("too slow\nit last wrote: x")] * TRIES)
    assert await losses.attempt("one", trial) is None
    assert losses.lines == ["one: too slow"]
    assert "it last wrote: x" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("no disk"), "no disk"),
        (JournalError("no room"), "no room"),
        (
            ExceptionGroup("several", [OSError("x"), ExceptionGroup("y", [BenchFailed("ours")])]),
            "ours",
        ),
        (ExceptionGroup("several", [ValueError()]), "ValueError()"),
    ],
)
async def test_whatever_went_wrong_has_a_word(error: Exception, said: str) -> None:
    losses = Losses()
    assert await losses.attempt("one", Trial(error, error)) is None
    assert losses.lines == [f"one: {said}"]


async def test_an_end_of_the_program_is_none_of_a_trial() -> None:
    with pytest.raises(KeyboardInterrupt):
        await Losses().attempt("one", Trial(KeyboardInterrupt()))  # type: ignore[arg-type]
