"""The runs of one link to a daemon: attaching to them, each where its journal ends, and
letting them go. `southbound` starts them, steers them and takes their events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Final

from fleetgate.core.events import GapFound, RunFinished, RunState, StateChanged
from fleetgate.core.ids import RunId
from fleetgate.protocols.agency import endings, wire
from fleetgate.protocols.agency.acks import Acks
from fleetgate.protocols.agency.encode import text_head
from fleetgate.protocols.agency.requests import Requests
from fleetgate.protocols.agency.settings import AgencySouthboundSettings
from fleetgate.protocols.agency.suspects import Standing, Suspects, tried
from fleetgate.protocols.agency.tracking import LAST_SEQUENCE, Tracked
from fleetgate.protocols.agency.translate_events import ended_as
from fleetgate.protocols.api import NO_STEPS, Record, Send, Step, Steps

MAX_ENDING: Final = 1024
"""Runs whose end the core has not confirmed to be durable. Beyond it the oldest is not
acknowledged any more; it only costs the daemon memory."""


class Runs:
    """The runs of one link, by id, and what each waits for."""

    def __init__(self, settings: AgencySouthboundSettings, requests: Requests, acks: Acks) -> None:
        self._requests = requests
        self._acks = acks
        self._suspects = Suspects(settings)
        self._tracked: dict[str, Tracked] = {}
        self._heads: dict[bytes, str] = {}
        self._ending: dict[RunId, None] = {}

    def get(self, run: str) -> Tracked | None:
        """A run of this link; None for the daemon's others."""
        return self._tracked.get(run)

    @property
    def heads(self) -> Mapping[bytes, str]:
        """The runs of this link, by how each text of them begins."""
        return self._heads

    def has(self, tracked: Tracked) -> bool:
        """Whether it is still this link's: not forgotten, nor replaced by a later start."""
        return self._tracked.get(tracked.run) is tracked

    def all(self) -> Collection[Tracked]:
        """All runs of this link."""
        return self._tracked.values()

    def forget(self, tracked: Tracked) -> None:
        """Nothing more is wanted of the run."""
        self._acks.forget(tracked.run)
        self._suspects.forget(tracked.run)
        self._ending.pop(tracked.run, None)
        self._tracked.pop(tracked.run, None)
        self._heads.pop(text_head(tracked.run), None)

    def _track(self, tracked: Tracked) -> None:
        self._tracked[tracked.run] = tracked
        self._heads[text_head(tracked.run)] = tracked.run

    @property
    def calm(self) -> bool:
        """Whether no run is looked at with suspicion."""
        return self._suspects.calm

    def reached(self, tracked: Tracked) -> None:
        """An event of the run was taken."""
        self._suspects.reached(tracked.run, tracked.last)

    def ended(self, tracked: Tracked) -> None:
        """Its last event was taken."""
        tracked.ended = True
        self._ending[tracked.run] = None
        if len(self._ending) > MAX_ENDING:
            self.forget(self._tracked[next(iter(self._ending))])

    # --- attaching

    def follow(self, tracked: Tracked, now: int) -> Send:
        """Attach to a run that was just asked for."""
        self._track(tracked)
        return self._attach(tracked, now)

    def take_up(self, tracked: Tracked, snapshot: wire.RunSnapshot, now: int) -> Steps:
        """Attach to a run that the daemon has, as far as its earlier attachments allow."""
        self._track(tracked)
        owed = tracked.owed(snapshot)
        match self._suspects.judge(tracked, owed):
            case Standing.TRUSTED:
                self._suspects.replay(tracked.run, owed)
                attach = self._attach(tracked, now)
                return (tried(tracked), attach) if owed else (attach,)
            case Standing.SUSPECT:
                self._suspects.hold(tracked, owed, now)
                return NO_STEPS
            case Standing.GIVEN_UP:
                return self._give_up(tracked, snapshot, owed, now)

    def _attach(self, tracked: Tracked, now: int) -> Send:
        message = wire.AttachRun(tracked.run, tracked.last)
        return self._requests.ask(message, partial(self._attached, tracked), now)

    def _attached(self, tracked: Tracked, response: wire.ServerResponse, now: int) -> Steps:
        if not self.has(tracked):
            return NO_STEPS
        if isinstance(response, wire.Error):
            return self._not_attached(tracked, response, now)
        assert isinstance(response, wire.RunAnswer)
        if not tracked.unsure:
            return self._compare(tracked, response.run, now)
        if not tracked.is_ours(response.run):
            return (*self._not_ours(tracked), self.detach(tracked.run, now))
        tracked.unsure = False
        return (accepted(tracked.run), *self._compare(tracked, response.run, now))

    def _compare(self, tracked: Tracked, snapshot: wire.RunSnapshot, now: int) -> Steps:
        """An attachment stands. Usually events follow; say so where none ever will."""
        latest = min(snapshot.latest_sequence, LAST_SEQUENCE)
        if latest < tracked.last:
            lost = self._lost(tracked, "the daemon counts fewer events of the run than it sent")
            return (*lost, self.detach(tracked.run, now))
        owed = tracked.owed(snapshot)
        self._suspects.replay(tracked.run, owed)
        outcome = ended_as(snapshot.state)
        if outcome is None or owed:
            return NO_STEPS
        self.forget(tracked)
        end = RunFinished(outcome)
        if latest == tracked.last:
            return (Record(tracked.run, (end,)), self.detach(tracked.run, now))
        gap = GapFound(tracked.last + 1, latest, "another client acknowledged them")
        return (Record(tracked.run, (gap, end), latest), self.detach(tracked.run, now))

    def _not_attached(self, tracked: Tracked, error: wire.Error, now: int) -> Steps:
        if error.code is wire.ErrorCode.NOT_FOUND:
            return self.gone(tracked)
        floor = endings.retained_from(error)
        if floor is None:
            return self._lost(tracked, f"the daemon does not let us attach: {error.message}")
        if tracked.last < floor <= LAST_SEQUENCE:
            return self._skip(tracked, floor, now)
        return (self._requests.ask(wire.ListRuns(), partial(self._find_latest, tracked), now),)

    def _find_latest(self, tracked: Tracked, response: wire.ServerResponse, now: int) -> Steps:
        """The daemon does not say what it still has: go on behind all that it had."""
        if not self.has(tracked):
            return NO_STEPS
        snapshot = _listed(response).get(tracked.run)
        if snapshot is None:
            return self.gone(tracked)
        if not tracked.last < snapshot.latest_sequence <= LAST_SEQUENCE:
            return self._lost(tracked, "the daemon does not offer the events that are missing")
        return self._skip(tracked, snapshot.latest_sequence, now)

    def _skip(self, tracked: Tracked, floor: int, now: int) -> Steps:
        gap = GapFound(tracked.last + 1, floor, "the daemon does not retain them any more")
        tracked.skip_to(floor)
        return (Record(tracked.run, (gap,), floor), self._attach(tracked, now))

    # --- runs that links end at

    @property
    def look_at(self) -> int | None:
        """When `look_again` wants to be called."""
        return self._suspects.next_at

    def next_suspect(self, now: int) -> Steps:
        """The attachment of a suspect, if it is the turn of one."""
        suspect = self._suspects.turn()
        return NO_STEPS if suspect is None else (tried(suspect), self._attach(suspect, now))

    def look_again(self, now: int) -> Steps:
        """Ask what has become of the runs that were given up, if it is time to."""
        if not self._suspects.due(now) or not self._suspects.given_up():
            return NO_STEPS
        return (self._requests.ask(wire.ListRuns(), self._looked, now),)

    def _looked(self, response: wire.ServerResponse, now: int) -> Steps:
        if isinstance(response, wire.Error):
            return NO_STEPS
        listed = _listed(response)
        steps: list[Step] = []
        for tracked in self._suspects.given_up():
            self._suspects.forget(tracked.run)
            snapshot = listed.get(tracked.run)
            steps += self.take_up(tracked, snapshot, now) if snapshot else self.gone(tracked)
        return steps

    def _give_up(self, tracked: Tracked, snapshot: wire.RunSnapshot, owed: int, now: int) -> Steps:
        if tracked.unsure and not tracked.is_ours(snapshot):
            return self._not_ours(tracked)
        outcome = ended_as(snapshot.state)
        if outcome is None:
            self._suspects.give_up(tracked, now)
            return NO_STEPS
        self.forget(tracked)
        return (endings.unread(tracked, outcome, owed),)

    # --- letting go

    def gone(self, tracked: Tracked) -> Steps:
        """The daemon does not know the run."""
        if tracked.refusal is None:
            return self._lost(tracked, endings.UNKNOWN_RUN)
        self.forget(tracked)
        return (endings.refused(tracked.run, tracked.refusal.message),)

    def _not_ours(self, tracked: Tracked) -> Steps:
        self.forget(tracked)
        return (endings.refused(tracked.run, "the daemon has another run of this id"),)

    def _lost(self, tracked: Tracked, why: str) -> Steps:
        self.forget(tracked)
        return NO_STEPS if tracked.ended else (endings.lost(tracked.run, why),)

    def detach(self, run: RunId, now: int) -> Send:
        """Hear no more of the run; the daemon's answer says nothing."""
        return self._requests.ask(wire.DetachRun(run), lambda response, now: NO_STEPS, now)


def accepted(run: RunId) -> Record:
    """The daemon has the run. It says so by no event, and the run must not be started twice."""
    return Record(run, (StateChanged(RunState.STARTING, "accepted"),))


def _listed(response: wire.ServerResponse) -> dict[str, wire.RunSnapshot]:
    runs: Iterable[wire.RunSnapshot] = response.runs if isinstance(response, wire.Runs) else ()
    return {snapshot.run_id: snapshot for snapshot in runs}
