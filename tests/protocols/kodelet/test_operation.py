"""A run and a call, as values that change."""

from fleetgate.core.ids import RunId
from fleetgate.protocols.kodelet.operation import OpenRun, Operation
from fleetgate.protocols.kodelet.transcript import Transcript, Work
from fleetgate.protocols.kodelet.wire import ClientCapabilities, RunOpen


def test_a_run_says_whether_somebody_is_there() -> None:
    seen = ClientCapabilities(interactive_ui=True)
    assert OpenRun(RunOpen("r", "c", client_capabilities=seen)).interactive
    assert not OpenRun(RunOpen("r", "c")).interactive
    assert OpenRun(RunOpen("r", "c")).id == "r"


def test_calls_share_nothing() -> None:
    run = OpenRun(RunOpen("r", "c"))
    work = Work("bash", {}, "/", 0)
    one, two = (Operation(id, run, RunId(id), work, "t", Transcript(10)) for id in ("a", "b"))
    one.questions["q"] = "runner:1"
    assert two.questions == {}
    assert one != two
