"""Events, wire to core and back: one for one northbound, nothing lost between two agency ends."""

from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.core.ids import Epoch, WorkerId
from fleetgate.core.json import Json
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.testing import EVENTS, make_run
from fleetgate.protocols.agency.translate_events import (
    CANCELED,
    USAGE_KEYS,
    View,
    ended_as,
    from_event,
    to_event,
    to_outcome,
    view_of,
)

FINISHED: dict[str, Any] = {
    "agent": "claude",
    "exit_code": 0,
    "first_unparsed": None,
    "rate_limit": None,
    "session": "s-1",
    "stderr": "",
    "stop": "completed",
    "structured": None,
    "text": "all done",
    "unparsed": 0,
    "usage": dict.fromkeys(USAGE_KEYS) | {"input_tokens": 3, "output_tokens": 5},
}


def view() -> View:
    return view_of(make_run())


def one(event: e.Event) -> w.RunEvent:
    return from_event(event, view())


ONE_FOR_ONE: list[tuple[e.Event, w.RunEvent]] = [
    (e.RunAssigned(WorkerId("w"), Epoch(1)), w.StateChanged(wire.RunState.STARTING)),
    (e.RunStarted(7), w.StateChanged(wire.RunState.RUNNING)),
    (e.SessionOpened("s", "m"), w.SessionOpened("s", "m")),
    (e.TextProduced("t"), w.Text("t")),
    (e.ReasoningProduced("r"), w.Reasoning("r")),
    (e.OutputProduced(Stream.STDERR, b"o"), w.Text("o")),
    (e.MessageEnded(), w.MessageBoundary()),
    (e.ToolCalled("Bash", {"a": 1}, "t1"), w.ToolCall("Bash", {"a": 1}, id="t1")),
    (e.ToolProgressed("p", "t1"), w.Reasoning("p")),
    (e.ToolReturned("o", False, "t1"), w.ToolResult("o", id="t1", ok=False)),
    (e.ApprovalRequested("a", "t", {"d": 1}), w.ApprovalRequested("a", "t", {"d": 1})),
    (e.ApprovalResolved("a", e.Decision.DENY), w.StateChanged(wire.RunState.RUNNING)),
    (e.InputAccepted(3), w.StateChanged(wire.RunState.RUNNING)),
    (e.UsageReported(1, 2, {"x": 1}), w.Usage({"x": 1})),
    (
        e.UsageReported(1, 2),
        w.Usage(dict.fromkeys(USAGE_KEYS) | {"input_tokens": 1, "output_tokens": 2}),
    ),
    (e.UsageReported(), w.Usage(None)),
    (e.RateLimited({"status": "allowed"}), w.RateLimit({"status": "allowed"})),
    (e.HistoryCompacted("started"), w.Compaction("started")),
    (e.CommandsListed({"all": []}), w.Commands({"all": []})),
    (e.StateChanged(RunState.WAITING, "x"), w.StateChanged(wire.RunState.WAITING_APPROVAL)),
    (e.StateChanged(RunState.QUEUED), w.StateChanged(wire.RunState.STARTING)),
    (e.Diagnosed("m", "code"), w.ErrorEvent("code: m")),
    (e.Diagnosed("m"), w.ErrorEvent("m")),
    (e.GapFound(2, 5, "gone"), w.ErrorEvent("the worker's events 2 to 5 are lost: gone")),
]


@pytest.mark.parametrize(("core", "wired"), ONE_FOR_ONE)
def test_i1_each_core_event_is_one_wire_event(core: e.Event, wired: w.RunEvent) -> None:
    assert one(core) == wired


def test_no_core_event_is_left_out() -> None:
    shown = {type(core) for core, _ in ONE_FOR_ONE} | {e.RunFinished}
    assert shown == set(get_args(e.Event))


# --- between two agency ends


