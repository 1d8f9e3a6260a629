"""The kits of kodelet: a runner is waited for, a control plane is dialled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fleetgate.gateway.tck.kodelet import (
    plane_manifest,
    plane_runs,
    plane_session,
    plane_upgrade,
    runner_events,
    runner_runs,
    runner_session,
    runner_work,
)
from fleetgate.gateway.tck.kodelet.envelope import envelope_of
from fleetgate.gateway.tck.kodelet.life import life_of
from fleetgate.gateway.tck.kodelet.plane import PlaneAttempt, PlaneGiven
from fleetgate.gateway.tck.kodelet.plane import carried as carried_to_planes
from fleetgate.gateway.tck.kodelet.runner import RunnerAttempt, RunnerGiven, carried
from fleetgate.gateway.tck.requirement import Kit

_RUNNER: Final = Kit(
    protocol="kodelet",
    side="runner",
    prefix="KODELET-R",
    listens=False,
    options=carried,
    given=RunnerGiven,
    attempt=RunnerAttempt,
    topics=(
        envelope_of("KODELET-R"),
        runner_session.TOPIC,
        runner_runs.TOPIC,
        runner_work.TOPIC,
        runner_events.TOPIC,
        life_of("KODELET-R"),
    ),
)

_PLANE: Final = Kit(
    protocol="kodelet",
    side="control-plane",
    prefix="KODELET-C",
    listens=True,
    options=carried_to_planes,
    given=PlaneGiven,
    attempt=PlaneAttempt,
    topics=(
        plane_upgrade.TOPIC,
        envelope_of("KODELET-C"),
        plane_session.TOPIC,
        plane_manifest.TOPIC,
        plane_runs.TOPIC,
        life_of("KODELET-C"),
    ),
    wants=("open", "tool", "abort", "cancel", "close"),
)

KITS: Final[Mapping[str, Kit]] = {"runner": _RUNNER, "control-plane": _PLANE}
