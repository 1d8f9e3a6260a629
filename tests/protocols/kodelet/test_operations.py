"""Calls under way, apart from the connection that they came by."""

from fleetgate.core import events as e
from fleetgate.core.commands import RunSpec, ToolCall
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId
from fleetgate.protocols.api import Submit
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.operation import OpenRun, Operation
from fleetgate.protocols.kodelet.operations import UPDATE, Operations
from fleetgate.protocols.kodelet.peer import Answered, Peer
from fleetgate.protocols.kodelet.settings import RunnerSettings, nanos
from fleetgate.protocols.kodelet.transcript import Transcript, Work
from fleetgate.protocols.kodelet.wire import RunOpen
from fleetgate.protocols.testing import START, number

RUN = RunId("cp/r1/x-1")


class Bench:
    def __init__(self) -> None:
        self.peer = Peer("runner")
        self.deadlines = Deadlines()
        self.operations = Operations(self.peer, RunnerSettings(), self.deadlines)
        self.owner = OpenRun(RunOpen("r1", "c1"))
        self.peer.receive(t.ask("server:7", "tool.execute", {}))
        self.peer.take()
        work = Work("echo", {}, "/", START)
        self.operation = Operation(
            "server:7", self.owner, RUN, work, "t1", Transcript(100), wants_updates=True
        )
        (self.submit,) = self.operations.start(self.operation, RunSpec(ToolCall("echo")), "cp")

    def deliver(self, *events: e.Event, now: int = START) -> list[object]:
        self.operations.deliver(number(RUN, *events), now)
        return t.said(self.peer.flush())


def test_a_start_names_its_origin() -> None:
    bench = Bench()
    assert isinstance(bench.submit, Submit)
    assert bench.submit.command.origin.native_run == "r1/x-1"
    assert bench.owner.operations == {"server:7"}


def test_updates_are_paced_and_the_last_snapshot_is_never_forgotten() -> None:
    bench = Bench()
    assert len(bench.deliver(e.TextProduced("a"))) == 1
    assert bench.deliver(e.TextProduced("b")) == []
    assert bench.deadlines.due(START + nanos(0.05)) == [f"{UPDATE}server:7"]
    bench.operations.update("server:7", START + nanos(0.05))
    (update,) = t.said(bench.peer.flush())
    assert update["params"]["result"]["displayOutput"] == "ab"
    assert update["params"]["sequence"] == 2


def test_the_result_takes_the_place_of_an_update_that_waits() -> None:
    bench = Bench()
    bench.deliver(e.TextProduced("a"))
    end = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED))
    (answer,) = bench.deliver(e.TextProduced("b"), end)
    assert answer["result"]["result"]["displayOutput"] == "ab"
    assert bench.owner.operations == set()
    assert bench.deadlines.due(START * 2) == []
    bench.operations.update("server:7", START)
    assert bench.peer.flush() == []


def test_strangers_are_passed_over() -> None:
    bench = Bench()
    assert bench.operations.deliver(number("other", e.TextProduced("x")), START) == ()
    assert bench.operations.deliver((), START) == ()
    assert bench.operations.cancel("nobody") == ()
    assert bench.operations.answered(Answered(("notify",))) == ()
