"""The runs at one runner, apart from the connection."""

from fleetgate.core.commands import RunSpec, StartRun, ToolCall
from fleetgate.core.events import RunFinished
from fleetgate.core.ids import RunId
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.liveness import Liveness
from fleetgate.protocols.kodelet.peer import Peer
from fleetgate.protocols.kodelet.settings import ControlPlaneSettings
from fleetgate.protocols.kodelet.state import RunPhase
from fleetgate.protocols.kodelet.wards import Wards
from fleetgate.protocols.testing import START


def wards() -> tuple[Wards, Peer]:
    peer = Peer("server")
    made = Wards(peer, ControlPlaneSettings(), Deadlines())
    made.instance = t.INSTANCE
    made.alive = Liveness(t.RUNNER, 1, START)
    return made, peer


def begin(made: Wards, run: str = "gui/r1") -> None:
    order = t.start_order(run)
    assert isinstance(order.command, StartRun)
    assert made.start(order, order.command.spec) == ()


def test_runs_are_found_by_both_of_their_names() -> None:
    made, _ = wards()
    begin(made)
    ward = made.get(t.wire_id())
    assert ward is not None
    assert made.of(RunId("gui/r1")) is ward
    assert made.of(RunId("other")) is made.get("other") is None
    assert made.all() == (ward,)
    assert len(made) == 1


def test_a_run_that_is_being_closed_need_not_be_reported() -> None:
    made, _ = wards()
    begin(made)
    assert made.phases == {t.wire_id(): RunPhase.OPENING}
    ward = made.get(t.wire_id())
    assert ward is not None
    made.cancel(ward, START)
    assert made.phases == {}


def test_a_message_that_does_not_fit_is_never_sent() -> None:
    made, peer = wards()
    spec = RunSpec(ToolCall("x"), native={"kodelet": {"conversationId": "c" * (5 << 20)}})
    (record,) = made.start(t.start_order(), spec)
    assert isinstance(record.events[-1], RunFinished)
    assert "exceeding the 4194304-byte outbound limit" in record.events[-1].outcome.message
    assert peer.flush() == []
    assert len(made) == 0


def test_all_are_lost_or_forgotten() -> None:
    made, _ = wards()
    begin(made)
    begin(made, "gui/r2")
    assert len(made.lose_all("x")) == 2
    assert len(made) == 0
    begin(made)
    made.forget()
    assert made.lose_all("x") == []


def test_a_deadline_of_a_run_that_is_gone() -> None:
    made, _ = wards()
    assert made.overdue("cleanup nobody") == ()
