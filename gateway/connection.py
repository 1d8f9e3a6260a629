"""The driver: the one place where a link, an adapter's connection and the hub meet.

Each link has one `Driver` with one nursery: a reader, a writer that alone touches the sending side
while there is something to send, one task that delivers what is followed, and one short task for
each question to the hub (`fleetgate.gateway.asking`). Steps are performed here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import trio

from fleetgate.core.answers import Answer
from fleetgate.core.commands import Order, ProbeWorkers, ReadUsage
from fleetgate.core.events import Recorded
from fleetgate.core.hub import Hub
from fleetgate.core.ids import RunId, WorkerId
from fleetgate.core.queue import Queue
from fleetgate.core.timers import Clock
from fleetgate.gateway.alarm import Alarm
from fleetgate.gateway.asking import Asking
from fleetgate.gateway.bulk import ShortWay
from fleetgate.gateway.gate import Gate
from fleetgate.gateway.last_words import Ended, last_words
from fleetgate.gateway.latch import Latch
from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.remembering import Remember, forget, keep
from fleetgate.gateway.rights import ALL, Rights
from fleetgate.gateway.speaking import Observer, Speaker, WorkerStep
from fleetgate.gateway.subscriptions import Subscription, Subscriptions, owed
from fleetgate.gateway.unframed import answer_unframed
from fleetgate.gateway.writing import CLOSE_WITHIN, SEND_WITHIN, Writer
from fleetgate.protocols import api
from fleetgate.protocols.api import Connection, ProtocolError, Steps
from fleetgate.transports.api import Link, LinkBroken, LinkError


class Driver:
    """Drives one connection over one link. Also the hub's port to the worker behind it."""

    def __init__(
        self,
        link: Link,
        connection: Connection,
        hub: Hub,
        clock: Clock,
        observer: Observer,
        frame_within: float | None = None,
        remember: Remember = forget,
        rights: Rights = ALL,
    ) -> None:
        """`frame_within`: seconds that the write of one frame may take (None: see `Writer`).
        `remember` keeps what the connection wants later links to know. `rights` are the peer's,
        where it is a controller."""
        self._link = link
        self._connection = connection
        self._hub = hub
        self._clock = clock
        self._observer = observer
        self._outbox = Outbox()
        self._calls: Queue[Callable[[int], Steps]] = Queue()
        self._calling = False
        self._rights = rights
        self._subscriptions: Subscriptions | None = None
        self._speaker = Speaker(hub, observer)
        self._short = ShortWay(connection, self._speaker, self._outbox, clock, self.fault)
        self._asking = Asking(hub, self, self._speaker, observer, rights)
        self._gate = Gate(self._outbox, self._asking)
        self._alarm = Alarm(hub.at, partial(self._call, connection.tick))
        self._closing: api.Close | None = None
        self._read_over = Latch()
        self._writer = Writer(
            link, self._outbox, self._read_over, self.broken, clock, hub.at, frame_within
        )
        self._remember = remember
        self._ready = False
        self._speaks_on = False
        self._over = False
        self._nursery: trio.Nursery | None = None

    @property
    def link(self) -> Link:
        """The link that is driven, to look at."""
        return self._link

    @property
    def connection(self) -> Connection:
        """The connection that is driven, to look at."""
        return self._connection

    def act(self, call: Callable[[int], Steps]) -> None:
        """Make a call into the connection that nothing brought about; none where the link ends."""
        self._call(call)

    @property
    def worker(self) -> WorkerId | None:
        """The worker that this link speaks for."""
        return self._speaker.worker

    async def run(self, opening: api.Opening) -> Ended:
        """Drive the connection until its link ends. Cancelled, the link is dropped. Either way
        the link is closed, its worker withdrawn and its followers gone when this returns."""
        reason = "the gateway ended the link"
        goodbye: int | None = None
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                try:
                    self._begin(nursery, opening)
                    reason = await self._read()
                    goodbye = 1000  # or what the link itself has to say of a frame that it refused
                finally:
                    # No call is made from here on: the nursery takes no task once its last one has
                    # ended, and until the hub is told the worker away it still gives orders.
                    self._over = True
                    self._alarm.stop()
                    self._writer.stop()
                nursery.cancel_scope.cancel()
        except Exception as error:
            self._observer.fault(error)
            reason = "a fault of the gateway"
        finally:
            self._asking.stop()
            with trio.CancelScope(shield=True):
                await self._link.close(*last_words(self._closing, self._link, goodbye))
            if self._closing is not None:
                reason = self._closing.reason
            await self._farewell(reason)
        closing = self._closing
        return Ended(reason, closing is None or closing.retry, self._ready)

    def _begin(self, nursery: trio.Nursery, opening: api.Opening) -> None:
        if self._closing is not None:  # asked for before there was a nursery to part in
            nursery.start_soon(self._part, self._closing)
        self._asking.start(nursery)
        self._speaker.link = (opening.link, opening.peer)
        self._call(partial(self._connection.opened, opening))
        self._writer.start(nursery)

    async def _farewell(self, reason: str) -> None:
        steps: Steps = ()
        try:
            steps = self._connection.closed(reason, self._clock())
        except Exception as error:
            self._observer.fault(error)
        for step in steps:
            if isinstance(step, api.Record | api.WithdrawWorker | api.Notify):
                self._perform(step)
        if self._subscriptions is not None:
            self._subscriptions.stop()
        self._speaker.end(reason)
        await self._asking.ask_last(steps)

    def dismiss(self, close: api.Close) -> None:
        """Send the peer away: a stream of bytes has no code to close with, but a last message."""
        self._call(lambda now: (*self._connection.dismissed(close.reason, now), close))

    def drain(self) -> None:
        """The gateway stops: have the peer told."""
        self._call(self._connection.drain)

    async def catch_up(self) -> None:
        """Wait until the peer was given all that is committed of what it follows."""
        if self._subscriptions is not None:
            await self._subscriptions.caught_up()

    async def finish(self) -> None:
        """Send what is left, then end the link in order (`drain` comes before)."""
        with trio.move_on_after(CLOSE_WITHIN):
            await self._outbox.wait_idle()
        self._close(api.Close(1001, "this side stops"))

    def drop(self) -> None:
        """Cut the link without a word."""
        self._close(api.Close(None, "the link was cut on request"))

    def send_raw(self, frame: bytes) -> None:
        """Put a frame on the wire that no adapter made."""
        self._outbox.put(frame)

    # --- calls into the connection, one at a time

    def _call(self, call: Callable[[int], Steps]) -> None:
        """Make `call(now)` once the steps of the calls before it are performed."""
        if self._calling:
            self._calls.append(call)
            return
        self._calling = True
        try:
            while self._going:
                self._make(call)
                if not self._calls:
                    self._speaker.flush()  # within the loop: it may bring about calls
                if not self._calls:
                    return
                call = self._calls.popleft()
        finally:
            self._calling = False
            self._calls.clear()

    def _receive(self, frame: bytes) -> None:
        """As `_call`, for the call that is made most: no other is under way when a frame is taken.
        Records wait for those of the next frame; `_take_in` sees to them."""
        if not self._going:
            return
        self._calling = True
        self._asking.size = len(frame)
        try:
            self._make(self._connection.receive, frame)
            while self._calls and self._going:
                self._make(self._calls.popleft())
        finally:
            self._asking.size = 0
            self._calling = False
            self._calls.clear()

    @property
    def _going(self) -> bool:
        """Whether calls are still made."""
        return self._closing is None and not self._over

    def _make(self, call: Callable[..., Steps], *given: Any) -> None:
        try:
            steps = call(*given, self._clock())
        except ProtocolError as error:
            steps = error.steps or (api.Close(None, str(error)),)
            self._observer.report("protocol_error", str(error), None)
        except Exception as error:
            self._observer.fault(error)
            steps = (api.Close(None, "a fault of the gateway"),)
        for step in steps:
            if self._closing is not None:
                return
            self._perform(step)

    def _perform(self, step: api.Step) -> None:
        match step:
            case api.Send():
                self._outbox.put(step.frame)
            case api.Record():
                self._speaker.record(step)
            case api.Wake():
                self._alarm.set(step.at)
            case api.Pause():
                self._gate.pause()
            case api.Resume():
                self._gate.resume()
            case api.SpeakOn():
                self._speaks_on = True
            case api.Close():
                self._close(step)
            case api.Established():
                self._ready = True
            case api.Report():
                self._observer.report(step.what, step.detail, step.run)
            case _:
                self._perform_behind(step)

    def _perform_behind(self, step: api.FromCore | WorkerStep) -> None:
        self._speaker.flush()
        match step:
            case api.Submit():
                self._asking.submit(step)
            case api.Annotate():
                self._outbox.bar(self._asking.annotate(step))
            case api.Remember():
                keep(step.text, self._remember, self._outbox, self.broken)
            case api.Ack():
                self._asking.acknowledge(owed(step, self._subscriptions))
            case api.Follow() | api.Unfollow() | api.WatchWorkers():
                self._subscribe(step)
            case api.AnnounceWorker():
                self._asking.announce(step)
            case _:
                self._speaker.perform(step)

    def _subscribe(self, step: Subscription) -> None:
        assert self._nursery is not None
        if self._subscriptions is None:
            self._subscriptions = Subscriptions(
                self._hub,
                self._outbox,
                self._connection,
                self._speaker.link,
                self._rights,
                self._deliver,
                self._call,
                self._close,
            )
        self._subscriptions.perform(self._nursery, step)

    def _deliver(self, batch: Sequence[Recorded]) -> int:
        """Deliver events, from the first on; how many that were."""
        if not self._calls and self._going and (given := self._short.give(batch)):
            return given
        some = self._short.long_way(batch)
        self._call(partial(self._connection.deliver, some))
        return len(some)

    # --- the link

    async def _read(self) -> str:
        try:
            while True:
                frames = await self._link.receive_some()
                if self.worker is not None and not self._hub.has_room:
                    await self._hub.wait_room()  # what others ask waits, or is refused, by itself
                await self._take_in(frames)
        except trio.EndOfChannel:
            self._read_over.set()
            await self._finish()
            return "the peer closed the link"
        except LinkError as error:
            if isinstance(error, LinkBroken) and error.final and self._closing is None:
                self._closing = api.Close(None, str(error), retry=False)
            await answer_unframed(error, self._connection, self._call, self._outbox)
            return str(error)
        finally:
            self._read_over.set()

    async def _take_in(self, frames: Sequence[bytes]) -> None:
        at = 0
        try:
            while at < len(frames):
                if not self._gate.open:
                    self._speaker.flush()
                    await self._gate.wait()
                taken = self._short.take(frames[at:]) if self._going else 0
                if not taken:
                    self._receive(frames[at])
                at += taken or 1
        finally:
            self._speaker.flush()

    async def _finish(self) -> None:
        """The peer sends no more: answer what it asked, then end; or go on until it is gone."""
        if self._speaks_on:
            await self._link.wait_over()
        with trio.move_on_after(SEND_WITHIN):
            while not self._asking.idle:
                await self._asking.wait_answer()
            await self._outbox.wait_idle()

    def broken(self, reason: str) -> None:
        """Nothing more can be sent: the link ends without a word."""
        if self._closing is None:
            self._closing = api.Close(None, reason)
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    def _close(self, close: api.Close) -> None:
        if self._closing is None:
            self._closing = close
            if self._nursery is not None and not self._over:
                self._nursery.start_soon(self._part, close)

    async def _part(self, closing: api.Close) -> None:
        with trio.move_on_after(CLOSE_WITHIN):
            await self._outbox.wait_idle()
        # The reader ends with the link, and this nursery with the reader: the goodbye is said
        # all the same. The link bounds it.
        with trio.CancelScope(shield=True):
            await self._link.close(*last_words(closing, self._link, None))
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    # --- the hub's answers, and its port

    def answered(self, reply_to: Any, answer: Answer) -> None:
        """Tell the connection what the hub answered."""
        self._call(partial(self._connection.reply, reply_to, answer))

    def fault(self, error: Exception) -> None:
        """A fault of ours ends this link (I11)."""
        self._observer.fault(error)
        self._close(api.Close(None, "a fault of the gateway"))

    def perform(self, order: Order) -> None:
        """Give the worker an order."""
        self._call(partial(self._connection.perform, order))

    def ask(self, question_id: int, question: ProbeWorkers | ReadUsage) -> None:
        """Ask the worker."""
        self._call(partial(self._connection.ask, question_id, question))

    def committed(self, run: RunId, native_seq: int) -> None:
        """Tell the worker up to which of its numbers a run is durable."""
        self._call(partial(self._connection.committed, run, native_seq))

    def end_session(self, session: str) -> None:
        """Tell the worker that a session is over."""
        self._call(partial(self._connection.end_session, session))

    def fenced(self, reason: str) -> None:
        """A newer link of this worker took over."""
        self._speaker.fenced()
        self._call(partial(self._connection.fenced, reason))
