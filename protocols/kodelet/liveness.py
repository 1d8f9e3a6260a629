"""What a control plane makes of a runner's heartbeats (W 8)."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from fleetgate.protocols.kodelet.go_json import trim
from fleetgate.protocols.kodelet.state import HEARTBEAT_STATES, OPENING, RunPhase
from fleetgate.protocols.kodelet.wire import Heartbeat, ManifestChanged


@attrs.define(slots=True)
class Liveness:
    """A registered runner as its heartbeats tell of it. Times are Unix nanoseconds.

    `error`: the runner said so itself; `ready`: a valid heartbeat has come.
    """

    runner_id: str
    generation: int
    last: int
    digest: str = ""
    manifest_changed: bool = False
    ready: bool = False
    error: bool = False
    omitted: dict[str, int] = attrs.field(factory=dict[str, int])

    def hear(self, beat: Heartbeat, now: int) -> frozenset[str] | None:
        """Take a heartbeat. Answers the runs it names; None where it changes nothing but what
        is known of the runner's life and digest, or nothing at all."""
        if not self._is_mine(beat.runner_id, beat.generation):
            return None
        self.last = now
        self.digest = trim(beat.manifest_digest)
        runs = _runs(beat)
        if runs is None or beat.state not in HEARTBEAT_STATES:
            return None
        wanted = HEARTBEAT_STATES[beat.state]
        if wanted is not None and wanted != bool(runs):
            return None
        self.ready = True
        self.error = beat.state == "error"
        return runs

    def change(self, changed: ManifestChanged) -> None:
        """Take a `runner.manifestChanged`."""
        if self._is_mine(changed.runner_id, changed.generation):
            self.manifest_changed |= changed.manifest_digest != self.digest
            self.digest = changed.manifest_digest

    def opened(self, digest: str) -> None:
        """A run was opened with this manifest."""
        self.digest, self.manifest_changed = digest, False

    def missing(
        self, named: frozenset[str], held: Mapping[str, RunPhase], allowed: int
    ) -> list[str]:
        """The held runs that `allowed` valid heartbeats in a row have now left out."""
        counts: dict[str, int] = {}
        for run, phase in held.items():
            if run not in named and phase not in OPENING:
                counts[run] = self.omitted.get(run, 0) + 1
        self.omitted = counts
        return [run for run, count in counts.items() if count >= allowed]

    def _is_mine(self, runner_id: str, generation: int) -> bool:
        return (
            bool(trim(runner_id))
            and generation > 0
            and (runner_id, generation) == (self.runner_id, self.generation)
        )


def _runs(beat: Heartbeat) -> frozenset[str] | None:
    """The run set of a heartbeat, or None where it contradicts itself."""
    listed = beat.active_run_ids or ()
    if not listed:
        return frozenset({beat.active_run_id} - {""})
    if any(not trim(run) for run in listed) or len(set(listed)) != len(listed):
        return None
    if beat.active_run_id and beat.active_run_id not in listed:
        return None
    return frozenset(listed)
