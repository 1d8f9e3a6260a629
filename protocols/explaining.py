"""Frames for people: what one is called, what stands in it, and the rule that refuses it.

Each protocol has an `Explainer`. It reads more than the protocol allows, so that a bad frame can be
shown beside what is wrong with it, and takes out secrets (`redaction`). What it cannot read it does
not show at all: nobody knows what is in there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import attrs

from fleetgate.core.json import NOTHING, Json
from fleetgate.core.values import value

Speaker: TypeAlias = Literal["controller", "worker"]
"""Who asks, and who works: either protocol's two sides."""

SPEAKERS: Final[tuple[Speaker, Speaker]] = ("controller", "worker")

NO_WORDS: Final[Mapping[str, Speaker]] = MappingProxyType({})
NO_NAMES: Final[frozenset[str]] = frozenset()


def other(speaker: Speaker) -> Speaker:
    """The one that is spoken to."""
    return "worker" if speaker == "controller" else "controller"


@value
class Whence:
    """Where a frame comes from, as far as is known: who has sent it, and the link's path."""

    sender: Speaker | None = None
    path: str = ""


NOWHERE: Final = Whence()


@value
class Explained:
    """A frame as people see it.

    `name` is the message's, in the protocol's words; empty where it cannot be read. `body` is the
    message as JSON, `frame` its bytes, both without secrets (`redacted` counts them); None where
    it cannot be read. `rule` says why the protocol refuses it; empty: this one it takes, if it
    comes at the right time. A frame without secrets is the very one that came.
    """

    name: str = ""
    body: Json = None
    frame: bytes | None = attrs.field(default=None, repr=False)
    rule: str = ""
    redacted: int = 0
    sender: Speaker | None = None
    """Who has sent it; where that was not known, who alone can have sent it."""

    @property
    def readable(self) -> bool:
        """Whether anything can be shown."""
        return self.frame is not None


class Explainer:
    """Explains the frames of one link, in order: some are known by what came before them. This one
    knows no protocol, and shows nothing."""

    ids: frozenset[str] = NO_NAMES
    """The members that hold names which one side makes up: another conversation has others."""
    times: frozenset[str] = NO_NAMES
    """The members that hold an instant."""
    idle: frozenset[str] = NO_NAMES
    """The messages that come as often as they come: signs of life, acknowledgements."""
    farewells: frozenset[str] = NO_NAMES
    """The messages with which a side says that it goes: they come when it is ended."""

    def explain(self, frame: bytes, whence: Whence = NOWHERE) -> Explained:
        """What a frame says."""
        return Explained(rule="the frames of this protocol cannot be shown")

    def encode(self, body: Json, whence: Whence) -> bytes:
        """The frame whose body this is, as `explain` shows it.

        Raises: `ValueError`, where there is no such frame.
        """
        raise ValueError("the frames of this protocol cannot be written")

    def answers(self, explained: Explained) -> bool:
        """Whether it answers or acknowledges something: what it stands for has happened."""
        return False

    def own(self, explained: Explained, name: str) -> Any:
        """A member at the top of the body; None where there is none."""
        body = explained.body
        return body.get(name) if isinstance(body, dict) else None


def workers_dial(path: str) -> Speaker:
    """Links are dialled by workers, whatever their path."""
    return "worker"


@value
class Showing:
    """How a protocol's frames are shown. `version` is the one that recordings name, `explainer`
    makes what explains the frames of one link, `dials` says who dials a link with this path, and
    `sides` are the protocol's own words for the two. `sections` are beginnings of rules, each with
    the section of the protocol's page that has it."""

    version: str = ""
    explainer: Callable[[], Explainer] = Explainer
    dials: Callable[[str], Speaker] = workers_dial
    sides: Mapping[str, Speaker] = NO_WORDS
    sections: Mapping[str, str] = NOTHING

    def side(self, word: str) -> Speaker | None:
        """The side that a word means, of ours or of the protocol's; None: neither."""
        for speaker in SPEAKERS:
            if word == speaker:
                return speaker
        return self.sides.get(word)

    def section(self, rule: str) -> str:
        """Where a rule is written; empty: that is not known."""
        return next((where for begin, where in self.sections.items() if rule.startswith(begin)), "")
