"""The tools that a runner without a script offers: one for each way in which a call can go."""

from __future__ import annotations

from typing import Final

import trio

from fleetgate.core.events import (
    ApprovalRequested,
    Outcome,
    Reason,
    RunState,
    TextProduced,
)
from fleetgate.gateway.fakes.played import Answers, Tool
from fleetgate.gateway.local.script import text_of
from fleetgate.gateway.local.script_steps import say_text
from fleetgate.gateway.local.work import Work

OFFERED: Final = {
    "echo": "Returns its input at once.",
    "stream": "Three updates, 20 ms apart.",
    "sleep": "Works until it is cancelled.",
    "stubborn": "Ignores its cancellation and ends after 1.5 s.",
    "big": "A result that is larger than a message may be.",
    "ask": "Asks for a line of text and returns it.",
}
"""Their names and descriptions."""

PAUSE: Final = 0.02
STUBBORN: Final = 1.5
BIG: Final = (4 << 20) + 1
APPROVAL: Final = "ask"
QUESTION: Final = "What shall it be?"


def _done(text: str | None = None) -> Outcome:
    return Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0, text=text)


async def _say(work: Work, text: str) -> None:
    for event in say_text(text).events:
        await work.wait_room()
        work.tell(event)


async def _echo(work: Work, answers: Answers) -> Outcome:
    text = text_of(work.spec.input)
    await _say(work, text)
    return _done(text)


async def _stream(work: Work, answers: Answers) -> Outcome:
    for number in range(1, 4):
        work.tell(TextProduced(f"update {number}\n"))
        await trio.sleep(PAUSE)
    return _done()


async def _sleep(work: Work, answers: Answers) -> Outcome:
    await trio.sleep_forever()
    raise AssertionError("a sleep without an end has ended")


async def _stubborn(work: Work, answers: Answers) -> Outcome:
    with trio.CancelScope(shield=True):
        await trio.sleep(STUBBORN)
    return _done("it was not to be stopped")


async def _big(work: Work, answers: Answers) -> Outcome:
    await _say(work, "x" * BIG)
    return _done()


async def _ask(work: Work, answers: Answers) -> Outcome:
    detail = {"kind": "input", "title": QUESTION}
    await work.ask(APPROVAL, ApprovalRequested(APPROVAL, QUESTION, detail))
    answer = answers[APPROVAL]
    return _done(answer.value if answer.value is not None else answer.decision.value)


TOOLS: Final[dict[str, Tool]] = {
    "echo": _echo,
    "stream": _stream,
    "sleep": _sleep,
    "stubborn": _stubborn,
    "big": _big,
    "ask": _ask,
}
"""What each does."""
