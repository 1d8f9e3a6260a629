"""Settings: the genuine defaults, and what is refused."""

from typing import Any

import pytest

from fleetgate.protocols.carriage import Redial
from fleetgate.protocols.kodelet.settings import (
    ControlPlaneSettings,
    RunnerSettings,
    control_plane_carriage,
    runner_carriage,
)
from fleetgate.protocols.kodelet.tools import BASH, CommandSettings


@pytest.mark.parametrize(
    "carriage",
    [control_plane_carriage(ControlPlaneSettings()), runner_carriage(RunnerSettings())],
)
def test_the_carriage_is_the_genuine_one(carriage: Any) -> None:
    use = carriage.websocket
    assert (carriage.stream, carriage.limit) == (None, 4_194_304)
    assert (use.binary, use.path) == (False, "/api/runner/v1/connect")
    assert use.subprotocols == ("kodelet.runner.v1.jsonrpc",)
    assert use.unoffered_final, "W 2.4: another one is the end of the process"
    assert (use.ping_every, use.dead_after, use.alive_by_pong) == (30, 45, True)
    assert (use.any_text, use.drop_other, carriage.write_within) == (True, True, 10)


@pytest.mark.parametrize(("every", "pings"), [(44.0, 44.0), (45.0, 30.0), (90.0, 30.0)])
def test_w_3_pings_come_more_often_than_pongs_are_waited_for(every: float, pings: float) -> None:
    for carriage in (
        control_plane_carriage(ControlPlaneSettings(ping_every=every)),
        runner_carriage(RunnerSettings(ping_every=every)),
    ):
        assert carriage.websocket is not None
        assert carriage.websocket.ping_every == pings


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        (ControlPlaneSettings, {"heartbeat_timeout": 0}),
        (RunnerSettings, {"update_every": -1}),
        (RunnerSettings, {"tools": (BASH, BASH)}),
        (RunnerSettings, {"commands": (CommandSettings("a"), CommandSettings("a"))}),
    ],
)
def test_what_is_refused(kind: Any, members: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        kind(**members)


def test_every_limit_of_the_peer_is_a_setting_with_the_genuine_default() -> None:
    for kind in (ControlPlaneSettings, RunnerSettings):
        made = kind()
        assert (made.requests, made.control_requests, made.notifications) == (64, 8, 64)
        assert (made.control_lane, made.update_lane) == (128, 64)
        assert made.message_limit == 4_194_304
    assert runner_carriage(RunnerSettings()).redial == Redial(1, 30, jitter=False)
    assert control_plane_carriage(ControlPlaneSettings(message_limit=9)).limit == 9
