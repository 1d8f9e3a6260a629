"""A server compares what it believes with what its client retains: steps 5 to 8 of a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fleetgate.core.answers import Accepted, Answer
from fleetgate.core.commands import DescribeRun, Order
from fleetgate.core.errors import RunNotFound
from fleetgate.core.events import Event, Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId
from fleetgate.core.run import Run
from fleetgate.core.times import nanos
from fleetgate.protocols.api import NO_STEPS, Record, Report, Step, Steps, Submit, WorkerReady
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.assigned import Command, Standing, stored_digest
from fleetgate.protocols.rvbox.desk import Desk, Due
from fleetgate.protocols.rvbox.exits import Exits
from fleetgate.protocols.rvbox.giving import CANCELED, EXPIRED, Giving
from fleetgate.protocols.rvbox.hearing import ACCEPTED
from fleetgate.protocols.rvbox.reconcile import (
    ENDED,
    Belief,
    Comparison,
    Ended,
    Repeated,
    Round,
    compare,
    is_whole,
)
from fleetgate.protocols.rvbox.translate import runs_of
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle

Asked: TypeAlias = tuple[w.ReconcileCommandState, tuple[RunId, ...]]
"""A question for an ended command: what the client says of it, and the runs to ask for next."""


class Comparing:
    """The part of a server's connection that reconciles. `release` gives out what waited for a
    round to be over."""

    def __init__(
        self, desk: Desk, giving: Giving, exits: Exits, release: Callable[[int], Steps]
    ) -> None:
        self._desk = desk
        self._giving = giving
        self._exits = exits
        self._release = release
        self._round: Round | None = None
        self._asked: dict[str, int] = {}
        """What the last request named, each with the event it was named with."""
        self._ready = False
        self._held: list[Order] = []

    def hold(self, orders: tuple[Order, ...]) -> None:
        """Orders that the admission told of; they go out behind the first result."""
        self._held += orders

    def request(self, now: int) -> Steps:
        """Say what we believe open at this client."""
        desk = self._desk
        desk.wants_reconcile = False
        desk.deadlines.clear(Due.ANSWER)
        desk.deadlines.set(Due.SNAPSHOT, now + nanos(desk.settings.snapshot_timeout))
        believed = [c for c in desk.books.by_uuid.values() if c.standing is not Standing.FULL]
        self._asked = {command.uuid: command.committed for command in believed}
        targets = tuple(map(_target, believed))
        return (desk.session.send(w.ReconcileRequest(targets)),)

    def snapshot(self, snapshot: w.ReconcileSnapshot, now: int) -> Steps:
        """Compare, and have the outcome journaled before anything is done about it."""
        desk = self._desk
        desk.deadlines.clear(Due.SNAPSHOT)
        by_uuid = desk.books.by_uuid
        beliefs = [
            _belief(by_uuid[uuid], asked) for uuid, asked in self._asked.items() if uuid in by_uuid
        ]
        try:
            comparison = compare(beliefs, snapshot, desk.books.ended, now)
        except Repeated as error:
            raise desk.session.violation(str(error)) from None
        self._round = current = Round.of(comparison)
        records = self._records(comparison)
        current.pending.update(record.run for record in records)
        asked = self._look_up(current)
        if current.pending:
            return (*records, *asked)
        return (*records, *self._conclude(current, now))

    def committed(self, run: RunId, now: int) -> Steps:
        """What was recorded of `run` is durable: perhaps that was what the round waited for."""
        current = self._round
        if current is None or not current.settle(run):
            return NO_STEPS
        return self._conclude(current, now)

    def _records(self, comparison: Comparison) -> list[Record]:
        by_uuid = self._desk.books.by_uuid
        records: list[Record] = []
        for state in comparison.kept:
            command = by_uuid[state.issue_uuid]
            command.revision = max(command.revision, state.command_revision)
            if command.standing is not Standing.TAKEN:
                self._desk.books.taken(command)
                if self._ready:
                    self._desk.capacity.taken()
                records.append(Record(command.run, (ACCEPTED,)))
        for uuid, why in comparison.lost:
            records.append(self._desk.end(by_uuid[uuid], _lost(why)))
        for uuid in comparison.expired:
            records.append(self._desk.end(by_uuid[uuid], EXPIRED))
        for uuid in comparison.canceled:
            records.append(self._desk.end(by_uuid[uuid], CANCELED))
        return records

    def _look_up(self, current: Round) -> Steps:
        """Ask the core for ended commands that only the client names. A run whose uuid is derived
        cannot be found by it; terminating what has ended does the same to it as discarding."""
        steps: list[Step] = []
        for nth, state in enumerate(current.comparison.unclear):
            if nth >= self._desk.settings.lookups:
                current.terminate.append(state.issue_uuid)
                continue
            steps.append(_ask_for(current, state, runs_of(state.issue_uuid)))
        return steps

    def looked_up(self, asked: Asked, answer: Answer, now: int) -> Steps:
        """What the core knows of an ended command that only the client names."""
        current = self._round
        if current is None:
            return NO_STEPS
        state, others = asked
        if isinstance(answer, RunNotFound) and others and asked in current.pending:
            following = _ask_for(current, state, others)
            current.settle(asked)
            return (following,)
        ended = _ended(answer.run) if isinstance(answer, Accepted) else None
        whole = ended is not None and is_whole(state, ended)
        (current.discard if whole else current.terminate).append(state.issue_uuid)
        return self._conclude(current, now) if current.settle(asked) else NO_STEPS

    def _conclude(self, current: Round, now: int) -> Steps:
        """The comparison is journaled: tell the client, and give out work again."""
        desk = self._desk
        self._round = None
        desk.wants_reconcile = False
        result = w.ReconcileResult(tuple(current.terminate), tuple(current.discard))
        steps: list[Step] = [desk.session.send(result)]
        first, self._ready = not self._ready, True
        if first:
            desk.capacity.taken(len(current.comparison.kept))
        for state in current.comparison.kept:
            steps += self._resume(state, now)
        for uuid in current.comparison.again:
            steps += self._giving.dispatch(desk.books.by_uuid[uuid], now)
        self._giving.watch_answers()
        held, self._held = self._held, []
        for order in held:
            steps += self._giving.order(order, now)
        steps += self._giving.retry_full(now, desk.capacity.open_for(desk.books))
        steps += self._release(now)
        free = desk.capacity.free(desk.books)
        steps.append(WorkerReady(free) if first else desk.report_capacity())
        return (*steps, _summary(current))

    def _resume(self, state: w.ReconcileCommandState, now: int) -> Steps:
        """Go on with a command that both sides know. An upload that is done, or under way on
        this link, is not begun again."""
        command = self._desk.books.by_uuid.get(state.issue_uuid)
        if command is None:
            return NO_STEPS
        if state.lifecycle == Lifecycle.AWAITING_SCRIPT:
            self._giving.upload(command, now)
        if state.lifecycle in ENDED:
            self._exits.expect(command, now)
        command.stdin.rewind()
        return self._giving.feed(command)


def _ask_for(current: Round, state: w.ReconcileCommandState, runs: tuple[RunId, ...]) -> Submit:
    """Ask for the first of the runs that a uuid may be of; the others come if it is none."""
    asked: Asked = (state, runs[1:])
    current.pending.add(asked)
    return Submit(DescribeRun(runs[0]), asked)


def _ended(run: Run | None) -> Ended | None:
    """What the journal has of a command that has ended; None also where none was ever sent."""
    digest = None if run is None or not run.state.terminal else stored_digest(run)
    return None if run is None or digest is None else Ended(run.native_seq, digest)


def _target(command: Command) -> w.ReconcileTarget:
    return w.ReconcileTarget(
        command.uuid,
        command.committed,
        command.revision,
        command.dispatch.immutable_request_sha256,
    )


def _belief(command: Command, asked: int) -> Belief:
    return Belief(
        uuid=command.uuid,
        digest=command.dispatch.immutable_request_sha256,
        asked=asked,
        accepted=command.standing is Standing.TAKEN,
        expires=command.dispatch.queue_expiry_time,
        canceling=command.canceling,
        ended=command.exit_seq > 0,
    )


def _lost(why: str) -> Event:
    return RunFinished(Outcome(RunState.LOST, Reason.LOST, why))


def _summary(current: Round) -> Report:
    seen = current.comparison
    counts = {
        "kept": len(seen.kept),
        "lost": len(seen.lost),
        "dispatched again": len(seen.again),
        "expired": len(seen.expired),
        "canceled": len(seen.canceled),
        "terminated": len(current.terminate),
        "discarded": len(current.discard),
    }
    told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return Report("rvbox_reconciled", told or "nothing was open")