@pytest.mark.parametrize("event", EVENTS)
def test_i10_every_wire_event_comes_back_equal(event: w.RunEvent) -> None:
    (core,) = to_event(event)
    assert one(core) == event


def test_i10_an_outcome_comes_back_equal_behind_its_usage() -> None:
    for changes in ({}, {"exit_code": 3}, {"stop": {"other": "limit"}}, {"stop": "error"}):
        event = w.Finished(FINISHED | changes)
        usage, end = to_event(event)
        assert usage == e.UsageReported(3, 5, FINISHED["usage"])
        assert one(end) == event


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.one_of(
        st.builds(w.Finished, JSON | st.dictionaries(st.sampled_from([*FINISHED]), JSON)),
        st.builds(w.Failed, st.text()),
        st.builds(w.Usage, JSON | st.dictionaries(st.sampled_from(USAGE_KEYS), JSON)),
        st.builds(w.RateLimit, JSON),
        st.builds(w.Compaction, JSON),
        st.builds(w.Commands, JSON),
        st.builds(w.ToolCall, st.text(), JSON, id=st.none() | st.text()),
        st.builds(w.ToolResult, st.text(), id=st.none() | st.text()),
        st.builds(w.ApprovalRequested, st.text(), st.text(), JSON),
        st.builds(w.SessionOpened, st.text(), st.none() | st.text()),
        st.builds(w.Text, st.text()),
        st.builds(w.Reasoning, st.text()),
        st.builds(w.ErrorEvent, st.text()),
    )
)
def test_i10_whatever_the_payload_is(event: w.RunEvent) -> None:
    again = one(to_event(event)[-1])
    assert repr(again) == repr(event)


@given(st.text(min_size=1, max_size=20).map(lambda text: text * (200_000 // len(text))))
def test_long_texts_are_split_and_nothing_of_them_is_lost(text: str) -> None:
    for kind, core in ((w.Text, e.TextProduced), (w.Reasoning, e.ReasoningProduced)):
        pieces = to_event(kind(text))
        assert all(isinstance(piece, core) for piece in pieces)
        texts = [piece.text for piece in pieces if isinstance(piece, core)]
        assert "".join(texts) == text
        assert all(len(piece.encode()) <= e.MAX_BODY for piece in texts)


# --- output


@given(st.binary(max_size=40), st.lists(st.integers(0, 40), max_size=6))
def test_any_bytes_split_anywhere_become_the_same_text(data: bytes, cuts: list[int]) -> None:
    """Fault 2. The last character of an output that ends inside it is lost with the run."""
    at = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    seen, joined = view(), ""
    for start, stop in pairwise(at):
        event = from_event(e.OutputProduced(Stream.STDOUT, data[start:stop], start), seen)
        assert isinstance(event, w.Text)
        joined += event.payload
    assert joined + seen.texts[Stream.STDOUT].decode(b"", final=True) == data.decode(
        errors="replace"
    )


def test_two_streams_do_not_mix_their_characters() -> None:
    seen, whole = view(), "é".encode()
    texts = [
        from_event(e.OutputProduced(stream, data), seen)
        for stream, data in (
            (Stream.STDOUT, whole[:1]),
            (Stream.STDERR, b"x" + whole[:1]),
            (Stream.STDOUT, whole[1:]),
            (Stream.STDERR, whole[1:]),
        )
    ]
    assert texts == [w.Text(""), w.Text("x"), w.Text("é"), w.Text("é")]


# --- ends, northbound


def end(state: RunState, reason: Reason = Reason.EXITED, **members: Any) -> w.RunEvent:
    return one(e.RunFinished(Outcome(state, reason, **members)))


def test_a_success_has_the_whole_shape_of_an_outcome() -> None:
    seen = view()
    from_event(e.SessionOpened("s-9"), seen)
    from_event(e.UsageReported(3, 5), seen)
    event = from_event(
        e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, text="all done")), seen
    )
    assert event == w.Finished(FINISHED | {"session": "s-9"})


def test_a_view_begins_with_the_run_as_it_stands() -> None:
    run = make_run(native_session="s-1", usage=e.UsageReported(3, 5))
    event = from_event(
        e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, text="all done")), view_of(run)
    )
    assert event == w.Finished(FINISHED)


