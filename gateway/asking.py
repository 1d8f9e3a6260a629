"""The questions that one link has with the hub: a short task each, bounded, and in turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

import trio

from fleetgate.core.answers import Admission, Answer
from fleetgate.core.commands import ProbeWorkers, ReadUsage
from fleetgate.core.errors import Refusal
from fleetgate.core.hub import Hub
from fleetgate.core.roster import Port
from fleetgate.gateway.rights import ALL, Rights
from fleetgate.gateway.speaking import Reporter, Speaker
from fleetgate.protocols import api

MAX_ASKED: Final = 256
"""Questions to the hub under way for one link; at it the link is not read until one is
answered."""

MAX_ASKED_SIZE: Final = 16 << 20
"""Bytes of the frames that brought those about, for what they ask holds what was in them: a few of
the largest of any protocol. At it the link is not read, as at `MAX_ASKED`."""

LAST_WITHIN: Final = 5.0
"""Seconds for what a link asks at its end: as long as its last frames may take."""

Question: TypeAlias = Callable[[], Awaitable[None]]


class Asker(Port, Protocol):
    """Whose questions they are: the hub's port to a worker, if there is one behind the link, and
    who hears the answers."""

    def answered(self, reply_to: Any, answer: Answer) -> None:
        """The hub's answer to a `Submit` or an `AnnounceWorker`."""
        ...

    def broken(self, reason: str) -> None:
        """The link cannot go on: what it was about to say must never leave."""
        ...

    def fault(self, error: Exception) -> None:
        """A fault of ours; the link ends."""
        ...


class Asking:
    """Asks beside everything else; but what changes something in turn: the peer's words take
    effect in the order in which they came."""

    def __init__(
        self,
        hub: Hub,
        asker: Asker,
        speaker: Speaker,
        reporter: Reporter,
        rights: Rights = ALL,
    ) -> None:
        self._hub = hub
        self._asker = asker
        self._speaker = speaker
        self._reporter = reporter
        self._rights = rights
        self._nursery: trio.Nursery | None = None
        self.size = 0
        """Bytes of the frame that is just being taken in."""
        self._asked = 0
        self._size = 0
        self._answered: trio.Event | None = None
        self._turn: trio.Event | None = None

    def start(self, nursery: trio.Nursery) -> None:
        """Ask in `nursery` from now on. Before that, nothing is asked."""
        self._nursery = nursery

    def stop(self) -> None:
        """Ask nothing more: the link is over."""
        self._nursery = None

    @property
    def full(self) -> bool:
        """Whether those who can should wait."""
        return self._asked >= MAX_ASKED or self._size >= MAX_ASKED_SIZE

    @property
    def idle(self) -> bool:
        """Whether everything is answered."""
        return not self._asked

    async def wait_answer(self) -> None:
        """Wait until one more question is answered."""
        if self._answered is None:
            self._answered = trio.Event()
        await self._answered.wait()

    # --- what is asked

    def submit(self, step: api.Submit) -> None:
        """Put a command to the hub. What may take long waits for nobody, and nobody for it: what
        only asks workers, and what waits for the end of an earlier asking."""
        beside = step.again or isinstance(step.command, ProbeWorkers | ReadUsage)
        self._ask(partial(self._submit, step), in_turn=not beside)

    def annotate(self, step: api.Annotate) -> trio.Event:
        """Keep a value with a run. Answers what is set once it is durable."""
        durable = trio.Event()
        self._ask(partial(self._annotate, step, durable))
        return durable

    def acknowledge(self, step: api.Ack) -> None:
        """Note what the controller has."""
        self._ask(partial(self._acknowledge, step))

    def announce(self, step: api.AnnounceWorker) -> None:
        """Have the worker behind the link admitted."""
        self._ask(partial(self._announce, step))

    def _ask(self, question: Question, *, in_turn: bool = True) -> None:
        if self._nursery is None:
            return
        self._asked += 1
        self._size += self.size
        before, mine = None, trio.Event()
        if in_turn:
            before, self._turn = self._turn, mine
        self._nursery.start_soon(self._pose, question, before, mine, self.size)

    async def _pose(
        self, question: Question, before: trio.Event | None, mine: trio.Event, size: int
    ) -> None:
        try:
            if before is not None:
                await before.wait()
            await question()
        except Exception as error:
            self._asker.fault(error)
        finally:
            mine.set()
            if self._turn is mine:
                self._turn = None
            self._asked -= 1
            self._size -= size
            if self._answered is not None:
                self._answered.set()
                self._answered = None

    async def _submit(self, step: api.Submit) -> None:
        answer: Answer
        try:
            answer = await self._put(step)
        except Refusal as refusal:
            answer = refusal
        self._asker.answered(step.reply_to, answer)

    async def _put(self, step: api.Submit) -> Answer:
        await self._rights.check(self._hub, step.command)
        command = self._rights.signed(step.command)
        return await self._hub.submit(command, step.key, again=step.again)

    async def ask_last(self, steps: api.Steps) -> None:
        """Put the commands among the last steps of a link that is over. Nobody hears an answer.
        It takes `LAST_WITHIN` at most, and cannot be cancelled before that."""
        with trio.CancelScope(shield=True), trio.move_on_after(LAST_WITHIN):
            for step in steps:
                if isinstance(step, api.Submit):
                    await self._ask_last(step)

    async def _ask_last(self, step: api.Submit) -> None:
        try:
            await self._put(step)
        except Refusal as refusal:
            self._reporter.report("refused_at_the_end", refusal.code, None)

    async def _annotate(self, step: api.Annotate, durable: trio.Event) -> None:
        try:
            await self._rights.check_run(self._hub, step.run)
            await self._hub.annotate(step.run, step.name, step.value)
        except Refusal as refusal:
            # The barrier stays shut: what stands behind it must never leave.
            self._asker.broken(refusal.message)
        else:
            durable.set()

    async def _acknowledge(self, step: api.Ack) -> None:
        try:
            await self._rights.check_change(self._hub, step.run)
            await self._hub.acknowledge(step.run, step.through)
        except Refusal as refusal:
            self._reporter.report("not_acknowledged", refusal.message, step.run)

    async def _announce(self, step: api.AnnounceWorker) -> None:
        answer: Answer
        try:
            answer = await self._hub.admit(step.worker, self._asker)
        except Refusal as refusal:
            answer = refusal
        if isinstance(answer, Admission):
            self._speaker.admitted(step.worker.id, answer.epoch)
        self._asker.answered(step.reply_to, answer)
