"""What a node says beside its events comes to whoever is told of them in this protocol."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.ids import Epoch, RunId, Seq
from fleetgate.core.run import Run
from fleetgate.protocols.api import Record
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.beside import MOST, beside, own_metadata, records, says_beside
from fleetgate.protocols.iop.heard import Tracked, hear
from fleetgate.protocols.iop.names import SEQ
from fleetgate.protocols.iop.narrator import Narrator

RUN = RunId("edge/r1")


def told_on(*said: w.RunEvent) -> list[w.RunEvent]:
    """What a control client hears of what a node says."""
    tracked = Tracked(RUN)
    steps = [step for one in said for step in records(RUN, one, hear(tracked, one), None)]
    assert all(isinstance(step, Record) for step in steps)
    narrator = Narrator(Run(RUN, c.RunSpec(c.Prompt("hi")), c.Origin("edge", "r1"), 1), "r1")
    heard: list[w.RunEvent] = []
    for step in steps:
        stamp = step.stamp or e.Stamp()
        for event in step.events:
            source = e.Source(Epoch(1), None, stamp.time, stamp.native)
            seq = Seq(len(heard) + 1)
            heard += narrator.tell(e.Recorded(RUN, seq, 1, event, source))
    return heard


OWN = st.dictionaries(st.sampled_from(["a", "b.c", "trace"]), st.text(max_size=9), max_size=3)


@given(st.text(max_size=9), st.text(max_size=9), OWN, st.sampled_from(["start", "delta"]))
def test_a_message_an_error_and_metadata_arrive_once_and_where_they_were(
    message: str, error: str, own: dict[str, str], type: str
) -> None:
    said = w.RunEvent("r1", type, "x", message, error, metadata=own, session_id="s")
    begun = () if type == "start" else (w.RunEvent("r1", "start"),)
    heard = told_on(*begun, said)
    saying = [each for each in heard if says_beside(each)]
    assert len(saying) == says_beside(said)
    for each in saying:
        assert each.type == type
        assert (each.message, each.error, own_metadata(each)) == (message, error, own)
    assert "".join(each.delta for each in heard) == "x"


@pytest.mark.parametrize("type", ["complete", "cancelled"])
def test_an_error_that_is_misplaced_on_an_end_arrives(type: str) -> None:
    said = w.RunEvent("r1", type, message="m", error="e", metadata={"k": "v"})
    end = told_on(w.RunEvent("r1", "start"), said)[-1]
    assert (end.type, end.message, end.error) == (type, "m", "e")
    assert own_metadata(end) == {"k": "v"}


@pytest.mark.limit("protocols/iop/beside.MOST")
def test_what_is_too_much_is_not_kept() -> None:
    most = w.RunEvent("r1", "delta", message="m" * MOST)
    assert beside(most) is not None
    assert beside(attrs.evolve(most, message="m" * (MOST + 1))) is None


def test_the_number_goes_with_the_last_of_several_events() -> None:
    said = w.RunEvent("r1", "start", "x", "m", timestamp=7)
    events = (e.GapFound(1, 2, "x"), e.RunStarted(), e.TextProduced("x"))
    kept = {"iop": {"message": "m"}}
    assert list(records(RUN, said, events, 5)) == [
        Record(RUN, events[:1], None, e.Stamp(7)),
        Record(RUN, events[1:2], None, e.Stamp(7, kept)),
        Record(RUN, events[2:], 5, e.Stamp(7)),
    ]


def test_a_reserved_name_that_was_kept_changes_nothing() -> None:
    source = e.Source(Epoch(1), 1, None, {"iop": {"metadata": {SEQ: "9", "k": 5}, "message": 1}})
    narrator = Narrator(Run(RUN, c.RunSpec(c.Prompt("hi")), c.Origin("edge", "r1"), 1), "r1")
    (told,) = narrator.tell(e.Recorded(RUN, Seq(1), 1, e.RunStarted(), source))
    assert (told.metadata, told.message) == ({SEQ: "1"}, "")
