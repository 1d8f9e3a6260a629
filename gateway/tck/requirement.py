"""What a requirement is, and the kits that they make up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from enum import Enum, unique
from typing import Any, TypeAlias

import attrs

from fleetgate.gateway.tck.attempt import Attempt
from fleetgate.transports.api import Options


@unique
class Tier(Enum):
    """How much of a fault it is to break a requirement."""

    MUST = "must"
    """Peers that go by the protocol fail with one that breaks it."""
    SHOULD = "should"
    """They get by, and something is worse for it."""
    INFO = "info"
    """Good to know; neither right nor wrong."""


Play: TypeAlias = Callable[[Any], Awaitable[None]]
"""Tries a requirement: is given an `Attempt` of the kit's own class. Returns where it is met;
raises `Unmet` where it is not, `Skipped` where that cannot be told."""


@attrs.frozen(slots=True)
class Requirement:
    """One requirement. `source` names a section of the protocol's page, or a case. `ends`: trying
    it ends the target, so it is tried only where the target can be started again."""

    id: str
    tier: Tier
    given: str
    when: str
    expect: str
    source: str
    play: Play = attrs.field(repr=False, eq=False)
    topic: str = ""
    ends: bool = False

    @property
    def title(self) -> str:
        """The whole in one line."""
        return f"given {self.given}, when {self.when}, expect {self.expect}"


class Topic:
    """The requirements of one file, in order, as its decorators collect them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._made: list[Requirement] = []

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self._made)

    def must(self, id: str, **words: Any) -> Callable[[Play], Play]:
        """A requirement without which there is no talking to the target."""
        return self._add(id, Tier.MUST, words)

    def should(self, id: str, **words: Any) -> Callable[[Play], Play]:
        """One that a good peer keeps."""
        return self._add(id, Tier.SHOULD, words)

    def info(self, id: str, **words: Any) -> Callable[[Play], Play]:
        """A question whose answer is good to know."""
        return self._add(id, Tier.INFO, words)

    def of(self, prefix: str) -> Topic:
        """The same requirements for one of two sides that both have them: its prefix goes before
        each id."""
        other = Topic(self.name)
        other._made = [attrs.evolve(each, id=f"{prefix}-{each.id}") for each in self._made]
        return other

    def _add(self, id: str, tier: Tier, words: dict[str, Any]) -> Callable[[Play], Play]:
        def add(play: Play) -> Play:
            self._made.append(Requirement(id, tier, play=play, topic=self.name, **words))
            return play

        return add


@attrs.frozen(slots=True)
class Kit:
    """All requirements for one side of a protocol.

    `side` is what the target plays. `listens`: whether the target listens, and the kit dials it.
    `given` is the attrs class of what the kit must know of the target (strings and numbers, each
    with a default and words under it), `options` how its links are carried; `attempt` is the class
    that the requirements are written for.
    """

    protocol: str
    side: str
    prefix: str
    listens: bool
    options: Callable[[Any], Options]
    given: type[Any]
    attempt: type[Attempt]
    topics: tuple[Topic, ...]
    wants: tuple[str, ...] = ()
    """What a target is asked to do by whoever runs the kit (`--on`), where it is one that asks."""

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """In the order in which they are tried; those that end the target come last."""
        made = [requirement for topic in self.topics for requirement in topic]
        return tuple(sorted(made, key=lambda requirement: requirement.ends))
