"""Playing one side of a recording against a live peer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from itertools import groupby
from typing import Final, TypeAlias

import attrs
import trio

from fleetgate.gateway.recording.comparing import (
    Comparison,
    Difference,
    Manner,
    shown,
)
from fleetgate.gateway.recording.names import Names, Renewal
from fleetgate.gateway.recording.reading import End, Frame, Item, LinkUp, Recording, Unusable
from fleetgate.protocols.explaining import Explained, Explainer, Showing, Speaker, Whence, other
from fleetgate.transports.api import ABNORMAL_CLOSURE, Link, LinkBroken, LinkError

Open: TypeAlias = Callable[[LinkUp], Awaitable[Link]]
"""Brings about a link that was recorded: dials it, or waits until the peer has."""

PATIENCE: Final = 10.0
"""Seconds that the peer may take for its next message unless told otherwise."""

IN_ORDER: Final = (None, 0, 1000, 1001)
"""Codes with which a link ends in order: of WebSocket, or a gRPC status."""


@attrs.frozen(slots=True)
class Played:
    """How a replay went: `frames` were played or came as they should, until `difference`."""

    frames: int
    difference: Difference | None = None


class _Differs(Exception):
    def __init__(self, difference: Difference) -> None:
        super().__init__(str(difference))
        self.difference = difference


@attrs.define(eq=False)
class _PlayedLink:
    """A link that is played."""

    up: LinkUp
    link: Link
    explainer: Explainer
    came: list[Explained] = attrs.field(factory=list[Explained])
    """What came and was not looked for yet."""
    ended: Exception | None = None
    closed: bool = False
    """By us: what the peer does then is not looked at."""


class Replay:
    """Plays one side. Names and times of then become those of now."""

    def __init__(
        self,
        recording: Recording,
        showing: Showing,
        side: Speaker,
        manner: Manner,
        now: int,
        *,
        patience: float = PATIENCE,
        token: str | None = None,
    ) -> None:
        self._recording = recording
        self._showing = showing
        self._side: Speaker = side
        self._strict = manner == "strict"
        self._patience = patience
        self._names = Names()
        explainer = showing.explainer()
        self._idle = explainer.idle
        self._last = self._last_from(recording.items, explainer.farewells | self._idle)
        self._comparison = Comparison(explainer, self._names, manner)
        self._renewal = Renewal(explainer, self._names, recording.started, now, token)
        self._links: dict[int, _PlayedLink] = {}
        self._played = 0

    async def play(self, open: Open, spoken: Callable[[], None] = lambda: None) -> Played:
        """Play to the end, or to the first difference. The links are closed then. `spoken` is told
        when nothing is left but what a peer does when it is ended: each time something of that is
        looked for.

        Raises: `Unusable`, and what `open` raises. Cancelled, the links are dropped.
        """
        items = self._recording.items
        try:
            at = 0
            while at < len(items):
                if at >= self._last:
                    spoken()
                at = await self._step(items, at, open)
        except _Differs as differs:
            return Played(self._played, differs.difference)
        finally:
            for played in self._links.values():
                await played.link.close(1000)
        return Played(self._played)

    def _last_from(self, items: Sequence[Item], going: Collection[str]) -> int:
        """From where on a peer only goes: ends of links, its farewells, and what it says beside."""
        at = len(items)
        while at:
            match items[at - 1]:
                case End():
                    pass
                case Frame(sender=sender, name=name) if sender != self._side and name in going:
                    pass
                case _:
                    break
            at -= 1
        return at

    async def _step(self, items: Sequence[Item], at: int, open: Open) -> int:
        """Play from one item on. Answers where to go on."""
        item = items[at]
        match item:
            case LinkUp():
                self._links[item.number] = await self._open(item, open)
            case Frame():
                run = _run(items if at >= self._last else items[: self._last], at)
                if item.sender == self._side:
                    await self._send(run)
                else:
                    await self._expect(run)
                return at + len(run)
            case End():
                await self._end(item, items[at + 1 :])
        return at + 1

    async def _open(self, up: LinkUp, open: Open) -> _PlayedLink:
        with trio.move_on_after(self._patience):
            link = await open(up)
            return _PlayedLink(up, link, self._showing.explainer())
        raise _Differs(Difference(0, f"link {up.number}", "", "a link", self._silence))

    @property
    def _silence(self) -> str:
        return f"nothing within {self._patience:g} s"

    def _link_of(self, number: int) -> _PlayedLink:
        if number not in self._links:
            raise Unusable(f"{self._recording.path}: link {number} is used and never comes up")
        return self._links[number]

    # --- our part

    async def _send(self, frames: Sequence[Frame]) -> None:
        """What we said without waiting for the peer, link by link in one go: so that it finds the
        same before it as it did."""
        for link, together in groupby(frames, key=lambda frame: frame.link):
            sent = list(together)
            played = self._link_of(link)
            raw = [self._renewed(played, frame) for frame in sent]
            try:
                with trio.fail_after(self._patience):
                    await played.link.send_some(raw)
            except (LinkError, trio.TooSlowError) as error:
                why = str(error) or "the peer takes nothing"
                first = sent[0]
                raise _Differs(
                    Difference(first.number, first.name, "", "a peer that takes it", why)
                ) from None
            self._played += len(sent)

    def _renewed(self, played: _PlayedLink, frame: Frame) -> bytes:
        """The bytes of a frame of ours, for now."""
        if frame.raw is None:
            raise Unusable(
                f"{self._recording.path}: frame {frame.number} is ours, and could not be read when "
                "it was recorded; it cannot be played"
            )
        whence = Whence(self._side, played.up.path)
        body, raw = self._renewal.body(frame.body), frame.raw
        if body != frame.body:
            raw = played.explainer.encode(body, whence)
        played.explainer.explain(raw, whence)  # so that answers to it have their name
        return raw

    # --- the peer's part

    async def _expect(self, frames: Sequence[Frame]) -> None:
        """What the peer said between two messages of ours."""
        waiting = [each for each in frames if self._strict or each.name not in self._idle]
        self._played += len(frames) - len(waiting)
        while waiting:
            got = await self._next(self._link_of(waiting[0].link), waiting[0])
            at = self._place(waiting, waiting[0].link, got)
            self._check(waiting.pop(at), got)
            self._played += 1

    def _place(self, waiting: Sequence[Frame], link: int, got: Explained) -> int:
        """Which of the messages that are waited for it is to be."""
        if not self._strict:
            for at, each in enumerate(waiting):
                if each.link == link and each.name == got.name:
                    return at
        return 0

    def _check(self, expected: Frame, got: Explained) -> None:
        def differ(path: str, wanted: str, came: str) -> _Differs:
            name = f"{expected.name or 'unreadable'}, from the {expected.sender}"
            return _Differs(Difference(expected.number, name, path, wanted, came))

        if expected.name != got.name:
            wanted = expected.name or "what cannot be read"
            raise differ("", wanted, f"{got.name} {shown(got.body)}" if got.name else got.rule)
        found = self._comparison.first(expected.body, got.body)
        if found is not None:
            path, wanted, came = found
            raise differ(path, shown(wanted), shown(came))

    async def _next(self, played: _PlayedLink, expected: Frame) -> Explained:
        """The next message of the peer that says something."""
        got = self._silence
        with trio.move_on_after(self._patience):
            while True:
                while played.came:
                    explained = played.came.pop(0)
                    if self._strict or explained.name not in self._idle:
                        return explained
                if played.ended is not None:
                    got = f"the end of the link ({played.ended or 'in order'})"
                    break
                await self._receive(played)
        name = f"{expected.name}, from the {expected.sender}"
        wanted = expected.name or "what cannot be read"
        raise _Differs(Difference(expected.number, name, "", wanted, got))

    async def _receive(self, played: _PlayedLink) -> None:
        whence = Whence(other(self._side), played.up.path)
        try:
            frames = await played.link.receive_some()
        except (trio.EndOfChannel, LinkError) as error:
            played.ended = error
            return
        played.came += (played.explainer.explain(frame, whence) for frame in frames)

    # --- ends

    async def _end(self, end: End, later: Sequence[Item]) -> None:
        played = self._link_of(end.link)
        if end.sender == self._side:
            # What follows may be the answer to a request whose end was all that ended.
            if not any(isinstance(each, Frame) and each.link == end.link for each in later):
                await played.link.close(None if end.broken else end.code or 1000)
                played.closed = True
            return
        if played.closed:
            return
        with trio.move_on_after(self._patience):
            while played.ended is None and not self._rest(played):
                await self._receive(played)
        rest = self._rest(played)
        got = rest[0].name or rest[0].rule if rest else self._silence
        if played.ended is not None and not rest:
            if _ends_alike(end, played.ended):
                return
            got = f"it is broken: {played.ended}"
        wanted = "its end" if end.code in IN_ORDER else f"its end with code {end.code}"
        raise _Differs(Difference(0, f"link {end.link}", "", wanted, got))

    def _rest(self, played: _PlayedLink) -> list[Explained]:
        return [each for each in played.came if self._strict or each.name not in self._idle]


def _run(items: Sequence[Item], at: int) -> list[Frame]:
    """The frames from here on that one side sent, until the next item of another kind."""
    run: list[Frame] = []
    for item in items[at:]:
        if not isinstance(item, Frame) or (run and item.sender != run[0].sender):
            break
        run.append(item)
    return run


def _ends_alike(end: End, live: Exception) -> bool:
    """Whether a link has ended as it did. A carriage may have no codes, and a link that is cut has
    one only where the carriage makes one up."""
    if not isinstance(live, LinkBroken):
        return not end.broken
    if live.code in (None, ABNORMAL_CLOSURE):
        return end.broken
    return end.code == live.code or (end.broken and end.code in (None, ABNORMAL_CLOSURE))