ENDS: list[tuple[Outcome, str]] = [
    (Outcome(RunState.CANCELED, Reason.CANCELED, "why"), CANCELED),
    (Outcome(RunState.LOST, Reason.LOST, "no link"), "the run was lost: no link"),
    (Outcome(RunState.LOST, Reason.LOST), "the run was lost"),
    (
        Outcome(RunState.FAILED, Reason.TIMED_OUT, "its timeout passed"),
        "the run timed out: its timeout passed",
    ),
    (Outcome(RunState.FAILED, Reason.EXITED, exit_code=3), "`claude` exited with status 3"),
    (Outcome(RunState.FAILED, Reason.EXITED, signal="SIGKILL"), "`claude` was ended by SIGKILL"),
    (Outcome(RunState.FAILED, Reason.ERROR), "`claude` failed: error"),
]


@pytest.mark.parametrize(("outcome", "text"), ENDS)
def test_an_end_without_a_result_is_a_text(outcome: Outcome, text: str) -> None:
    assert one(e.RunFinished(outcome)) == w.Failed(text)


def test_a_failure_with_a_result_is_an_outcome() -> None:
    event = end(RunState.FAILED, message="too long", text="half", exit_code=1)
    assert isinstance(event, w.Finished)
    assert isinstance(event.payload, dict)
    assert event.payload["stop"] == {"other": "too long"}
    assert (event.payload["exit_code"], event.payload["text"]) == (1, "half")
    event = end(RunState.FAILED, text="half")
    assert isinstance(event, w.Finished)
    assert isinstance(event.payload, dict)
    assert event.payload["stop"] == "error"


def test_what_the_core_judged_otherwise_since_is_not_the_daemon_s_end_any_more() -> None:
    """A run cancelled because its time was over has timed out, whatever its daemon calls it."""
    native: Json = {"agency": {"failed": CANCELED}}
    timed_out = Outcome(RunState.FAILED, Reason.TIMED_OUT, "its timeout passed", native=native)
    assert one(e.RunFinished(timed_out)) == w.Failed("the run timed out: its timeout passed")


@pytest.mark.parametrize("reason", [Reason.TIMED_OUT, Reason.EXPIRED, Reason.FAILED_TO_START])
def test_a_reason_that_the_wire_has_no_word_for_is_in_the_text_and_read_from_it(
    reason: Reason,
) -> None:
    sent = end(RunState.FAILED, reason, message="why")
    assert isinstance(sent, w.Failed)
    again = to_outcome(sent)
    assert (again.state, again.reason) == (RunState.FAILED, reason)
    assert one(e.RunFinished(again)) == sent
    assert end(RunState.FAILED, reason, message=sent.payload) == sent


@pytest.mark.parametrize("native", [None, "x", {"agency": "x"}, {"agency": {}}, {"other": {}}])
def test_other_protocols_ends_do_no_harm(native: Json) -> None:
    assert end(RunState.CANCELED, Reason.CANCELED, native=native) == w.Failed(CANCELED)


# --- ends, southbound


def judged(event: w.Finished | w.Failed) -> tuple[RunState, Reason, str, int | None]:
    outcome = to_outcome(event)
    return outcome.state, outcome.reason, outcome.message, outcome.exit_code


