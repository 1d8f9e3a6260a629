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

from fleetgate.protocols.api import Adapter, Side
from fleetgate.protocols.carriage import met_by_dialling, met_by_listening
from fleetgate.protocols.kodelet import explain
from fleetgate.protocols.kodelet.northbound import RunnerConnection
from fleetgate.protocols.kodelet.settings import (
    ControlPlaneSettings,
    RunnerSettings,
    control_plane_carriage,
    runner_carriage,
)
from fleetgate.protocols.kodelet.southbound import ControlPlaneConnection
from fleetgate.protocols.kodelet.translate import INPUTS

ADAPTER: Final = Adapter(
    "kodelet",
    northbound=Side(
        RunnerSettings,
        RunnerConnection,
        runner_carriage,
        misplaced=met_by_dialling("a control plane listens"),
    ),
    southbound=Side(
        ControlPlaneSettings,
        ControlPlaneConnection,
        control_plane_carriage,
        inputs=INPUTS,
        misplaced=met_by_listening("runners dial their control plane"),
    ),
    showing=explain.SHOWING,
)
