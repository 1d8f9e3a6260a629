"""What a fake has seen, for whoever drives it from Python: frames, runs, events."""

from __future__ import annotations

import json
import re
import threading
import time
from base64 import b64decode
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import attrs
import trio

from fleetgate.core.ids import RunId
from fleetgate.core.journal.api import Append, ForgetRun, PutRun, Write
from fleetgate.core.run import Run
from fleetgate.core.times import SECOND
from fleetgate.gateway.clock import Clock
from fleetgate.gateway.fakes.named import event_line, run_line
from fleetgate.gateway.printable import printable
from fleetgate.gateway.render import Line, encode
from fleetgate.transports.faults import Way

MOST_ITEMS: Final = 4096
MOST_BYTES: Final = 16 << 20
"""Of frames, and again of events: a long test's conversation, and a few of the largest frames of
any protocol. The oldest go first."""

MOST_RUNS: Final = 4096
"""Runs of which is known how they stand, the newest."""

MOST_TOLD: Final = 20
"""Lines in the text of what was not seen: what fits on a screen."""

MOST_TEXT: Final = 200
"""Characters of a message that are shown, where not all of it is."""

_SAID: Final = ("event", "time")
"""Members of a line that are told elsewhere in it."""

EVENTS: Final = frozenset(
    {
        "ready",
        "worker",
        "link",
        "run",
        "frame",
        "update",
        "ui",
        "conversation_cancel",
        "transport_end",
        "ended",
    }
)
"""The kinds of lines that come."""

Where: TypeAlias = Callable[[Line], bool]


class NotSeen(AssertionError):
    """What a test expects did not come in time; the text says what came."""


@attrs.frozen(slots=True)
class Frame:
    """A frame that crossed a link of a fake. `dir` is seen from the fake, `time` is in Unix
    nanoseconds. `name` and `message` say what it is in its protocol's words; `raw` has its bytes.
    Secrets are taken out of both. One that cannot be read has the name "" and neither; `rule` says
    why its protocol refuses it, and is empty for one that it takes. `link` tells links apart."""

    dir: Way
    time: int
    name: str
    message: Any
    raw: bytes | None = attrs.field(repr=False)
    rule: str
    link: int
    number: int
    size: int


def frame_of(line: Line) -> Frame:
    """The frame that a line says."""
    raw = None if line["raw"] is None else b64decode(line["raw"])
    rule, link = line.get("rule", ""), line["link"]
    number, size = line["number"], line["size"]
    return Frame(
        line["dir"], line["time"], line["name"], line["message"], raw, rule, link, number, size
    )


@attrs.define(eq=False)
class _Note:
    at: int
    line: Line
    size: int
    taken: bool = False


class _Notes:
    """Lines, the newest of them."""

    def __init__(self) -> None:
        self._kept: deque[_Note] = deque()
        self._size = 0
        self.left_out = 0

    def put(self, at: int, line: Line) -> None:
        size = len(encode(line))
        self._kept.append(_Note(at, line, size))
        self._size += size
        while len(self._kept) > MOST_ITEMS or (self._size > MOST_BYTES and len(self._kept) > 1):
            self._size -= self._kept.popleft().size
            self.left_out += 1

    def __iter__(self) -> Iterator[_Note]:
        return iter(self._kept)


