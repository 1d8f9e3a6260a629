"""The symmetric peer: calls both ways over one link, without I/O (W 5).

`receive` takes a frame; `take` then gives what came of it, one thing at a time, in order.
What is to be said goes into two lanes; `flush` empties them into steps. A request that
`take` has given holds a slot until it is answered, a notification until `finished`.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import attrs

from fleetgate.core.queue import Queue
from fleetgate.core.values import value
from fleetgate.protocols.api import Send
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import structs
from fleetgate.protocols.kodelet.codec import decode, encode, fatal
from fleetgate.protocols.kodelet.errors import (
    CANCELED,
    DUPLICATE_ID,
    ERROR_OVERSIZE,
    INTERNAL,
    OVERLOADED,
    RESULT_OVERSIZE,
    RpcError,
)
from fleetgate.protocols.kodelet.go_json import trim
from fleetgate.protocols.kodelet.lanes import Lanes
from fleetgate.protocols.kodelet.settings import PeerSettings
from fleetgate.protocols.kodelet.state import CONTROL
from fleetgate.protocols.kodelet.wire import (
    Failure,
    Notification,
    OperationCancel,
    Request,
    Success,
)


class Oversize(ValueError):
    """A message of ours is above the limit; nothing was sent."""


@value
class Called:
    """A request has a slot: answer it, once."""

    id: str
    method: str
    params: Any


@value
class Told:
    """A notification has a slot: say `finished`."""

    method: str
    params: Any


@value
class Canceled:
    """The caller of a request that is under way has given up. It is answered all the same."""

    id: str


@value
class Answered:
    """A call of ours is over: its result, or an error. `token` is what was given to `call`."""

    token: Any
    result: Any = None
    error: RpcError | None = None


@value
class Broken:
    """A call of ours can have no answer any more, for the link is gone."""

    token: Any
    reason: str


Came: TypeAlias = Called | Told | Canceled | Answered

CANCEL_METHOD: Final = "operation.cancel"


@attrs.define(slots=True)
class _Pool:
    """Requests of one kind: how many have a slot, and who waits for one."""

    limit: int
    busy: int = 0
    waiting: Queue[Request] = attrs.field(factory=Queue[Request])


class Peer:
    """One end of one connection. `prefix` is of the ids of its own requests."""

    def __init__(self, prefix: str, limits: PeerSettings) -> None:
        self._prefix = prefix
        self._limits = limits
        self._lanes = Lanes(self._limits.control_lane, self._limits.update_lane)
        self._calls: dict[str, Any] = {}
        self._count = 0
        self._inbound: dict[str, _Pool] = {}
        self._general = _Pool(self._limits.requests)
        self._control = _Pool(self._limits.control_requests)
        self._waiting_size = 0
        self._sizes: dict[str, int] = {}
        self._notifications = 0
        self._came: Queue[Came] = Queue()

    # --- in

    def receive(self, frame: bytes) -> None:
        """Take a frame.

        Raises: `RemoteProtocolError` for what drops the connection.
        """
        if len(frame) > self._limits.message_limit:
            raise fatal(
                f"a message has {len(frame)} bytes, the limit is {self._limits.message_limit}"
            )
        message = decode(frame)
        match message:
            case Request():
                self._request(message, len(frame))
            case Notification(method=method, params=params) if method == CANCEL_METHOD:
                self._cancel(params)
            case Notification():
                self._notify(message)
            case Success(id=id, result=result):
                if id in self._calls:
                    self._came.append(Answered(self._calls.pop(id), result))
            case Failure(id=id, error=error):
                if id in self._calls:
                    self._came.append(Answered(self._calls.pop(id), None, error))

    def take(self) -> Came | None:
        """What has come, one thing a call; None when there is no more."""
        return self._came.popleft() if self._came else None

    def _request(self, request: Request, size: int) -> None:
        if request.id in self._inbound:
            if self._lanes.crowded:
                raise fatal("a request's id is in flight, and there is no room to say so")
            self._put(encode(Failure(request.id, DUPLICATE_ID)))
            return
        pool = self._control if request.method in CONTROL else self._general
        if pool.busy < pool.limit:
            self._begin(pool, request)
            return
        too_many = len(pool.waiting) >= self._limits.waiting_requests
        if too_many or self._waiting_size + size > self._limits.waiting_size:
            self._put(encode(Failure(request.id, OVERLOADED)))
            return
        self._inbound[request.id] = pool
        self._sizes[request.id] = size
        self._waiting_size += size
        pool.waiting.append(request)

    def _begin(self, pool: _Pool, request: Request) -> None:
        pool.busy += 1
        self._inbound[request.id] = pool
        self._came.append(Called(request.id, request.method, request.params))

    def _notify(self, notification: Notification) -> None:
        if self._notifications >= self._limits.notifications:
            raise fatal("runner rpc notification concurrency limit exceeded")
        self._notifications += 1
        self._came.append(Told(notification.method, notification.params))

    def finished(self) -> None:
        """A notification that `take` gave is dealt with."""
        self._notifications -= 1

    def _cancel(self, params: Any) -> None:
        """The caller gave up. Whatever cannot be read, or is unknown, is passed over."""
        try:
            id = trim(structs.read(OperationCancel, params).request_id)
        except Malformed:
            return
        pool = self._inbound.get(id)
        if pool is None:
            return
        if id in self._sizes:
            pool.waiting = Queue(each for each in pool.waiting if each.id != id)
            self._unqueue(id)
            del self._inbound[id]
            self._put(encode(Failure(id, CANCELED)))
        else:
            self._came.append(Canceled(id))

    def _unqueue(self, id: str) -> None:
        self._waiting_size -= self._sizes.pop(id)

    # --- answers

    def succeed(self, id: str, result: Any) -> None:
        """Answer a request. A result that does not fit becomes the error for that (W 5.6)."""
        try:
            frame = encode(Success(id, result))
        except (ValueError, RecursionError) as error:
            self.fail(id, RpcError(INTERNAL, str(error)))
            return
        if len(frame) > self._limits.message_limit:
            frame = encode(Failure(id, RESULT_OVERSIZE))
        self._answered(id, frame)

    def fail(self, id: str, error: RpcError) -> None:
        """Answer a request with an error."""
        frame = encode(Failure(id, error))
        if len(frame) > self._limits.message_limit:
            frame = encode(Failure(id, ERROR_OVERSIZE))
        self._answered(id, frame)

    def _answered(self, id: str, frame: bytes) -> None:
        pool = self._inbound.pop(id, None)
        if pool is None:
            return
        self._put(frame)
        pool.busy -= 1
        if pool.waiting:
            request = pool.waiting.popleft()
            self._unqueue(request.id)
            self._begin(pool, request)

    # --- out

    def call(self, method: str, params: Any, token: Any) -> str:
        """Ask; `Answered(token, …)` tells how it went. Answers the id on the wire.

        Raises: `Oversize`, and nothing was sent.
        """
        id = f"{self._prefix}:{self._count + 1}"
        frame = self._fitting(Request(id, method, params))
        self._count += 1
        self._calls[id] = token
        self._put(frame)
        return id

    def abandon(self, id: str) -> None:
        """Give up on a call of ours: its answer is passed over, and the peer is told."""
        if id in self._calls:
            del self._calls[id]
            self._put(encode(Notification(CANCEL_METHOD, OperationCancel(id))))

    def abandon_silently(self, id: str) -> None:
        """Pass over the answer to a call of ours; the peer is not told."""
        self._calls.pop(id, None)

    def notify(self, method: str, params: Any) -> None:
        """Say something that has no answer.

        Raises: `Oversize`.
        """
        self._put(self._fitting(Notification(method, params)))

    def update(self, frame: bytes) -> bool:
        """Put a `tool.update` into the lane that yields to all others and drops the oldest. Whether
        it went: one above the limit goes nowhere, and the result says what it would have."""
        if len(frame) > self._limits.message_limit:
            return False
        self._lanes.update(frame)
        return True

    def _fitting(self, message: Request | Notification) -> bytes:
        frame = encode(message)
        if len(frame) > self._limits.message_limit:
            raise Oversize(
                f"runner rpc message is {len(frame)} bytes, "
                f"exceeding the {self._limits.message_limit}-byte outbound limit"
            )
        return frame

    def _put(self, frame: bytes) -> None:
        self._lanes.control(frame)

    def flush(self) -> list[Send]:
        """All that is to be sent, what controls before what updates."""
        return [Send(frame) for frame in self._lanes.drain()]

    def end(self, reason: str) -> list[Broken]:
        """The link is gone: every call of ours has failed."""
        broken = [Broken(token, reason) for token in self._calls.values()]
        self._calls.clear()
        return broken
