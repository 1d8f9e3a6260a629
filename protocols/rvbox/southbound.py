"""The connection that faces a client daemon: here we are the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, assert_never

from fleetgate.core.answers import Admission, Answer
from fleetgate.core.commands import Order, SendInput, StartRun
from fleetgate.core.errors import InstanceConflict
from fleetgate.core.ids import RunId
from fleetgate.core.times import nanos
from fleetgate.protocols.api import (
    NO_STEPS,
    AnnounceWorker,
    Close,
    Opening,
    Report,
    Step,
    Steps,
)
from fleetgate.protocols.bulk import Bulk, BulkConnection
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.codec import outputs_of
from fleetgate.protocols.rvbox.comparing import Comparing
from fleetgate.protocols.rvbox.desk import Desk, Due
from fleetgate.protocols.rvbox.exits import Exits
from fleetgate.protocols.rvbox.giving import Giving
from fleetgate.protocols.rvbox.hearing import Hearing
from fleetgate.protocols.rvbox.hello import BadHello, check_hello, speaks_higher
from fleetgate.protocols.rvbox.session import POLICY, SUPERSEDED, TRY_LATER, closing
from fleetgate.protocols.rvbox.settings import ServerSettings
from fleetgate.protocols.rvbox.state import Phase
from fleetgate.protocols.rvbox.translate import to_worker
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

_ADMISSION: Final = "admission"

_HELD_ORDER: Final = 256
"""What an order counts for, in bytes, beside its input, while it is held back."""


class ServerConnection(BulkConnection):
    """A server's end of one link."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._opening = Opening(link="")
        self._desk = Desk(settings)
        self._giving = Giving(self._desk)
        self._hearing = Hearing(self._desk, self._giving)
        self._hello = w.ClientHello()
        self._version = w.ProtocolVersion()
        self._exits = Exits(self._desk)
        self._comparing = Comparing(self._desk, self._giving, self._exits, self._release)
        self._held_back: list[Order] = []
        self._held_back_size = 0

    # --- the driver's calls

    def opened(self, opening: Opening, now: int) -> Steps:
        """A client has `hello_timeout` to say who it is."""
        self._opening = opening
        self._desk.deadlines.set(Due.HELLO, now + nanos(self._settings.hello_timeout))
        return self._desk.deadlines.wake()

    def receive(self, frame: bytes, now: int) -> Steps:
        """One envelope."""
        payload = self._desk.session.take(frame)
        steps = [*self._taken(payload, now)]
        return self._and_then(steps, now)

    def receive_bulk(self, frames: Sequence[bytes], now: int) -> Bulk | None:
        """What is plainly the next output of running commands."""
        return self._hearing.outputs(outputs_of(frames))

    def _taken(self, payload: w.Payload, now: int) -> Steps:
        match payload:
            case w.CommandEvent():
                return self._hearing.event(payload, now)
            case w.CommandAccepted():
                return self._hearing.accepted(payload, now)
            case w.ClientCapacity():
                return self._hearing.capacity(payload, now)
            case w.ReconcileSnapshot():
                return self._comparing.snapshot(payload, now)
            case w.ClientHello():
                return self._greeted(payload)
            case w.AgentError():
                return self._hearing.error(payload, now)
            case _:  # the state table lets nothing else through but what a higher minor brings
                return (Report("rvbox_unknown_payload", "from a client of a higher version"),)

    def tick(self, now: int) -> Steps:
        """Deadlines: acknowledgements, scripts, retries, and those that end the session."""
        steps: list[Step] = []
        for name in self._desk.deadlines.due(now):
            steps += self._due(Due(name), now)
        return self._and_then(steps, now)

    def _due(self, what: Due, now: int) -> Steps:
        session = self._desk.session
        match what:
            case Due.ACK:
                return self._hearing.acknowledge()
            case Due.SCRIPT:
                return self._giving.pump(now)
            case Due.FULL:
                return self._retry_full(now)
            case Due.EXPIRY:
                return NO_STEPS if session.reconciling else self._giving.expire(now)
            case Due.EXIT:
                return self._exits.look(now)
            case Due.KILL:
                return self._giving.kill(now)
            case Due.ANSWER:
                self._desk.wants_reconcile = True
                return NO_STEPS
            case Due.CALM:
                return NO_STEPS  # that it has passed is all that matters
            case Due.HELLO:
                raise session.violation("no ClientHello came in time")
            case Due.SNAPSHOT:
                raise session.violation("no ReconcileSnapshot came in time")
            case _:
                assert_never(what)

    def _retry_full(self, now: int) -> Steps:
        if self._desk.session.reconciling:
            self._desk.deadlines.set(Due.FULL, now + nanos(self._settings.full_retry))
            return NO_STEPS
        return self._giving.retry_full(now, len(self._desk.books.full))

    def _and_then(self, steps: list[Step], now: int) -> Steps:
        desk = self._desk
        if steps and isinstance(steps[-1], Close):
            return steps
        if desk.wants_reconcile and desk.session.phase is Phase.OPEN:
            steps += self._comparing.request(now)
        steps += desk.deadlines.wake()
        return steps

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        """The worker is admitted or not; or a run that a snapshot named was looked up."""
        if reply_to == _ADMISSION:
            steps = self._admitted(answer, now)
        else:
            steps = self._comparing.looked_up(reply_to, answer, now)
        return self._and_then([*steps], now)

    def perform(self, order: Order, now: int) -> Steps:
        """Pass on an order, or hold it back while the two sides compare."""
        if self._desk.session.reconciling:
            return self._hold_back(order)
        return self._and_then([*self._perform(order, now)], now)

    def _perform(self, order: Order, now: int) -> Steps:
        if isinstance(order.command, StartRun):
            return self._giving.start(order, order.command, now)
        return self._giving.order(order, now)

    def committed(self, run: RunId, native_seq: int, now: int) -> Steps:
        """Acknowledge; and a comparison that waited for this is complete."""
        steps = [*self._hearing.committed(run, native_seq, now)]
        steps += self._comparing.committed(run, now)
        return self._and_then(steps, now)

    def fenced(self, reason: str, now: int) -> Steps:
        """The newest link of a client wins."""
        text = "a newer link of this client took over"
        return self._desk.session.ending(Code.SUPERSEDED, text, SUPERSEDED)

    def dismissed(self, reason: str, now: int) -> Steps:
        """The client of a stream of bytes learns it by this alone; it comes back no more."""
        said, _closed = self._desk.session.ending(Code.UNAUTHENTICATED, reason, POLICY)
        return (said,)

    # --- hello and admission

    def _greeted(self, hello: w.ClientHello) -> Steps:
        session = self._desk.session
        try:
            self._version = check_hello(hello, self._opening)
        except BadHello as bad:
            raise session.refuse(bad.code, bad.text, POLICY) from None
        self._hello = hello
        self._desk.shells = frozenset(hello.supported_shells)
        session.lenient = speaks_higher(hello)
        self._desk.deadlines.clear(Due.HELLO)
        return (AnnounceWorker(to_worker(self._opening.link, hello), _ADMISSION),)

    def _admitted(self, answer: Answer, now: int) -> Steps:
        session = self._desk.session
        if isinstance(answer, InstanceConflict):
            text = "another instance of this client is connected"
            return session.ending(Code.CLIENT_ID_IN_USE, text, POLICY)
        if not isinstance(answer, Admission):
            text = "the server cannot admit this client now"
            return session.ending(Code.RESOURCE_EXHAUSTED, text, TRY_LATER)
        session.open(self._opening.entropy.hex(), answer.epoch)
        steps: list[Step] = [session.send(w.ServerWelcome(self._version, now))]
        for held in answer.held:
            steps += self._giving.hold(held.run)
            self._comparing.hold(held.orders)
        most = self._hello.max_running_commands, self._hello.max_queued_commands
        self._desk.capacity.reported(w.ClientCapacity(0, 0, *most))
        return (*steps, *self._comparing.request(now))

    # --- orders that wait

    def _hold_back(self, order: Order) -> Steps:
        settings = self._settings
        size = len(order.command.data) if isinstance(order.command, SendInput) else 0
        self._held_back.append(order)
        self._held_back_size += size + _HELD_ORDER
        full = len(self._held_back) > settings.held_back_orders
        if full or self._held_back_size > settings.held_back_size:
            return (closing(TRY_LATER, "too many orders came while the two sides compared"),)
        return NO_STEPS

    def _release(self, now: int) -> Steps:
        held, self._held_back = self._held_back, []
        self._held_back_size = 0
        steps: list[Step] = []
        for order in held:
            steps += self._perform(order, now)
        return steps
