import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, RunList
from fleetgate.core.commands import DescribeRun, RunSpec, ShellCommand
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.testing import histories
from fleetgate.protocols.api import (
    Ack,
    Annotate,
    Close,
    Follow,
    Opening,
    Pause,
    Report,
    Resume,
    Send,
    Submit,
    Unfollow,
)
from fleetgate.protocols.bulk import BulkConnection
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.hello import make_hello
from fleetgate.protocols.rvbox.retained import ANSWERS, LINES
from fleetgate.protocols.rvbox.settings import ClientSettings
from fleetgate.protocols.rvbox.testing import (
    OTHER,
    SESSION,
    UUID,
    Talk,
    greeted_client,
    happened,
    make_command,
    make_dispatch,
    open_link,
    talk_to_client,
)
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code
from fleetgate.protocols.testing import START, slot

RUN = RunId(f"hosts/{UUID}")
RUNNING = make_command(state=RunState.RUNNING)
WELCOME = w.ServerWelcome(w.ProtocolVersion(1, 0), START)
EXIT = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
OUT = e.OutputProduced(Stream.STDOUT, b"hi", 0)


def greeted(talk: Talk) -> Talk:
    open_link(talk)
    talk.session, talk.generation = SESSION, 7
    return talk


def ending(talk: Talk, code: Code, close: int) -> None:
    error, closed = slot(), slot()
    talk.fails(error, closed)
    payload = codec.decode(error.value.frame).payload
    assert isinstance(payload, w.AgentError)
    assert payload.close_session
    assert payload.error.code == code
    assert closed.value.code == close


def told(seq: int, event: w.Happening, uuid: str = UUID) -> w.CommandEvent:
    return w.CommandEvent(uuid, 1, seq, START, event)


# --- session


def test_a_client_says_hello_first_and_without_a_session() -> None:
    opening = Opening(link="hosts", gateway="gw-1", instance="i-1")
    with talk_to_client() as talk:
        hello = make_hello(ClientSettings(), opening, START)
        talk.opened(opening).expect(talk.sent(hello), slot())


def test_a_server_that_keeps_us_waiting_is_left() -> None:
    with talk_to_client() as talk:
        greeted(talk).tick()
        (close,) = talk.take()
        assert isinstance(close, Close)
        assert (close.code, close.retry) == (1013, True)


def test_waiting_ends_with_the_result() -> None:
    with talk_to_client() as talk:
        greeted_client(talk)
        talk.later(100_000)
        if talk.wake is not None:
            talk.tick()
            assert not talk.take()


@pytest.mark.parametrize("version", [w.ProtocolVersion(), w.ProtocolVersion(1, 1)])
def test_a_welcome_in_another_version_is_a_violation(version: w.ProtocolVersion) -> None:
    with talk_to_client() as talk:
        greeted(talk).put(w.ServerWelcome(version))
        ending(talk, Code.PROTOCOL_VIOLATION, 1002)


@pytest.mark.parametrize(
    "payload",
    [w.ClientHello(), w.CommandEvent(UUID), w.ReconcileSnapshot(), WELCOME, w.Unknown()],
)
def test_a_payload_of_the_wrong_direction_or_none_is_a_violation(payload: w.Payload) -> None:
    with talk_to_client() as talk:
        greeted_client(talk).put(payload)
        ending(talk, Code.PROTOCOL_VIOLATION, 1002)


def test_a_dispatch_before_the_result_is_a_violation() -> None:
    with talk_to_client() as talk:
        greeted(talk).put(WELCOME).take()
        talk.put(make_dispatch())
        ending(talk, Code.PROTOCOL_VIOLATION, 1002)


def test_i7_an_envelope_of_another_session_is_stale() -> None:
    with talk_to_client() as talk:
        greeted_client(talk).receive(w.Envelope(SESSION, 6, make_dispatch()))
        ending(talk, Code.STALE_SESSION, 4001)


def test_an_undecodable_envelope_is_a_violation() -> None:
    with talk_to_client() as talk:
        greeted_client(talk).receive(b"\xff")
        ending(talk, Code.PROTOCOL_VIOLATION, 1002)


@pytest.mark.parametrize(
    ("code", "retry"),
    [
        (Code.UNSUPPORTED_VERSION, False),
        (Code.UNAUTHENTICATED, False),
        (Code.INVALID_ARGUMENT, False),
        (Code.CLIENT_ID_IN_USE, True),
        (Code.RESOURCE_EXHAUSTED, True),
        (99, True),
    ],
)
def test_a_refused_hello_is_final_or_tried_again(code: int, retry: bool) -> None:
    with talk_to_client() as talk:
        open_link(talk).put(w.AgentError(w.ControlError(code, "why"), close_session=True))
        report, close = talk.take()
        assert isinstance(report, Report)
        assert isinstance(close, Close)
        assert close.retry is retry


