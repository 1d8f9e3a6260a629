"""A run at a control plane."""

from fleetgate.core.events import Reason, RunState
from fleetgate.core.ids import RunId
from fleetgate.protocols.kodelet.state import RunPhase
from fleetgate.protocols.kodelet.translate import CallTool, SayCommand
from fleetgate.protocols.kodelet.translate_events import Shown
from fleetgate.protocols.kodelet.ward import CANCELED, Ward, failed, lost


def test_a_run_is_active_while_it_opens_and_runs() -> None:
    ward = Ward(RunId("r"), "run_1", "c", CallTool("t", {}), False, Shown(shell=False))
    active = {phase for phase in RunPhase if setattr(ward, "phase", phase) or ward.active}
    assert active == {RunPhase.OPENING, RunPhase.RUNNING}


def test_commands_are_no_tools() -> None:
    made = [
        Ward(RunId("r"), "run_1", "c", ask, False, Shown(shell=False))
        for ask in (CallTool("t", {}), SayCommand("/x"))
    ]
    assert [ward.calls_tool for ward in made] == [True, False]


def test_endings() -> None:
    assert (failed("x").state, failed("x", Reason.REFUSED).reason) == (
        RunState.FAILED,
        Reason.REFUSED,
    )
    assert (lost("y").state, CANCELED.state) == (RunState.LOST, RunState.CANCELED)
