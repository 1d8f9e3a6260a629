"""Attachments: where they may begin, and what goes out on them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.batch import Batch
from fleetgate.core.events import (
    MAX_BODY,
    Diagnosed,
    MessageEnded,
    Outcome,
    OutputProduced,
    Reason,
    RunFinished,
    RunState,
    Stream,
    TextProduced,
)
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.sequence import LAST_SEQ
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.attachments import Attachments
from fleetgate.protocols.agency.codec import decode_server
from fleetgate.protocols.agency.settings import AgencyNorthboundSettings
from fleetgate.protocols.agency.testing import make_run
from fleetgate.protocols.api import Follow, Send, Steps
from fleetgate.protocols.testing import number

ID = RunId("gui/run-1")


def make(**settings: object) -> Attachments:
    return Attachments(AgencyNorthboundSettings(**settings))  # type: ignore[arg-type]


def after(sequence: int) -> wire.AttachRun:
    return wire.AttachRun("run-1", sequence)


def sent(steps: Steps) -> list[tuple[int, object]]:
    frames = [decode_server(step.frame) for step in steps if isinstance(step, Send)]
    return [(f.sequence, f.event) for f in frames if isinstance(f, w.EventFrame)]


def floor(last: int, acknowledged: int, **settings: object) -> int:
    run = make_run(last_seq=Seq(last), acknowledged=Seq(acknowledged))
    return make(**settings).floor(run)


def test_the_floor_is_the_bound_or_what_was_acknowledged() -> None:
    assert floor(2048, 0) == 0
    assert floor(2051, 0) == 3
    assert floor(2051, 100) == 100
    assert floor(5000, 0, replay_bound=0) == 0


def test_in_strict_parity_an_acknowledgement_leaves_it_where_it_is() -> None:
    assert floor(2048, 2000, strict_parity=True) == 0
    assert floor(5000, 4000, strict_parity=True) == 0
    assert floor(5000, 100, strict_parity=True) == 2952
    assert floor(5000, 100, strict_parity=True, replay_bound=0) == 0


@given(st.integers(0, 50), st.integers(0, 60), st.integers(0, 20))
def test_an_attachment_sends_exactly_what_is_behind_its_start(
    last: int, start: int, lookback: int
) -> None:
    attachments = make(lookback=lookback)
    follow = attachments.attach(after(start), make_run(last_seq=Seq(last)))
    assert isinstance(follow, Follow)
    assert 0 <= follow.after <= start
    events = number(ID, *[MessageEnded()] * 70)[follow.after :]
    numbers = [sequence for sequence, _ in sent(attachments.deliver(events))]
    assert numbers == list(range(start + 1, 71))


texts = st.builds(TextProduced, st.text(max_size=4) | st.just("\ud800"))
outputs = st.builds(OutputProduced, st.sampled_from(Stream), st.binary(max_size=4))


@given(st.lists(texts | outputs, min_size=1, max_size=8), st.integers(1, 7))
def test_in_bulk_the_same_frames_go_out_to_all_who_are_attached(
    said: list[TextProduced | OutputProduced], cut: int
) -> None:
    batch = number(ID, *said)
    parts = [Batch(batch[:cut]), Batch(batch[cut:])]
    # The last one comes in the middle, maybe of a character that the others have half of.
    for starts, shown in ((0, parts), (0, parts), (len(parts[0]), parts[1:])):
        short, long = make(), make()
        for attachments in (short, long):
            attachments.attach(after(starts), make_run(last_seq=Seq(starts)))
        plain: list[bytes] = []
        sent_in_bulk: list[bytes] = []
        for part in shown:
            plain += [step.frame for step in long.deliver(part) if isinstance(step, Send)]
            sent_in_bulk += short.deliver_bulk(part) or ()
        assert sent_in_bulk == plain


def test_who_is_attached_to_the_same_run_is_sent_the_very_same_frames() -> None:
    batch, frames = Batch(number(ID, TextProduced("a"), TextProduced("b"))), list[object]()
    for _ in range(2):
        attachments = make()
        attachments.attach(after(0), make_run())
        frames.append(attachments.deliver_bulk(batch))
    assert frames[0] is frames[1] is not None
    other = make()
    other.attach(wire.AttachRun("by-another-name", 0), make_run())
    assert other.deliver_bulk(batch) not in (None, frames[0])


def test_what_is_not_plain_text_does_not_go_in_bulk() -> None:
    attachments = make()
    split = OutputProduced(Stream.STDOUT, "ä".encode()[:1])
    assert attachments.deliver_bulk(number(ID, split)) is None, "nobody is attached"
    attachments.attach(after(1), make_run(last_seq=Seq(9)))
    assert attachments.deliver_bulk(number(ID, split)) is None, "it is for the view only"
    assert attachments.deliver_bulk(()) is None
    rest = OutputProduced(Stream.STDOUT, "ä".encode()[1:])
    for seq, other in ((2, MessageEnded()), (4, TextProduced("x" * (MAX_BODY + 1)))):
        assert attachments.deliver_bulk(number(ID, other, split, first=seq)) is None
        shown: list[w.RunEvent] = []
        for at, piece in enumerate((split, rest), seq):
            # What is behind the other is not shown to the view: the character is still whole.
            frames = attachments.deliver_bulk(number(ID, piece, other, rest, first=Seq(at))) or ()
            shown += [event for _, event in sent([Send(frame) for frame in frames])]
        assert shown == [w.Text(""), w.Text("ä")]
    long_id = wire.AttachRun("r" * 200_000, 0)
    attachments.attach(long_id, make_run())
    assert attachments.deliver_bulk(number(ID, split)) is None, "it may not fit into a frame"


@pytest.mark.parametrize("start", [LAST_SEQ, LAST_SEQ + 1, 2**63 - 1, 2**63, 2**64 - 1])
def test_behind_the_last_number_that_a_journal_has(start: int) -> None:
    attachments = make()
    assert attachments.attach(after(start), make_run()) == Follow(ID, Seq(LAST_SEQ))
    assert attachments.deliver(number(ID, MessageEnded(), first=LAST_SEQ)) == []


def test_in_strict_parity_an_attachment_begins_behind_what_was_acknowledged() -> None:
    attachments = make(strict_parity=True, lookback=0)
    run = make_run(last_seq=Seq(5), acknowledged=Seq(3))
    assert attachments.attach(after(0), run) == Follow(ID, Seq(3))


@given(
    st.lists(st.binary(min_size=1, max_size=6), min_size=1, max_size=12),
    st.integers(0, 12),
    st.data(),
)
def test_output_is_the_same_with_and_without_a_new_attachment_in_it(
    chunks: list[bytes], cut: int, data: st.DataObject
) -> None:
    """Fault 2, across a re-attachment: as long as the first bytes of a character are among the
    events that are read again."""
    text = data.draw(st.text(max_size=12)).encode()
    size = data.draw(st.integers(1, 4))
    pieces = [text[at : at + size] for at in range(0, len(text), size)] or [b"x"]
    events = number(ID, *[OutputProduced(Stream.STDOUT, piece) for piece in pieces])
    cut = min(cut, len(pieces))
    whole = make()
    whole.attach(after(0), make_run())
    once = sent(whole.deliver(events))
    broken = make()
    broken.attach(after(0), make_run())
    first = sent(broken.deliver(events[:cut]))
    follow = broken.attach(after(cut), make_run(last_seq=Seq(len(pieces))))
    assert first + sent(broken.deliver(events[follow.after :])) == once


def test_detaching() -> None:
    attachments = make()
    assert not attachments.detach(ID)
    attachments.attach(after(0), make_run())
    assert attachments.detach(ID)
    assert attachments.deliver(number(ID, MessageEnded())) == ()
    assert attachments.deliver(()) == ()


END = RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED))


def test_an_end_waits_for_the_answer_to_a_cancel_of_its_run_only() -> None:
    attachments = make()
    attachments.attach(after(0), make_run())
    attachments.hold_end(RunId("gui/other"))
    assert len(sent(attachments.deliver(number(ID, END)))) == 1
    attachments.hold_end(ID)
    events = number(ID, TextProduced("x"), Diagnosed("y"), END)
    assert [seq for seq, _ in sent(attachments.deliver(events))] == [1, 2]
    assert [seq for seq, _ in sent(attachments.release_end())] == [3]
    assert attachments.release_end() == ()
