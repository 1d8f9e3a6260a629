"""Whole bridges in virtual time, and what each protocol can show (powers.toml)."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import pytest
from trio.testing import MockClock

from fleetgate.core import events as e
from fleetgate.core.events import Stream
from fleetgate.core.ids import RunId
from fleetgate.gateway.fidelity.bridge import Bridge, open_bridge

sys.path.insert(0, str(Path(__file__).parent))

POWERS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("powers.toml").read_text()
)
PAIRS = [f"{north}-{south}" for north, south in product(POWERS, POWERS)]

_KINDS = {
    e.TextProduced: ("text", "text"),
    e.ReasoningProduced: ("reasoning", "text"),
    e.ToolCalled: ("call", "input"),
    e.ToolReturned: ("result", "output"),
    e.ApprovalRequested: ("approval", "title"),
}


def shown_as(event: e.Event) -> tuple[str, str]:
    """What an event is called in powers.toml, and what it says."""
    if isinstance(event, e.OutputProduced):
        return event.stream.value, event.data.decode()
    if isinstance(event, e.UsageReported):
        return "usage", f"{event.input_tokens} {event.output_tokens}"
    name, member = _KINDS.get(type(event), ("", ""))
    return name, str(getattr(event, member)) if member else ""


@attrs.frozen
class Expected:
    """What a pair must do, derived from what its two protocols can."""

    north: dict[str, Any]
    south: dict[str, Any]

    def arrives(self, said: str) -> str:
        """As what something that the worker says is seen at the controller; "": not at all."""
        at_gateway = self.south["shows"][said]
        return self.north["shows"][at_gateway] if at_gateway else ""

    @property
    def takes_input(self) -> bool:
        return self.north["input"] and self.south["input"]

    @property
    def answers(self) -> str:
        """How the controller answers an approval: "approval", "input", or "" for not at all; or
        "deny": that is done for it."""
        by_worker, by_gateway = self.south["answers"], self.north["answers"]
        if by_worker == "deny":
            return by_worker
        if by_worker == "input":
            return "input" if self.takes_input else ""
        if by_worker == "approval" and by_gateway == "input":
            return "input" if self.north["input"] else ""
        return by_gateway

    @property
    def continues(self) -> str:
        """What a second run of a session has at the worker: "resume", "session", or "" """
        if "resume" in self.south["carries"] and self.north["carries"]:
            return "resume"
        both = set(self.south["carries"]) & set(self.north["carries"])
        return "session" if "session" in both else ""

    def failure(self, reason: str) -> str:
        """The reason that the controller is given for one of a failure at the worker."""
        told: str = self.north["failures"][self.south["failures"][reason]]
        return told

    def keeps_words(self, reason: str) -> bool:
        """Whether the controller gets the words of a failure."""
        told = self.south["failures"][reason]
        return reason in self.south["messages"] and told in self.north["messages"]

    @property
    def overdue(self) -> str:
        """The reason that the controller is given where the run's time is over: the worker's,
        if the worker is told of it, else its own."""
        told = self.north["timeout"] and self.south["timeout"]
        return self.failure("timed_out") if told else "timed_out"

    @property
    def outlives(self) -> dict[str, bool]:
        """Whether a run outlives the loss of a link, and the restart of the gateway."""
        north, south = self.north["resumes"], self.south["resumes"]
        return {"gui": north, "hosts": south, "restart": north and south}


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def expected(pair: str) -> Expected:
    north, _, south = pair.partition("-")
    return Expected(POWERS[north], POWERS[south])


@pytest.fixture
async def bridge(pair: str, autojump_clock: MockClock) -> AsyncIterator[Bridge]:
    north, _, south = pair.partition("-")
    async with open_bridge(north, south) as made:
        yield made
        for run in made.events:
            made.check(run)


@pytest.fixture
def said() -> dict[str, tuple[e.Event, str]]:
    """All kinds of things that a worker says, by their names in powers.toml, each with a word by
    which it is known again."""
    return {
        "text": (e.TextProduced("said "), "said"),
        "reasoning": (e.ReasoningProduced("thought "), "thought"),
        "call": (e.ToolCalled("Bash", {"command": "called"}, "t1"), "called"),
        "result": (e.ToolReturned("returned", True, "t1"), "returned"),
        "stdout": (e.OutputProduced(Stream.STDOUT, b"printed\n"), "printed"),
        "stderr": (e.OutputProduced(Stream.STDERR, b"complained\n"), "complained"),
        "usage": (e.UsageReported(1234, 5678), "1234 5678"),
    }


@pytest.fixture
def seen_as() -> Any:
    """As what a word is seen at the controller: the names of powers.toml."""

    def look(bridge: Bridge, run: RunId, word: str) -> set[str]:
        shown = [shown_as(recorded.event) for recorded in bridge.events[run]]
        return {name for name, said in shown if word in said}

    return look


@pytest.fixture
def words() -> Any:
    """All text and output of a run at the controller, in order."""

    def joined(bridge: Bridge, run: RunId) -> str:
        shown = [shown_as(recorded.event) for recorded in bridge.events[run]]
        return "".join(said for name, said in shown if name in ("text", *_STREAMS))

    return joined


_STREAMS = tuple(stream.value for stream in Stream)


@pytest.fixture
async def agency_to_rvbox(autojump_clock: MockClock) -> AsyncIterator[Bridge]:
    async with open_bridge("agency", "rvbox") as made:
        yield made


@pytest.fixture(
    params=["kodelet-rvbox", "agency-kodelet", "rvbox-kodelet", "kodelet-kodelet"],
)
async def kodelet_bridge(
    request: pytest.FixtureRequest, autojump_clock: MockClock
) -> AsyncIterator[Bridge]:
    """A bridge with kodelet on one side, or on both."""
    north, _, south = request.param.partition("-")
    async with open_bridge(north, south) as made:
        yield made
