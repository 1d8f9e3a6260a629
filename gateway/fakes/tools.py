"""The tools that a runner without a script offers: one for each way in which a call can go."""

from __future__ import annotations

from typing import Final

import trio

from fleetgate.core.commands import RunSpec, ToolCall
from fleetgate.core.events import Outcome
from fleetgate.gateway.fakes.acting import Act, Part, succeeded
from fleetgate.gateway.fakes.echo import echo, text_of

TOOLS: Final = {
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
QUESTION: Final = "What shall it be?"


async def _echo(part: Part) -> Outcome:
    text = text_of(part.spec.input)
    await part.text(text)
    return succeeded(text)


async def _stream(part: Part) -> Outcome:
    for number in range(1, 4):
        await part.text(f"update {number}\n")
        await trio.sleep(PAUSE)
    return succeeded()


async def _sleep(part: Part) -> Outcome:
    await trio.sleep_forever()
    raise AssertionError("a sleep without an end has ended")


async def _stubborn(part: Part) -> Outcome:
    with trio.CancelScope(shield=True):
        await trio.sleep(STUBBORN)
    return succeeded("it was not to be stopped")


async def _big(part: Part) -> Outcome:
    await part.text("x" * BIG)
    return succeeded()


async def _ask(part: Part) -> Outcome:
    answer = await part.ask("ask", QUESTION, {"kind": "input", "title": QUESTION})
    return succeeded(answer.value if answer.value is not None else answer.decision.value)


_ACTS: Final[dict[str, Act]] = {
    "echo": _echo,
    "stream": _stream,
    "sleep": _sleep,
    "stubborn": _stubborn,
    "big": _big,
    "ask": _ask,
}


def act_of(spec: RunSpec) -> Act:
    """The act of a call; what is no call of these tools echoes."""
    given = spec.input
    return _ACTS.get(given.name, echo) if isinstance(given, ToolCall) else echo
