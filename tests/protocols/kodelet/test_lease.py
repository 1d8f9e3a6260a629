"""A run that a control plane holds, and how what it asks comes out."""

from fleetgate.protocols.kodelet.errors import RpcError
from fleetgate.protocols.kodelet.lease import Ended, Lease, ended
from fleetgate.protocols.kodelet.peer import Answered, Broken
from fleetgate.protocols.kodelet.state import RunPhase
from fleetgate.protocols.kodelet.wire import LONGEST_TEXT, RunOpen


def test_a_run_is_active_while_it_opens_and_runs() -> None:
    lease = Lease(RunOpen("r", "c"))
    active = {phase for phase in RunPhase if setattr(lease, "phase", phase) or lease.active}
    assert active == {RunPhase.OPENING, RunPhase.RUNNING}
    assert not Lease(RunOpen("r", "c"), closing=True).active


def test_an_answer_an_error_and_no_answer_at_all() -> None:
    error = RpcError(-32000, "no")
    assert ended(Answered(None, 5)) == Ended(5)
    assert ended(Answered(None, None, error)) == Ended(None, error, "no")
    assert ended(Answered(None, None, RpcError(-1))).text == "-1"
    assert ended(Broken(None, "cut")) == Ended(text="cut")


def test_the_text_of_an_error_is_bounded() -> None:
    said = ended(Answered(None, None, RpcError(-32000, "x" * (LONGEST_TEXT + 1))))
    assert said.text == "x" * LONGEST_TEXT
