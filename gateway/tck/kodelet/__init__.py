"""The kits of kodelet: a runner is waited for, a control plane is dialled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fleetgate.gateway.tck.kodelet import runner_runs, runner_session, runner_work
from fleetgate.gateway.tck.kodelet.envelope import envelope_of
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
    ),
)

KITS: Final[Mapping[str, Kit]] = {"runner": _RUNNER}