class Seen:
    """What one fake has seen. It is written in the trio thread of the fake, and may be read in any
    other."""

    def __init__(self) -> None:
        self._count = 0
        self._clock: Callable[[], int] = time.time_ns
        self._lock = threading.Lock()
        self._frames, self._events = _Notes(), _Notes()
        self._runs: dict[RunId, Run] = {}
        self._came = trio.Event()

    def open(self) -> None:
        """The fake is at work, in this trio run: times are this one's from now on."""
        self._clock = Clock()

    def put(self, line: Line) -> None:
        """A line, as the front end would print it."""
        line = {**line, "time": line.get("time") or self._clock()}
        with self._lock:
            self._count += 1
            notes = self._frames if line["event"] == "frame" else self._events
            notes.put(self._count, line)
        self._wake()

    def written(self, writes: Sequence[Write]) -> None:
        """Something is in the fake's journal."""
        for write in writes:
            match write:
                case PutRun(run=run):
                    self._keep(run)
                case Append():
                    self._appended(write)
                case ForgetRun(run=run):
                    with self._lock:
                        self._runs.pop(run, None)
                case _:
                    pass

    def _appended(self, write: Append) -> None:
        run = write.run or self._runs.get(write.id)
        if run is not None:
            self._keep(attrs.evolve(run, last_seq=write.events[-1].seq) if write.events else run)
        for recorded in write.events:
            self.put({"event": "run", **event_line(recorded)})

    def _keep(self, run: Run) -> None:
        with self._lock:
            self._runs[run.id] = run
            if len(self._runs) > MOST_RUNS:
                del self._runs[next(iter(self._runs))]
        self._wake()

    def _wake(self) -> None:
        self._came.set()
        self._came = trio.Event()

    # --- reading

    def frames(self) -> list[Frame]:
        """The newest frames, in order."""
        return [frame_of(line) for line in self._lines(self._frames)]

    def events(self) -> list[Line]:
        """The newest of all other lines, in order."""
        return self._lines(self._events)

    def runs(self) -> list[Line]:
        """The runs as they stand, in the order in which they came."""
        with self._lock:
            return [run_line(run) for run in self._runs.values()]

    def _lines(self, notes: _Notes) -> list[Line]:
        with self._lock:
            return [note.line for note in notes]

    async def expect(
        self, event: str, within: float, where: Where | None, members: Mapping[str, Any]
    ) -> Line:
        """See `Fake.expect`."""
        __tracebackhide__ = True
        await trio.lowlevel.checkpoint()  # here it may be cancelled, before a line is used up
        with trio.move_on_after(within):
            while (found := self._take(event, where, members)) is None:
                await self._came.wait()
            return found
        raise NotSeen(self._unseen(event, within, where, members))

    def _take(self, event: str, where: Where | None, members: Mapping[str, Any]) -> Line | None:
        for note in self._frames if event == "frame" else self._events:
            line = note.line
            if note.taken or line["event"] != event or not fits(members, line):
                continue
            if where is None or where(line):
                note.taken = True
                return line
        return None

    def _unseen(
        self, event: str, within: float, where: Where | None, members: Mapping[str, Any]
    ) -> str:
        asked = [f"{name}={value!r}" for name, value in members.items()]
        asked += ["where it fits"] if where is not None else []
        notes = [n for n in (*self._frames, *self._events) if n.line["event"] == event]
        others = Counter(n.line["event"] for n in self._events if n.line["event"] != event)
        words = f" with {', '.join(asked)}" if asked else ""
        lines = [f"no {event}{words} came within {within:g} s"]
        lines.append(f"{event} lines that came: {len(notes)}" + (", the newest:" if notes else ""))
        for note in notes[-MOST_TOLD:]:
            mark = "  (expected before)" if note.taken else ""
            lines.append(f"  {describe(note.line)}{mark}")
        if others:
            lines.append("also: " + ", ".join(f"{n} {name}" for name, n in others.items()))
        return "\n".join(lines)

    def shown(self, since: int, whole: bool = False) -> list[str]:
        """Frames and links since an instant, one line each, in order; their time is counted from
        it. `whole`: however long they are."""
        with self._lock:
            notes = sorted((*self._frames, *self._events), key=lambda note: note.at)
            left_out = self._frames.left_out
        timed = [note.line for note in notes if note.line["event"] in ("frame", "link")]
        lines = [
            f"{(line['time'] - since) / SECOND:+9.3f} s  {describe(line, whole)}"
            for line in timed
            if line["time"] >= since
        ]
        return [f"({left_out} older frames were left out)", *lines] if left_out else lines


def fits(wanted: Any, value: Any) -> bool:
    """Whether a value is as wanted: equal; of an object, the members that are named; where a
    compiled pattern is wanted, a text in which it is found."""
    if isinstance(wanted, Mapping):
        members = cast(Mapping[str, Any], wanted)
        return isinstance(value, Mapping) and all(
            name in value and fits(each, value[name]) for name, each in members.items()
        )
    if isinstance(wanted, re.Pattern):
        pattern = cast("re.Pattern[str]", wanted)
        return isinstance(value, str) and pattern.search(value) is not None
    return bool(wanted == value)


def describe(line: Line, whole: bool = False) -> str:
    """A line for people. `whole`: however long it is."""
    if line["event"] == "frame":
        what = line["name"] or "cannot be read"
        rule = f"  refused: {line['rule']}" if line.get("rule") else ""
        return f"{line['dir']:<3} {what}{rule}  {_text(line['message'], whole)}"
    members = {name: each for name, each in line.items() if name not in _SAID}
    return f"{line['event']:<3} {_text(members, whole)}"


def _text(value: Any, whole: bool) -> str:
    text = printable(json.dumps(value, ensure_ascii=False, default=str), newlines=False)
    return text if whole or len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"
