"""The runs that an edge is told of."""

from __future__ import annotations

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.run import Run
from fleetgate.protocols.api import Ack, Follow, Send, Unfollow
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.settings import NorthSettings
from fleetgate.protocols.iop.telling import Telling, cut
from fleetgate.protocols.testing import SECOND, START, number

RUN = RunId("edge/r1")
DONE = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED))


def run(last: int = 0, started: int = 0, state: RunState = RunState.RUNNING) -> Run:
    spec, origin = c.RunSpec(c.Prompt("x")), c.Origin("edge", "r1")
    return Run(RUN, spec, origin, START, state=state, last_seq=Seq(last), started=started)


def test_of_a_long_run_the_last_events_are_told_again_and_its_start_is_not() -> None:
    telling = Telling(NorthSettings(retained=5))
    assert telling.take_up(run(20, started=START), START) == (Follow(RUN, Seq(15)),)
    (send,) = telling.deliver(number(RUN, e.TextProduced("x"), first=16), START)
    assert isinstance(send, Send)
    told = codec.decode_node(send.frame)
    assert isinstance(told, w.RunEvent)
    assert told.type == "delta"


def test_an_ended_run_is_told_again_without_a_word_before() -> None:
    telling = Telling(NorthSettings())
    ended = run(2, state=RunState.CANCELED)
    assert telling.take_up(ended, START) == (Follow(RUN, Seq(0)),)


def test_an_end_is_acknowledged_once_it_must_have_arrived() -> None:
    telling = Telling(NorthSettings(dead_after=10.0))
    telling.follow(run())
    steps = telling.deliver(number(RUN, e.RunStarted(), DONE, e.TextProduced("late")), START)
    assert [type(step) for step in steps] == [Send, Send, Unfollow]
    assert telling.deliver(number(RUN, e.TextProduced("late"), first=3), START) == ()
    assert telling.heard(START + 9 * SECOND) == []
    assert telling.heard(START + 10 * SECOND) == [Ack(RUN, Seq(2))]
    assert telling.heard(START + 99 * SECOND) == []


def test_an_event_is_cut_to_what_a_message_holds() -> None:
    long = "x" * (5 << 20)
    small = {"gateway.seq": "1", "gateway.body": long}
    event = cut(w.RunEvent("r", "error", long, long, long, metadata=small))
    assert event.metadata == {"gateway.seq": "1"}
    assert len(codec.encode_node(event)) < w.MAX_MESSAGE
    wide = cut(w.RunEvent("r", "complete", "€" * (2 << 20), metadata={"own": long}))
    assert wide.metadata == {}
    assert len(codec.encode_node(wide)) < w.MAX_MESSAGE