@pytest.mark.parametrize(("code", "retry"), [(Code.SUPERSEDED, False), (Code.STALE_SESSION, True)])
def test_a_superseded_client_stays_away(code: Code, retry: bool) -> None:
    with talk_to_client() as talk:
        greeted_client(talk).put(w.AgentError(w.ControlError(code, "why"), close_session=True))
        close = talk.take()[1]
        assert isinstance(close, Close)
        assert close.retry is retry


@pytest.mark.limit("protocols/rvbox/northbound._LONGEST_ERROR")
def test_an_error_that_does_not_close_is_reported() -> None:
    with talk_to_client() as talk:
        greeted_client(talk).put(w.AgentError(w.ControlError(Code.OUT_OF_ORDER, "x" * 9000)))
        (report,) = talk.take()
        assert isinstance(report, Report)
        assert len(report.detail) < 5000


# --- events


def test_each_event_of_the_core_is_one_event_with_the_same_number() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [make_command()])
        story = (e.StateChanged(RunState.QUEUED), e.RunStarted(42), OUT, e.InputAccepted(1), EXIT)
        talk.deliver(happened(*story))
        assert talk.said() == [
            told(1, w.LifecycleChanged(Lifecycle.QUEUED)),
            told(2, w.LifecycleChanged(Lifecycle.RUNNING, 42)),
            told(3, w.OutputChunk(1, b"hi", 0)),
            told(4, w.StdinAck(1)),
            told(5, w.CommandExit(Lifecycle.EXITED, 0)),
            w.ClientCapacity(0, 0, 16, 256),
        ]


@given(histories())
def test_i1_whatever_happens_the_numbers_are_the_journals(
    history: tuple[e.Recorded, ...],
) -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [make_command()])
        if history:
            events = [recorded.event for recorded in history]
            talk.deliver(happened(*events))
            numbers = [p.event_seq for p in talk.said() if isinstance(p, w.CommandEvent)]
            assert numbers == list(range(1, len(events) + 1))


def test_capacity_is_told_when_a_number_changes() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [make_command()])
        talk.deliver(happened(e.RunStarted()))
        assert talk.said()[-1] == w.ClientCapacity(1, 0, 16, 256)
        talk.deliver(happened(OUT, first=2))
        assert talk.said() == [told(2, w.OutputChunk(1, b"hi", 0))]


def test_events_of_what_is_not_retained_are_not_told() -> None:
    with talk_to_client() as talk:
        greeted_client(talk)
        talk.deliver(happened(OUT))
        assert not talk.take()


def test_lines_of_ours_are_noted_before_the_first_of_them_is_told() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING])
        talk.deliver(happened(OUT, e.TextProduced("text"), e.TextProduced("more")))
        assert talk.steps() == [
            told(1, w.OutputChunk(1, b"hi", 0)),
            Annotate(RUN, LINES, True),
            told(2, w.OutputChunk(1, b"text", 2)),
            told(3, w.OutputChunk(1, b"more", 6)),
        ]


def test_a_line_whose_place_is_not_known_has_the_run_read_from_its_start() -> None:
    run = make_command(state=RunState.RUNNING, last_seq=Seq(2))
    with talk_to_client() as talk:
        greeted_client(talk, [run], w.ReconcileTarget(UUID, 2, 1, b"h" * 32))
        talk.deliver(happened(e.TextProduced("text"), OUT, first=3))
        talk.expect(Follow(RUN, Seq(0)))
        out = e.OutputProduced(Stream.STDOUT, b"hi", 2)
        talk.deliver(happened(OUT, out, e.TextProduced("text")))
        assert talk.steps() == [
            Annotate(RUN, LINES, True),
            told(3, w.OutputChunk(1, b"text", 4)),
        ]


@given(st.lists(st.sampled_from(["out", "text", "usage"]), min_size=1, max_size=12), st.data())
def test_a_new_link_tells_the_rest_as_the_old_one_would_have(
    kinds: list[str], data: st.DataObject
) -> None:
    offset, story = 0, []
    for kind in kinds:
        if kind == "out":
            story.append(e.OutputProduced(Stream.STDOUT, b"hi", offset))
            offset += 2
        else:
            story.append(e.TextProduced("text") if kind == "text" else e.UsageReported(1, 1))
    cut = data.draw(st.integers(0, len(story)))
    batch = happened(*story)
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING]).deliver(batch)
        whole = [p for p in talk.said() if isinstance(p, w.CommandEvent)]
    notes = {LINES: True} if "text" in kinds[:cut] else {}
    run = make_command(state=RunState.RUNNING, last_seq=Seq(cut), notes=notes)
    with talk_to_client() as talk:
        greeted_client(talk, [run], w.ReconcileTarget(UUID, cut, 1, b"h" * 32))
        rest: list[w.Payload] = []
        after = 0 if notes else cut
        while after < len(story):
            talk.deliver(batch[after:])
            after = len(story)
            for step in talk.steps():
                if isinstance(step, Follow):
                    after = step.after
                elif isinstance(step, w.CommandEvent):
                    rest.append(step)
        assert rest == whole[cut:]


