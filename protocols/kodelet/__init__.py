"""The kodelet runner protocol, version 1, as v0.5.30-beta speaks it: JSON-RPC over WebSocket text.

control plane
    Owns conversations and models, and asks. Southbound we are one.
runner
    Owns a workspace and its tools. It dials; northbound we are one.
run
    What a control plane opens at a runner. Here a run of the core is a run with one call in it;
    as a runner we make of each call a run of the core.
manifest
    What a run can use: tools, commands, context files, bound by a digest.
generation
    One registration of one runner: the worker's epoch.
"""

from __future__ import annotations

from typing import Final

from fleetgate.protocols.api import Adapter, Connection, Side
from fleetgate.protocols.carriage import met_by_dialling, met_by_listening
from fleetgate.protocols.kodelet import explain
from fleetgate.protocols.kodelet.settings import (
    ControlPlaneSettings,
    RunnerSettings,
    control_plane_carriage,
    runner_carriage,
)
from fleetgate.protocols.kodelet.translate import INPUTS

# Each side is imported where one is opened: a fake, and most gateways, play only one.


def _runner(settings: RunnerSettings) -> Connection:
    from fleetgate.protocols.kodelet.northbound import RunnerConnection

    return RunnerConnection(settings)


def _control_plane(settings: ControlPlaneSettings) -> Connection:
    from fleetgate.protocols.kodelet.southbound import ControlPlaneConnection

    return ControlPlaneConnection(settings)


ADAPTER: Final = Adapter(
    "kodelet",
    northbound=Side(
        RunnerSettings,
        _runner,
        runner_carriage,
        misplaced=met_by_dialling("a control plane listens"),
    ),
    southbound=Side(
        ControlPlaneSettings,
        _control_plane,
        control_plane_carriage,
        inputs=INPUTS,
        misplaced=met_by_listening("runners dial their control plane"),
    ),
    showing=explain.SHOWING,
)
