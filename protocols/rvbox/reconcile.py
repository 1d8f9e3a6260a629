"""The comparison of what a server believes with what its client retains. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from fleetgate.core.values import value
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle

ENDED = frozenset(
    {
        Lifecycle.EXITED,
        Lifecycle.FAILED_TO_START,
        Lifecycle.TIMED_OUT,
        Lifecycle.CANCELED,
        Lifecycle.EXPIRED,
        Lifecycle.LOST,
    }
)


@value
class Belief:
    """A target of the request. `asked` is the event it was named with; `ended`: its exit is
    with us, if not yet acknowledged."""

    uuid: str
    digest: bytes
    asked: int
    accepted: bool
    expires: int | None
    canceling: bool
    ended: bool


@value
class Ended:
    """A command that ended here: its last event, and which request it was."""

    last: int
    digest: bytes


@value
class Comparison:
    """What follows from it, by uuid. The first six are about our targets, `lost` with the
    reason; the others about what only the client names. `unclear` have ended there, and
    whether they ended here is not known on this link."""

    kept: tuple[w.ReconcileCommandState, ...]
    lost: tuple[tuple[str, str], ...]
    expired: tuple[str, ...]
    canceled: tuple[str, ...]
    again: tuple[str, ...]
    terminate: tuple[str, ...]
    discard: tuple[str, ...]
    unclear: tuple[w.ReconcileCommandState, ...]


class Repeated(Exception):
    """The snapshot names a command twice."""


def compare(
    beliefs: Iterable[Belief],
    snapshot: w.ReconcileSnapshot,
    ended: Mapping[str, Ended],
    now: int,
) -> Comparison:
    """Compare. `ended` holds the commands that ended on this link.

    Raises: `Repeated`.
    """
    states: dict[str, w.ReconcileCommandState] = {}
    for state in snapshot.retained_commands:
        if state.issue_uuid in states:
            raise Repeated("the snapshot names a command twice")
        states[state.issue_uuid] = state
    verdict = _Verdict()
    for belief in beliefs:
        verdict.judge(belief, states.pop(belief.uuid, None), now)
    for state in states.values():
        verdict.judge_stranger(state, ended.get(state.issue_uuid))
    return verdict.comparison()


def is_whole(state: w.ReconcileCommandState, known: Ended) -> bool:
    """Whether every event of a command that ended at the client is here: of the same request, for
    another one's under the same uuid are not."""
    same = state.immutable_request_sha256 == known.digest
    return same and state.last_client_event_seq <= known.last


class _Verdict:
    def __init__(self) -> None:
        self.kept: list[w.ReconcileCommandState] = []
        self.lost: list[tuple[str, str]] = []
        self.expired: list[str] = []
        self.canceled: list[str] = []
        self.again: list[str] = []
        self.terminate: list[str] = []
        self.discard: list[str] = []
        self.unclear: list[w.ReconcileCommandState] = []

    def judge(self, belief: Belief, state: w.ReconcileCommandState | None, now: int) -> None:
        """One target, and what the client says of it."""
        same = state is not None and state.immutable_request_sha256 == belief.digest
        if state is None or (state.tombstoned and not same):
            self._missing(belief, now)
        elif state.tombstoned:
            self._gone(belief, "its host finished it, and the events are gone")
        elif not same:
            self.terminate.append(belief.uuid)
            self._missing(belief, now)
        elif belief.asked > state.last_client_event_seq:
            self.terminate.append(belief.uuid)
            self._gone(belief, "its host knows fewer of its events than were recorded here")
        else:
            self.kept.append(state)

    def _missing(self, belief: Belief, now: int) -> None:
        if belief.accepted or belief.ended:
            self._gone(belief, "its host does not know it any more")
        elif belief.canceling:
            self.canceled.append(belief.uuid)
        elif belief.expires is not None and belief.expires <= now:
            self.expired.append(belief.uuid)
        else:
            self.again.append(belief.uuid)

    def _gone(self, belief: Belief, why: str) -> None:
        if not belief.ended:
            self.lost.append((belief.uuid, why))

    def judge_stranger(self, state: w.ReconcileCommandState, known: Ended | None) -> None:
        """A command that is no target. A tombstone needs nothing."""
        if state.tombstoned:
            return
        if state.lifecycle not in ENDED:
            self.terminate.append(state.issue_uuid)
        elif known is None:
            self.unclear.append(state)
        elif is_whole(state, known):
            self.discard.append(state.issue_uuid)
        else:
            self.terminate.append(state.issue_uuid)

    def comparison(self) -> Comparison:
        """All of it."""
        return Comparison(
            tuple(self.kept),
            tuple(self.lost),
            tuple(self.expired),
            tuple(self.canceled),
            tuple(self.again),
            tuple(self.terminate),
            tuple(self.discard),
            tuple(self.unclear),
        )


@attrs.define(slots=True, eq=False)
class Round:
    """One comparison on its way into the journal. It is complete once nothing is `pending`:
    runs with events that are not durable, and questions that are not answered."""

    comparison: Comparison
    terminate: list[str]
    discard: list[str]
    pending: set[object]

    @classmethod
    def of(cls, comparison: Comparison) -> Round:
        """A round that waits for nothing yet."""
        return cls(comparison, list(comparison.terminate), list(comparison.discard), set())

    def settle(self, what: object) -> bool:
        """Something is no longer pending. True: that was the last."""
        if what not in self.pending:
            return False
        self.pending.discard(what)
        return not self.pending
