"""Hearing from workers: their events, each once, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import attrs

from fleetgate.core import events as e
from fleetgate.core.errors import Refusal
from fleetgate.core.events import Event, Reason, RunState, Source, Stamp
from fleetgate.core.ids import Epoch, OrderNumber, RunId, WorkerId
from fleetgate.core.journal.api import MarkOrder, PutNote, Write
from fleetgate.core.ledger import Ledger
from fleetgate.core.leftovers import Leftovers
from fleetgate.core.recording import Part, Recording
from fleetgate.core.roster import Roster, Worker
from fleetgate.core.run import ACTIVITY
from fleetgate.core.sessions import note_of
from fleetgate.core.slots import Slot

Heard: TypeAlias = tuple[Sequence[Event], int | None, Stamp | None]
"""What a worker reported at once, its own number of it, and what it says beside it."""

Report: TypeAlias = tuple[RunId, Sequence[Heard]]
"""What it reported of a run."""

_PLAIN: Final = ACTIVITY - {e.SessionOpened}
"""Events of which nothing follows but that the run is at work: nearly all of a busy worker's."""


class Receiver:
    """Takes what workers report."""

    def __init__(self, ledger: Ledger, roster: Roster, leftovers: Leftovers) -> None:
        self._ledger = ledger
        self._roster = roster
        self._leftovers = leftovers

    def record(self, id: WorkerId, epoch: Epoch, reports: Sequence[Report]) -> Sequence[RunId]:
        """Take a worker's events of its runs, each once (I4), in one commit. Answers the runs that
        are none of this worker's, and were not until the hub ended them.

        Raises: `Fenced`.
        """
        worker = self._roster.current(id, epoch)
        if worker.leftovers:
            # First of all: the worker's link is told of what is durable, and may have more to say.
            reports = [each for each in reports if not self._leftovers.heard(worker, *each)]
            worker = self._roster.current(id, epoch)
        foreign: list[RunId] = []
        recording = self._ledger.recording()
        for run, heard in reports:
            slot = worker.runs.get(run)
            if slot is None:
                foreign.append(run)
            else:
                self._take(recording, slot, worker, heard)
        recording.enqueue()
        return foreign

    def _take(
        self, recording: Recording, slot: Slot, worker: Worker, heard: Sequence[Heard]
    ) -> None:
        last = slot.native_seq
        parts: list[Part] = []
        also: list[Write] = []
        plain = True
        for events, native_seq, stamp in heard:
            if native_seq is not None:
                if native_seq <= last:
                    self._ledger.touch(slot)
                    continue
                last = native_seq
            if not _PLAIN.issuperset(map(type, events)):
                plain = False
                events = [_on_time(slot, event) for event in events]
                for event in events:
                    also += self._consequences(slot, worker, event)
            parts.append((events, _source(worker.epoch, native_seq, stamp)))
        recording.add(slot, parts, also=also, plain=plain)

    def _consequences(self, slot: Slot, worker: Worker, event: Event) -> list[Write]:
        match event:
            case e.InputAccepted(through=through):
                confirmed = [n for n, o in slot.orders.items() if 0 < o.order.input <= through]
                return [self._settled(slot, number) for number in confirmed]
            case e.SessionOpened(native_session=native) if not slot.session_over:
                return self._open_session(slot, worker, native)
            case _:
                return []

    def _open_session(self, slot: Slot, worker: Worker, native: str) -> list[Write]:
        sessions = self._roster.sessions
        session = sessions.open(slot.run, native, worker.info.id)
        if session is None:
            return []
        writes: list[Write] = [PutNote("session", session.id, note_of(session))]
        oldest = sessions.forget_oldest()
        if oldest is not None:
            writes.append(PutNote("session", oldest, None))
        return writes

    def settle(
        self, id: WorkerId, epoch: Epoch, run: RunId, number: OrderNumber, error: Refusal | None
    ) -> None:
        """The worker confirmed or refused an order. A refusal becomes an event.

        Raises: `Fenced`.
        """
        slot = self._roster.current(id, epoch).runs.get(run)
        if slot is None or number not in slot.orders:
            return
        self._ledger.write((self._settled(slot, number),))
        if error is not None:
            self._ledger.record(slot, (e.Diagnosed(error.message, error.code),))

    def _settled(self, slot: Slot, number: OrderNumber) -> MarkOrder:
        slot.orders.pop(number, None)
        return MarkOrder(slot.run.id, number, settled=True)


def _source(epoch: Epoch, seq: int | None, stamp: Stamp | None) -> Source:
    return Source(epoch, seq) if stamp is None else Source(epoch, seq, stamp.time, stamp.native)


def _on_time(slot: Slot, event: Event) -> Event:
    """A run that was cancelled because its time was over has timed out, whatever its worker
    calls it."""
    if not slot.timed_out or not isinstance(event, e.RunFinished):
        return event
    outcome = event.outcome
    if outcome.reason is not Reason.CANCELED:
        return event
    over = attrs.evolve(
        outcome, state=RunState.FAILED, reason=Reason.TIMED_OUT, message="its timeout passed"
    )
    return e.RunFinished(over)
