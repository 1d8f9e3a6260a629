"""A run of the core at a control plane."""

from fleetgate.core.events import Reason, RunState
from fleetgate.core.ids import RunId
from fleetgate.protocols.kodelet.lease import Lease
from fleetgate.protocols.kodelet.translate import CallTool, SayCommand
from fleetgate.protocols.kodelet.translate_events import Shown
from fleetgate.protocols.kodelet.ward import STOPPED, Ward, failed, lost
from fleetgate.protocols.kodelet.wire import RunOpen


def test_its_id_is_its_lease_s_and_commands_are_no_tools() -> None:
    made = [
        Ward(RunId("r"), ask, False, Shown(shell=False), Lease(RunOpen("run_1", "c")))
        for ask in (CallTool("t", {}), SayCommand("/x"))
    ]
    assert [ward.calls_tool for ward in made] == [True, False]
    assert {ward.id for ward in made} == {"run_1"}


def test_endings() -> None:
    assert (failed("x").state, failed("x", Reason.REFUSED).reason) == (
        RunState.FAILED,
        Reason.REFUSED,
    )
    assert (lost("y").state, STOPPED.state) == (RunState.LOST, RunState.CANCELED)
