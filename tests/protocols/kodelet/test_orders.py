"""What a control plane does for each of the core's orders."""

import pytest

from fleetgate.core import commands as c
from fleetgate.core.commands import RunCommand, RunSpec, ToolCall
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.events import Decision
from fleetgate.core.ids import RunId
from fleetgate.protocols.api import NO_STEPS, Settle, Steps
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.errands import Errands
from fleetgate.protocols.kodelet.leases import Leases
from fleetgate.protocols.kodelet.liveness import Liveness
from fleetgate.protocols.kodelet.orders import performed
from fleetgate.protocols.kodelet.peer import Peer
from fleetgate.protocols.kodelet.proxy import Proxy
from fleetgate.protocols.kodelet.settings import ControlPlaneSettings
from fleetgate.protocols.kodelet.testing import said
from fleetgate.protocols.kodelet.wards import Wards
from fleetgate.protocols.kodelet.wire import RunnerCapabilities
from fleetgate.protocols.testing import START

RUN = RunId("gui/r1")


class Desk:
    """All that orders are performed with."""

    def __init__(self) -> None:
        settings = ControlPlaneSettings()
        self.peer = Peer("server", settings)
        leases = Leases(self.peer, settings, Deadlines())
        leases.alive = Liveness(t.RUNNER, 1, START, "", ready=True)
        self.wards = Wards(self.peer, settings, leases)
        self.errands = Errands(self.peer)
        self.errands.offered = RunnerCapabilities(workspace_git_diff=True)
        self.proxy = Proxy(self.peer, self.wards, leases)

    def perform(self, number: int, command: RunCommand) -> Steps:
        """Perform an order about the run."""
        order = t.order(RUN, number, command)
        return performed(order, START, self.wards, self.errands, self.proxy)

    def methods(self) -> list[str]:
        """What the runner is asked."""
        return [message["method"] for message in said(self.peer.flush())]


@pytest.mark.parametrize(
    ("tool", "method"), [("bash", "run.open"), ("workspace.git.diff", "workspace.git.diff")]
)
def test_a_start_is_a_run_or_an_errand_and_a_cancel_ends_it(tool: str, method: str) -> None:
    desk = Desk()
    start = t.start_order(RUN, RunSpec(ToolCall(tool))).command
    assert desk.perform(0, start) == NO_STEPS
    assert desk.methods() == [method]
    settled = desk.perform(1, c.CancelRun(RUN))
    assert settled[0] == Settle(RUN, t.order(RUN, 1, c.CancelRun(RUN)).number)
    assert desk.methods()[0] == "operation.cancel"


def test_an_order_about_a_run_that_is_over_is_settled_and_does_nothing() -> None:
    desk = Desk()
    resolve = c.ResolveApproval(RUN, "a1", Decision.DENY)
    for command in (c.CancelRun(RUN), resolve):
        (settle,) = desk.perform(1, command)
        assert isinstance(settle, Settle)
        assert settle.error is None
    assert desk.methods() == []


def test_an_input_is_refused() -> None:
    (settle,) = Desk().perform(1, c.SendInput(RUN, b"x"))
    assert isinstance(settle, Settle)
    assert isinstance(settle.error, UnsupportedInput)
    assert "takes no SendInput" in settle.error.message