@pytest.mark.parametrize(
    ("changes", "state", "message"),
    [
        ({}, RunState.SUCCEEDED, ""),
        ({"exit_code": 3}, RunState.FAILED, "the agent stopped with an error"),
        ({"exit_code": None}, RunState.FAILED, "the agent stopped with an error"),
        ({"exit_code": True}, RunState.FAILED, "the agent stopped with an error"),
        ({"exit_code": 2**40}, RunState.FAILED, "the agent stopped with an error"),
        ({"stop": "error", "stderr": "boom\n"}, RunState.FAILED, "boom"),
        ({"stop": {"other": "max_turns"}, "stderr": "boom"}, RunState.FAILED, "max_turns"),
        ({"stop": 5}, RunState.FAILED, "the agent stopped with an error"),
    ],
)
def test_an_outcome_is_a_success_only_with_status_0_and_a_completed_stop(
    changes: dict[str, Any], state: RunState, message: str
) -> None:
    outcome = to_outcome(w.Finished(FINISHED | changes))
    assert (outcome.state, outcome.reason, outcome.message) == (state, Reason.EXITED, message)
    assert outcome.text == "all done"
    code = changes.get("exit_code", 0)
    assert outcome.exit_code == (code if code in (0, 3) and code is not True else None)


@pytest.mark.parametrize("payload", [None, 5, "x", []])
def test_an_outcome_that_is_no_object_is_a_failure(payload: Json) -> None:
    assert judged(w.Finished(payload))[0] is RunState.FAILED


@pytest.mark.parametrize("text", [CANCELED, "the run of `claude` was cancelled"])
def test_canceled_by_this_and_by_earlier_releases(text: str) -> None:
    assert judged(w.Failed(text))[:2] == (RunState.CANCELED, Reason.CANCELED)


def test_a_failure_s_text_may_tell_the_status() -> None:
    text = "`/bin/x` exited with status 3: boom"
    assert judged(w.Failed(text)) == (RunState.FAILED, Reason.ERROR, text, 3)
    text = "quota"
    assert judged(w.Failed(text)) == (RunState.FAILED, Reason.ERROR, text, None)
    assert judged(w.Failed("exited with status 99999999999"))[3] is None


# --- the rest, southbound


@pytest.mark.parametrize("state", sorted(wire.TERMINAL, key=str))
def test_a_state_that_ends_a_run_does_not_end_it(state: wire.RunState) -> None:
    """Only `finished` and `failed` do (section 5)."""
    (event,) = to_event(w.StateChanged(state))
    assert isinstance(event, e.Diagnosed)
    outcome = ended_as(state)
    assert outcome is not None
    assert outcome.state.terminal


@pytest.mark.parametrize("state", sorted(set(wire.RunState) - wire.TERMINAL, key=str))
def test_any_other_state_is_one(state: wire.RunState) -> None:
    (event,) = to_event(w.StateChanged(state))
    assert isinstance(event, e.StateChanged)
    assert one(event) == w.StateChanged(state)
    assert ended_as(state) is None


@pytest.mark.parametrize("tokens", [-1, 2**63, 1.5, True, None, "3"])
def test_tokens_that_are_no_count_are_not_counted(tokens: Any) -> None:
    (event,) = to_event(w.Usage({"input_tokens": tokens, "output_tokens": 4}))
    assert isinstance(event, e.UsageReported)
    assert (event.input_tokens, event.output_tokens) == (None, 4)


@pytest.mark.limit("protocols/agency/translate_events._MESSAGE")
def test_a_long_message_is_cut_and_comes_back_whole() -> None:
    failed = w.Failed("x" * 100_000)
    outcome = to_outcome(failed)
    assert outcome.message == "x" * 4096
    assert one(e.RunFinished(outcome)) == failed


def test_an_outcome_without_usage_reports_none() -> None:
    for usage in (None, "x", {}, {"input_tokens": None}):
        assert len(to_event(w.Finished(FINISHED | {"usage": usage}))) == 1


def test_an_unknown_event_is_told_by_its_type() -> None:
    (event,) = to_event(w.UnknownEvent("x" * 200, "secret"))
    assert isinstance(event, e.Diagnosed)
    assert event.code == "unknown_event"
    assert "secret" not in event.message
    assert len(event.message) < 150