def test_input_is_acknowledged_by_its_number_on_the_wire() -> None:
    run = make_command(
        state=RunState.RUNNING, inputs=2, notes={ANSWERS: {"answers": {"a": 1, "b": 3}}}
    )
    with talk_to_client() as talk:
        greeted_client(talk, [run]).deliver(happened(e.InputAccepted(1), e.InputAccepted(2)))
        assert talk.said() == [told(1, w.StdinAck(2)), told(2, w.StdinAck(4))]


def test_input_of_a_route_is_acknowledged_to_nobody() -> None:
    routed = RunSpec(ShellCommand(argv=("cat",), stdin=b"fed"), interactive=True)
    run = make_command(state=RunState.RUNNING, inputs=2, routed=routed)
    with talk_to_client() as talk:
        greeted_client(talk, [run]).deliver(happened(e.InputAccepted(1), e.InputAccepted(2)))
        assert talk.said() == [told(1, w.StdinAck(0)), told(2, w.StdinAck(1))]


# --- the short way of output

pieces = st.one_of(
    st.builds(e.OutputProduced, st.sampled_from(Stream), st.binary(max_size=3), st.integers(0, 9)),
    st.builds(e.OutputProduced, st.sampled_from(Stream), st.binary(max_size=3), st.integers(0, 9)),
    st.builds(e.TextProduced, st.sampled_from(["", "text", "\ud800"])),
)
others = st.sampled_from([e.MessageEnded(), e.RunStarted(7), e.InputAccepted(1)])


@given(
    st.lists(st.lists(pieces | pieces | pieces | others, min_size=1, max_size=4), max_size=6),
    st.sampled_from([{}, {LINES: True}]),
    st.sampled_from([RunState.RUNNING, RunState.STARTING]),
    st.integers(0, 6),
)
def test_output_goes_out_the_same_by_the_short_way_as_by_the_long_one(
    story: list[list[e.Event]], notes: dict[str, bool], state: RunState, last: int
) -> None:
    run = make_command(state=state, last_seq=Seq(last), notes=notes)
    with talk_to_client() as short, talk_to_client() as long:
        for talk in (short, long):
            greeted_client(talk, [run], w.ReconcileTarget(UUID, last, 1, b"h" * 32))
        connection = short.connection
        assert isinstance(connection, BulkConnection)
        at = 0 if notes else last  # where it is followed from
        for events in story:
            batch = happened(*events, first=at + 1)
            at += len(events)
            while batch:
                frames = connection.deliver_bulk(batch, START)
                some, batch = batch[: len(frames or "1")], batch[len(frames or "1") :]
                shown = [*map(Send, frames)] if frames else [*short.deliver(some).take()]
                assert shown == [*long.deliver(some).take()]


def test_output_of_a_running_command_goes_the_short_way() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING])
        connection = talk.connection
        assert isinstance(connection, BulkConnection)
        assert connection.deliver_bulk(happened(OUT, OUT), START) is not None
        talk.put(w.EventAck(UUID, 2)).expect(Ack(RUN, Seq(2)))
        text = happened(e.TextProduced("text"), first=3)
        assert connection.deliver_bulk(text, START) is None, "that there are lines is to be noted"
        talk.deliver(text).take()
        assert connection.deliver_bulk(happened(e.TextProduced("a"), first=4), START) is not None
        frames = connection.deliver_bulk(happened(OUT, EXIT, OUT, first=5), START)
        assert frames is not None
        assert len(frames) == 1
        assert connection.deliver_bulk(happened(EXIT, OUT, first=6), START) is None
        assert connection.deliver_bulk((), START) is None


# --- acknowledgement


def test_an_acknowledgement_is_passed_on_and_a_lower_one_is_ignored() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING]).deliver(happened(OUT, OUT, OUT)).take()
        talk.put(w.EventAck(UUID, 2)).expect(Ack(RUN, 2))
        for through in (2, 1, 0):
            talk.put(w.EventAck(UUID, through))
            assert not talk.take()
        talk.put(w.EventAck(OTHER, 1))
        assert not talk.take()


