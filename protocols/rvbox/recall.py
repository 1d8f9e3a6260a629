"""A client's part of a reconcile: what it retains, and what it does about the result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from fleetgate.core.answers import Accepted, Answer, RunList
from fleetgate.core.commands import CancelRun, Command, DescribeRun, ListRuns, Signal, SignalRun
from fleetgate.core.errors import RunNotFound
from fleetgate.core.ids import Seq
from fleetgate.core.run import Run
from fleetgate.core.times import nanos
from fleetgate.protocols.api import (
    NO_STEPS,
    Ack,
    Annotate,
    Established,
    Follow,
    Step,
    Steps,
    Submit,
    Unfollow,
)
from fleetgate.protocols.rvbox import codec, limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.daemon import Asked, Daemon
from fleetgate.protocols.rvbox.retained import (
    FORGOTTEN,
    Retained,
    digest_of,
    is_tombstone,
    make_retained,
    state_of,
)
from fleetgate.protocols.rvbox.session import TRY_LATER, closing
from fleetgate.protocols.rvbox.translate_events import Narrator

LIST: Final = "list"
TARGET: Final = "target"
NOBODY: Final = "nobody waits for this"

_DAY: Final = 24 * 3600


class Recall:
    """The part of a client's connection that reconciles."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._targets: dict[str, w.ReconcileTarget] = {}
        self._retained: list[w.ReconcileCommandState] = []
        self._tombstones: list[w.ReconcileCommandState] = []
        self._lasts: dict[str, int] = {}
        self._before: set[str] = set()
        """Commands known at the request: one that came since may be missing from the list, and
        is retained all the same."""
        self._pending = 0
        self._under_way = False

    def request(self, request: w.ReconcileRequest) -> Steps:
        """Ask the core what is retained. No event is sent from here on until the result."""
        daemon = self._daemon
        self._under_way = True
        self._before = {command.uuid for command in daemon.retention}
        self._targets = {target.issue_uuid: target for target in request.targets}
        self._retained, self._tombstones = [], []
        still = [Unfollow(command.run) for command in daemon.retention]
        every = ListRuns(daemon.opening.link, unacknowledged=True)
        return (*still, Submit(every, Asked("", LIST)))

    def listed(self, answer: Answer, now: int) -> Steps:
        """The retained runs are known; targets that are none of them may have a tombstone."""
        if not isinstance(answer, RunList):
            return (closing(TRY_LATER, "the journal cannot tell what is retained"),)
        steps: list[Step] = []
        for run in answer.runs:
            steps += self._retain(run)
        seen = {state.issue_uuid for state in self._retained}
        for uuid in self._before - seen:
            self._drop(uuid)
        self._pending = 0
        for uuid in self._targets:
            if uuid not in seen and limits.is_uuid(uuid):
                self._pending += 1
                look = DescribeRun(self._daemon.run_id(uuid))
                steps.append(Submit(look, Asked(uuid, TARGET)))
        return steps if self._pending else (*steps, *self._tell(now))

    def _retain(self, run: Run) -> Steps:
        retention = self._daemon.retention
        command = make_retained(run)
        if command is None:
            ended = run.state.terminal and bool(run.notes.get(FORGOTTEN))
            return (Ack(run.id, limits.FAR),) if ended else NO_STEPS
        if command.uuid in retention.buried:
            return NO_STEPS  # the listing is older than what ended it for this link
        known = retention.get(command.uuid)
        if known is not None:
            command = attrs.evolve(
                command,
                writes=known.writes,
                early=known.early,
                sent=known.sent,
                assembly=command.assembly and known.assembly,
            )
        retention.put(command)
        self._retained.append(state_of(run, command.digest, tombstoned=False))
        return NO_STEPS

    def _drop(self, uuid: str) -> None:
        command = self._daemon.retention.get(uuid)
        if command is not None:
            self._daemon.retention.drop(command)

    def looked_up(self, answer: Answer, now: int) -> Steps:
        """One target's run is known, or is not."""
        self._pending -= 1
        steps: Steps = NO_STEPS
        if isinstance(answer, Accepted) and answer.run is not None:
            steps = self._remember(answer.run, now)
        elif not isinstance(answer, RunNotFound):
            return (closing(TRY_LATER, "the journal cannot tell what is retained"),)
        return steps if self._pending else (*steps, *self._tell(now))

    def _remember(self, run: Run, now: int) -> Steps:
        settings = self._daemon.settings
        digest = digest_of(run)
        target = self._targets.get(run.origin.native_run)
        buried = run.origin.native_run in self._daemon.retention.buried
        if not is_tombstone(run) and not buried:
            return self._retain(run)
        since = now - nanos(settings.tombstone_days * _DAY)
        fresh = run.ended == 0 or run.ended > since
        same = target is not None and digest == target.immutable_request_sha256
        if same and fresh and digest is not None and len(self._tombstones) < settings.tombstones:
            self._tombstones.append(state_of(run, digest, tombstoned=True))
        return NO_STEPS

    def _tell(self, now: int) -> Steps:
        """Send the snapshot. Tombstones that do not fit the frame stay unsaid: a target that is
        missing ends as one that is tombstoned."""
        daemon = self._daemon
        self._lasts = {state.issue_uuid: state.last_client_event_seq for state in self._retained}
        states = (*self._retained, *self._tombstones)
        while not self._fits(states) and len(states) > len(self._retained):
            states = states[: max(len(self._retained), len(states) - 500)]
        if not self._fits(states):
            return (closing(TRY_LATER, "more is retained than a snapshot can tell of"),)
        daemon.deadlines.set("session", now + nanos(daemon.settings.session_timeout))
        return (daemon.session.send(w.ReconcileSnapshot(states)),)

    def _fits(self, states: tuple[w.ReconcileCommandState, ...]) -> bool:
        session = self._daemon.session
        payload = w.ReconcileSnapshot(states)
        frame = codec.encode(w.Envelope(session.id, session.generation, payload))
        return len(frame) <= limits.FRAME

    # --- the result

    def result(self, result: w.ReconcileResult) -> Steps:
        """End and forget what the server names, and go on with the rest. A repeated result has
        nothing left to name."""
        daemon = self._daemon
        daemon.deadlines.clear("session")
        steps: list[Step] = []
        for uuid in result.terminate_local_issue_uuids:
            steps += self._terminate(daemon.retention.get(uuid))
        for uuid in result.discard_local_terminal_issue_uuids:
            steps += self._discard(daemon.retention.get(uuid))
        if self._under_way:
            self._under_way = False
            steps.append(Established())
            steps += daemon.release()
            for command in daemon.retention:
                steps += self._follow(command)
        return steps

    def _terminate(self, command: Retained | None) -> Steps:
        """Kill it, and let nobody hear of it again."""
        if command is None:
            return NO_STEPS
        self._daemon.retention.bury(command)
        run = command.run
        ends: Iterable[Command] = (SignalRun(run, Signal.KILL), CancelRun(run, reason="given up"))
        return (
            Unfollow(run),
            Annotate(run, FORGOTTEN, True),
            *(Submit(end, Asked(command.uuid, NOBODY)) for end in ends if not command.last),
            Ack(run, limits.FAR),
        )

    def _discard(self, command: Retained | None) -> Steps:
        """The server has all of it."""
        if command is None or not command.last:
            return NO_STEPS
        self._daemon.retention.bury(command)
        return (Unfollow(command.run), Ack(command.run, command.last))

    def _follow(self, command: Retained) -> Steps:
        """Send what the server does not have. Where lines of ours are among the output, it is
        read from the start, so that their place is known."""
        target = self._targets.get(command.uuid)
        known = command.acked if target is None else target.last_server_event_seq
        after = Seq(min(known, self._lasts.get(command.uuid, 0)))
        command.sent = max(command.sent, after)
        command.told = after
        if command.lines:
            command.narrator = Narrator()
            return (Follow(command.run, Seq(0)),)
        command.narrator = Narrator(told_before=after == 0)
        return (Follow(command.run, after),)
