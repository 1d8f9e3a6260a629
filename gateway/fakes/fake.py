"""A fake in this process, driven from Python: what all eight have in common."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping
from contextlib import AsyncExitStack
from itertools import count
from types import TracebackType
from typing import Any, Final, Literal, Self

import trio

from fleetgate.core.errors import InvalidArgument
from fleetgate.gateway.config_reader import nearest
from fleetgate.gateway.fakes.from_python import by_name, make_peer
from fleetgate.gateway.fakes.operations import as_operation
from fleetgate.gateway.fakes.performing import Performer
from fleetgate.gateway.fakes.running import LOCAL_CAUSES, Ending, at_work
from fleetgate.gateway.fakes.seen import EVENTS, Frame, Seen, Where
from fleetgate.gateway.fakes.shown import BOARD
from fleetgate.gateway.fakes.small import Small
from fleetgate.gateway.fakes.told import ToldJournal
from fleetgate.gateway.groups import unwrapped
from fleetgate.gateway.render import Line

NOTHING: Final = "nothing: no link came up here in this test, and no frame crossed one"
"""What is shown of a fake that has nothing to show: that tells most of all why a test failed."""

CLOSE_WITHIN: Final = 5.0
"""Seconds that a fake may take to end: peers are told within two, its journal is closed behind."""

EXPECT_WITHIN: Final = 5.0
"""Seconds that `expect` waits: a peer on this machine answers in a few milliseconds, and one that
starts Python first in less than a second."""


class CannotStart(Exception):
    """A fake cannot start here: its address is taken, its state is in use. The text says why."""


class NotOpen(RuntimeError):
    """A fake that was not entered yet, or is closed already, was told to do something."""


class NoAnswer(Exception):
    """An operation came to nothing. `code` and `data` are those of its answer's `error`, as
    docs/reference/fakes.md has them."""

    def __init__(self, code: str, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.data = data


class Fake:
    """One side of one protocol in this process, as long as the block lasts:

        async with AgencyDaemon(socket=path) as daemon: ...

    It is entered once, inside `trio.run`. Entered, one that listens can be dialled at `address`;
    one that dials tries until its peer is there. At the end of the block its peers are told that
    it goes and its links are closed; runs that it was given and that are under way are `lost`, runs
    that it had started stay as they are. That takes at most `CLOSE_WITHIN` seconds. Where the block
    is cancelled the same happens, but links are cut without a goodbye.

    What a method asks for may or may not have happened where the method is cancelled; nothing else
    is left behind. Refusals are raised, as `Refusal` of `fleetgate.core.errors`.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.name = name
        self._peer = make_peer(name, options)
        self._seen = Seen()
        self._ending = _Ending(self._seen)
        self._ids = count(1)
        self._stack: AsyncExitStack | None = None
        self._small: Small | None = None
        self._performer: Performer | None = None
        self._closing = trio.CancelScope()
        """Around all of it: what keeps the end from being cancelled, and bounds it."""
        self._over = False
        self._address = self._peer.around.entry.address

    # --- beginning and end

    async def __aenter__(self) -> Self:
        """Begin. Raises: `CannotStart`; `NotOpen`, where it was entered before."""
        if self._stack is not None or self._over:
            raise NotOpen(f"{self.name} was entered before; make another one")
        try:
            await self._begin()
        except (*LOCAL_CAUSES, BaseExceptionGroup) as group:
            error = unwrapped(group)
            if not isinstance(error, LOCAL_CAUSES):
                raise
            raise CannotStart(f"{self.name}: {error}") from error
        BOARD.add(self)
        return self

    async def _begin(self) -> None:
        around = self._peer.around
        self._seen.open()
        async with AsyncExitStack() as stack:
            stack.enter_context(self._closing)
            small = await stack.enter_async_context(
                at_work(
                    around,
                    self._put,
                    self._ending,
                    lambda journal: ToldJournal(journal, self._seen.written),
                )
            )
            self._performer = await stack.enter_async_context(self._peer.open(small, self))
            self._small = small
            self._stack = stack.pop_all()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """End. What the block has raised comes out as it was raised, in no group."""
        stack, self._stack = self._stack, None
        self._small = self._performer = None
        self._over = True
        if stack is None:
            return False
        # Told of no error, it ends in order. A fault of its own, which has cancelled the block, is
        # raised here in place of the `Cancelled`.
        self._closing.shield = True
        self._closing.deadline = trio.current_time() + CLOSE_WITHIN
        await stack.aclose()
        return False

    def _put(self, line: Line) -> None:
        if line["event"] == "ready":
            self._address = line["address"]
        self._seen.put(line)

    async def write(self, *lines: Line) -> None:
        """Take what the operations of this fake have to say beside their answers."""
        for line in lines:
            # Events of runs come from the journal; updates of a call have no name on the wire.
            if line.get("event") != "run":
                self._seen.put({"event": "update", **line})
        await trio.lowlevel.checkpoint()

    # --- looking

    @property
    def address(self) -> str:
        """Where it listens, with the real port, or what it dials: a URL."""
        return self._address

    @property
    def runs(self) -> list[Line]:
        """The runs as they stand, the newest 4096, in the order in which they came. Members are
        those of `status` in docs/reference/fakes.md."""
        return self._seen.runs()

    @property
    def frames(self) -> list[Frame]:
        """The frames that crossed its links, in order: the newest 4096 or 16 MiB."""
        return self._seen.frames()

    @property
    def events(self) -> list[Line]:
        """All else that happened, as the front end prints it, and the events of every run: the
        newest 4096 or 16 MiB."""
        return self._seen.events()

    @property
    def over(self) -> bool:
        """Whether it is closed."""
        return self._over

    def title(self) -> str:
        """What it is, and where."""
        return f"{self.name} at {self.address}"

    def __repr__(self) -> str:
        return f"<{self.title()}>"

    def heading(self) -> str:
        """What stands above its `lines`."""
        return f"frames of {self.title()}"

    def lines(self, since: int, whole: bool = False) -> list[str]:
        """Frames and links since an instant (Unix nanoseconds), one line each; `whole`: however
        long they are."""
        return self._seen.shown(since, whole) or [NOTHING]

    async def expect(
        self,
        event: str,
        /,
        *,
        within: float = EXPECT_WITHIN,
        where: Where | None = None,
        **members: Any,
    ) -> Line:
        """Wait for a line of this kind that has these members, and answer it: `expect("frame",
        dir="in", name="hello")`, `expect("run", type="RunFinished")`, `expect("link", state="up")`.

        Lines and members are those of docs/reference/fakes.md. A member that is an object need
        only have the members that are named, a compiled pattern is searched in a text; `where` is
        asked about what is left. A line may have come already: each is answered once, the oldest
        first. So two calls that expect the same want two of it. Cancelled, none is used up.
        Raises: `NotSeen`, after `within` seconds, with what was seen; `InvalidArgument`, for a kind
        of line that there is not.
        """
        __tracebackhide__ = True
        if event not in EVENTS:
            raise InvalidArgument(f"{event}: no line is of this kind; {nearest(event, EVENTS)}")
        self._opened()
        return await self._seen.expect(event, within, where, members)

    # --- steering

    @by_name
    async def fault(
        self,
        *,
        drop_after: int | None = None,
        delay_ms: int = 0,
        duplicate: float = 0.0,
        reorder: float = 0.0,
        corrupt: float = 0.0,
        truncate: float = 0.0,
        lose_ack: float = 0.0,
        half_open: bool = False,
        slow_read: int | None = None,
        byte_at_a_time: bool = False,
        dir: Literal["in", "out", "both"] = "both",
    ) -> None:
        """Make its links go wrong from now on, in place of what did; with nothing: mend them.

        Raises: `BadOption`, `InvalidArgument`.
        """
        faults = {key: value for key, value in locals().items() if key != "self"}
        await self._ask("fault", **faults)

    async def drop(self, worker: str | None = None) -> None:
        """Cut its links, or those of one worker, without a goodbye."""
        await self._ask("drop", worker=worker)

    async def raw(self, data: bytes | str, worker: str | None = None) -> None:
        """Put a frame on the wire as it is: on all links, or on those of one worker."""
        await self._ask("raw", **data_members(data), worker=worker)

    async def _ask(
        self, op: str, *, id: str | None = None, within: float = math.inf, **members: Any
    ) -> Line:
        """Have an operation carried out; what it is answered with. `within` is for those that have
        no deadline of their own."""
        performer, small = self._opened()
        used = {key: value for key, value in members.items() if value is not None}
        operation = as_operation({"op": op, **used}, self._peer.known)
        if performer.waits(operation):
            answer = _late(op, within)
            with trio.move_on_after(within):
                answer = await performer.begin(id or f"call {next(self._ids)}", operation)()
        else:
            answer = await performer.perform(small.nursery, operation)
        if answer.get("ok") is False:
            error = answer["error"]
            raise NoAnswer(error["code"], error["message"], error.get("data"))
        return answer

    def _opened(self) -> tuple[Performer, Small]:
        if self._performer is None or self._small is None:
            when = "is closed" if self._over else "was not entered yet"
            raise NotOpen(f"{self.name} {when}; use it inside its `with` block")
        return self._performer, self._small


class _Ending(Ending):
    """A fake whose peer has refused it for good ends with its block, and says it before."""

    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self._seen = seen

    def come(self, code: int, reason: str) -> None:
        """Something would end it."""
        super().come(code, reason)
        self._seen.put({"event": "ended", "reason": reason})


def _late(op: str, seconds: float) -> Line:
    message = f"{op} was not answered within {seconds:g} s"
    return {"ok": False, "error": {"code": "no_answer", "message": message}}


def data_members(data: bytes | str) -> dict[str, Any]:
    """Bytes or text, as operations have them."""
    if isinstance(data, str):
        return {"text": data}
    return {"data_base64": b64encode(data).decode()}