@pytest.mark.parametrize("through", [4, (1 << 64) - 1])
def test_an_acknowledgement_beyond_what_was_sent_is_a_violation(through: int) -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING]).deliver(happened(OUT, OUT, OUT)).take()
        talk.put(w.EventAck(UUID, through))
        ending(talk, Code.PROTOCOL_VIOLATION, 1002)


def test_an_acknowledged_exit_leaves_a_tombstone_only() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING]).deliver(happened(OUT, EXIT)).take()
        talk.put(w.EventAck(UUID, 1)).expect(Ack(RUN, 1))
        talk.put(w.EventAck(UUID, 2)).expect(Ack(RUN, 2), Unfollow(RUN))
        talk.put(make_dispatch())
        code, *_ = rejections(talk)
        assert code == Code.ALREADY_FINISHED
        talk.put(make_dispatch(immutable_request_sha256=b"x" * 32))
        assert rejections(talk) == [Code.CONFLICT]


def rejections(talk: Talk) -> list[int]:
    """Why the last call refused dispatches; it did nothing else."""
    said = talk.steps()
    assert all(isinstance(each, w.CommandAccepted) and not each.accepted for each in said)
    return [each.rejection.code for each in said]  # type: ignore[union-attr]


def test_i5_a_dispatch_right_behind_the_acknowledged_exit_is_of_no_effect() -> None:
    """Also where the journal, asked anew, does not show the acknowledgement yet."""
    stale = attrs.evolve(
        RUNNING,
        state=RunState.SUCCEEDED,
        outcome=EXIT.outcome,
        last_seq=Seq(2),
    )
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING]).deliver(happened(OUT, EXIT)).take()
        talk.put(w.EventAck(UUID, 2)).take()
        talk.put(make_dispatch())
        assert rejections(talk) == [Code.ALREADY_FINISHED]
        talk.put(w.ReconcileRequest())
        (listing,) = talk.take()
        talk.reply(listing.reply_to, RunList((stale,)))  # type: ignore[union-attr]
        assert talk.steps() == [w.ReconcileSnapshot()]
        talk.put(w.ReconcileResult()).take()
        assert talk.deliver(happened(OUT, EXIT)).steps() == []


def test_what_the_server_had_before_this_link_may_be_acknowledged() -> None:
    run = make_command(state=RunState.RUNNING, last_seq=Seq(9))
    with talk_to_client() as talk:
        greeted_client(talk, [run], w.ReconcileTarget(UUID, 5, 1, b"h" * 32))
        talk.put(w.EventAck(UUID, 5)).expect(Ack(RUN, 5))


# --- back-pressure


def test_i9_a_link_is_not_read_while_too_much_waits_for_the_core() -> None:
    with talk_to_client(ClientSettings(waiting_messages=3)) as talk:
        key = slot()
        greeted_client(talk).put(make_dispatch()).expect(Submit(DescribeRun(RUN), key))
        talk.put(w.StdinWrite(UUID, 1, b"x"))
        talk.put(w.StdinWrite(UUID, 2, b"x")).expect(Pause())
        known = RUNNING
        talk.reply(key, Accepted(known, known))
        steps = talk.steps()
        assert isinstance(steps[-1], Resume)


def test_i9_bytes_that_wait_are_bounded_too() -> None:
    with talk_to_client(ClientSettings(waiting_size=1000)) as talk:
        key = slot()
        greeted_client(talk).put(make_dispatch()).expect(Submit(DescribeRun(RUN), key))
        talk.put(w.StdinWrite(UUID, 1, b"x" * 1000)).expect(Pause())


@pytest.mark.limit("protocols/rvbox/daemon.MOST_HELD")
def test_i9_what_is_held_back_while_reconciling_is_bounded() -> None:
    with talk_to_client() as talk:
        greeted_client(talk).put(w.ReconcileRequest()).take()
        for _ in range(10_000):
            talk.put(w.StdinWrite(UUID, 1, b"x"))
            assert not talk.take()
        talk.put(w.StdinWrite(UUID, 1, b"x"))
        (close,) = talk.take()
        assert isinstance(close, Close)


def test_errors_that_came_up_while_reconciling_are_told_behind_the_result() -> None:
    with talk_to_client() as talk:
        greeted_client(talk).put(w.ReconcileRequest())
        (listing,) = (step for step in talk.take() if isinstance(step, Submit))
        talk.put(w.StdinWrite(UUID, 1, b"x"))
        assert not talk.take()
        talk.reply(listing.reply_to, RunList(())).take()
        talk.put(w.ReconcileResult())
        error, _ = talk.said()
        assert isinstance(error, w.AgentError)
        assert error.error.code == Code.NOT_FOUND
