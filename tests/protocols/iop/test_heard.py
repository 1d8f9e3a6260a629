"""Run events of foreign nodes, and of nodes that misbehave."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import events as e
from fleetgate.core.events import MAX_BODY, Outcome, Reason, RunFinished, RunState, Stream
from fleetgate.core.ids import RunId
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.heard import Tracked, hear, seq_of
from fleetgate.protocols.iop.names import BODY, KIND, SEQ, STREAM
from fleetgate.protocols.iop.testing import messages

STARTED = e.RunStarted()


def event(type: str, delta: str = "", seq: int = 0, **members: Any) -> w.RunEvent:
    metadata = {**({SEQ: str(seq)} if seq else {}), **members.pop("metadata", {})}
    return w.RunEvent("r1", type, delta, metadata=metadata, **members)


def heard(*told: w.RunEvent, tracked: Tracked | None = None) -> list[e.Event]:
    tracked = tracked or Tracked(RunId("r1"))
    return [each for one in told for each in hear(tracked, one)]


def kind(name: str, body: str = "", delta: str = "", **own: str) -> w.RunEvent:
    return event("delta", delta, metadata={KIND: name, **({BODY: body} if body else {}), **own})


@given(
    st.lists(
        st.builds(
            lambda told, type, metadata: w.RunEvent(
                "r1", type, told.delta, told.message, told.error, told.usage, metadata
            ),
            messages(w.RunEvent),
            st.sampled_from(["start", "delta", "complete", "error", "cancelled"]),
            st.dictionaries(
                st.sampled_from([SEQ, KIND, BODY, STREAM, "own"]),
                st.sampled_from(
                    [
                        *("1", "5", "99", "x", "state", "tool_call", "gap", "session", "stdout"),
                        *("{}", '{"state":"queued"}', '{"before":[[1,{}],["gap",{}]]}', "[1]"),
                    ]
                ),
            ),
        ),
        max_size=6,
    )
)
def test_whatever_a_node_says_it_is_a_run_with_one_start_and_one_end(
    told: list[w.RunEvent],
) -> None:
    found = heard(*told)
    ends = [at for at, each in enumerate(found) if isinstance(each, RunFinished)]
    assert ends in ([], [len(found) - 1])


def test_a_missing_start_is_added() -> None:
    assert heard(event("delta", "a"), event("delta", "b")) == [
        STARTED,
        e.TextProduced("a"),
        e.TextProduced("b"),
    ]
    done = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED))
    assert heard(event("complete")) == [STARTED, done]
    stopped = RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED, "why"))
    assert heard(event("cancelled", message="why")) == [STARTED, stopped]


def test_a_repeated_start_is_dropped_and_so_is_all_behind_the_end() -> None:
    assert heard(
        event("start"), event("start"), event("error", error="x"), event("delta", "y")
    ) == [
        STARTED,
        RunFinished(Outcome(RunState.FAILED, Reason.ERROR, "x")),
    ]


def test_fault_17_numbers_that_were_heard_are_dropped_and_missing_ones_are_a_gap() -> None:
    tracked = Tracked(RunId("r1"))
    assert heard(event("start", seq=3), event("delta", "a", 4), tracked=tracked) == [
        STARTED,
        e.TextProduced("a"),
    ]
    assert heard(event("start", seq=3), event("delta", "a", 4), tracked=tracked) == []
    assert heard(event("delta", "b", 7), tracked=tracked) == [
        e.GapFound(5, 6, "the node did not send them again"),
        e.TextProduced("b"),
    ]
    assert heard(event("delta", "plain"), tracked=tracked) == [e.TextProduced("plain")]


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "٣", "9" * 30, str(1 << 63)])
def test_a_number_that_is_none_is_taken_as_none(text: str) -> None:
    assert seq_of(event("delta", metadata={SEQ: text})) is None
    assert heard(event("start"), event("delta", "x", metadata={SEQ: text}))[1:] == [
        e.TextProduced("x")
    ]


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        (
            event("complete", message="all"),
            Outcome(RunState.SUCCEEDED, Reason.EXITED, text="all"),
        ),
        (
            event("error", error="timeout: 5 s", message="part"),
            Outcome(RunState.FAILED, Reason.TIMED_OUT, "timeout: 5 s", text="part"),
        ),
        (event("error", error="node lost"), Outcome(RunState.LOST, Reason.LOST, "node lost")),
        (
            event("error", error="not_found: x"),
            Outcome(RunState.FAILED, Reason.ERROR, "not_found: x"),
        ),
        (
            event("complete", metadata={"own": "x", SEQ: "9"}),
            Outcome(RunState.SUCCEEDED, Reason.EXITED, native={"iop": {"metadata": {"own": "x"}}}),
        ),
        (
            event("complete", metadata={"own": "x" * 20_000}),
            Outcome(RunState.SUCCEEDED, Reason.EXITED),
        ),
    ],
)
def test_the_end_of_a_run_that_was_at_work(told: w.RunEvent, outcome: Outcome) -> None:
    assert heard(event("start"), told)[-1] == RunFinished(outcome)


def test_an_error_before_the_start_is_a_refusal_if_it_names_a_code() -> None:
    for error, reason in (("conflict: taken", Reason.REFUSED), ("boom", Reason.ERROR)):
        assert heard(event("error", error=error)) == [
            RunFinished(Outcome(RunState.FAILED, reason, error))
        ]


def test_text_on_other_events_is_text() -> None:
    assert heard(event("start", "a"), event("complete", "b"))[:3] == [
        STARTED,
        e.TextProduced("a"),
        e.TextProduced("b"),
    ]


def test_a_long_delta_is_split() -> None:
    found = heard(event("start"), event("delta", "€" * MAX_BODY))[1:]
    assert "".join(each.text for each in found) == "€" * MAX_BODY
    assert all(len(each.text.encode()) <= MAX_BODY for each in found)


def test_output_of_a_stream_is_counted_where_no_offset_is_told() -> None:
    out = {STREAM: "stdout"}
    assert heard(
        event("start"),
        event("delta", "ab", metadata=out),
        event("delta", "€", metadata=out),
        event("delta", "e", metadata={STREAM: "stderr"}),
        event("delta", "far", metadata={**out, BODY: '{"offset":100}'}),
        event("delta", "?", metadata={**out, BODY: '{"data_base64":"/w=="}'}),
        event("delta", "x", metadata={**out, BODY: '{"data_base64":"!","offset":-1}'}),
    )[1:] == [
        e.OutputProduced(Stream.STDOUT, b"ab", 0),
        e.OutputProduced(Stream.STDOUT, "€".encode(), 2),
        e.OutputProduced(Stream.STDERR, b"e", 0),
        e.OutputProduced(Stream.STDOUT, b"far", 100),
        e.OutputProduced(Stream.STDOUT, b"\xff", 103),
        e.OutputProduced(Stream.STDOUT, b"x", 104),
    ]


def test_the_session_that_a_node_names_and_the_one_that_was_asked_for() -> None:
    assert heard(event("start", session_id="own"), event("delta", "x", session_id="own")) == [
        STARTED,
        e.SessionOpened("own"),
        e.TextProduced("x"),
    ]
    asked = Tracked(RunId("r1"), asked="s")
    assert heard(event("start"), event("delta", session_id="t"), tracked=asked) == [
        STARTED,
        e.SessionOpened("s"),
        e.SessionOpened("t"),
    ]
    long = event("start", session_id="x" * 257)
    assert heard(long) == [STARTED]


def test_usage_is_told_once_and_never_below_zero() -> None:
    usage = w.Usage(-5, 3)
    assert heard(
        event("start", usage=usage), event("delta", "x", usage=usage), event("delta", "y")
    ) == [STARTED, e.UsageReported(0, 3), e.TextProduced("x"), e.TextProduced("y")]


@pytest.mark.parametrize(
    ("name", "body", "before"),
    [
        ("session", '{"native_session":5}', ()),
        ("session", "[", ()),
        ("session", '{"native_session":"own"}', (e.SessionOpened("own"),)),
        ("tool_call", '{"name":"t"}', (e.ToolCalled("t"),)),
        ("tool_call", "{}", (e.ToolCalled(""),)),
        ("gap", "{}", ()),
        ("flush", "", ()),
        ("unheard_of", "[", ()),
    ],
)
def test_a_text_beside_a_kind_is_text_whatever_the_body_is(
    name: str, body: str, before: tuple[e.Event, ...]
) -> None:
    assert heard(event("start"), kind(name, body, "text")) == [
        STARTED,
        *before,
        e.TextProduced("text"),
    ]


def test_a_text_beside_a_state_begins_the_run() -> None:
    assert heard(kind("state", "[", "text")) == [STARTED, e.TextProduced("text")]


@pytest.mark.parametrize(
    "body",
    ["", "[", "[1]", "{}", '{"state":"done"}', '{"state":"succeeded"}', '{"state":5}'],
)
def test_a_body_that_is_not_what_its_kind_says_leaves_the_text(body: str) -> None:
    tracked = Tracked(RunId("r1"))
    assert heard(event("start"), kind("state", body, "text"), tracked=tracked)[1:] == [
        e.TextProduced("text")
    ]
    assert heard(kind("state", body), tracked=tracked) == []
    assert tracked.lossy


OWN = {"own": "y"}
MUCH = {"own": "y" * (16 << 10)}
TRIMMED = [
    event("start", metadata=MUCH),
    event("delta", "x", message="m" * (17 << 10)),
    event("delta", "x", error="e" * (17 << 10)),
    event("delta", metadata=MUCH),
    kind("session", '{"native_session":5}'),
    kind("unknown", "{}"),
    kind("unknown", "{}", own="y"),
    event("complete", metadata=MUCH),
]
WHOLE = [
    event("start", seq=1),
    event("start", message="m"),
    event("start", error="e"),
    event("start", metadata=OWN),
    event("delta", "x", seq=2),
    event("delta", "x", message="m"),
    event("delta", "x", error="e"),
    event("delta", "x", metadata=OWN),
    event("delta", metadata=OWN),
    kind("reasoning", "", "x", own="y"),
    kind("tool_call", '{"name":"t"}', own="y"),
    kind("unknown", "{}", "x"),
    event("complete", message="m", error="e", metadata=OWN),
    event("cancelled", message="m", error="e"),
    event("error", message="m", error="e", metadata=OWN),
]


@pytest.mark.parametrize("told", [*TRIMMED, *WHOLE], ids=lambda told: told.type)
def test_what_an_event_cannot_hold_is_lost_and_known_to_be(told: w.RunEvent) -> None:
    tracked = Tracked(RunId("r1"))
    begun = () if told.type == "start" else (event("start"),)
    heard(*begun, told, tracked=tracked)
    assert tracked.lossy == (told in TRIMMED)


def test_an_empty_delta_of_a_gateway_is_an_event_and_of_others_none() -> None:
    assert heard(event("start"), event("delta")) == [STARTED]
    beside = event("delta", message="m")
    assert heard(event("start"), beside) == [STARTED, e.TextProduced("")]
    assert heard(event("start", seq=1), event("delta", seq=2)) == [STARTED, e.TextProduced("")]
