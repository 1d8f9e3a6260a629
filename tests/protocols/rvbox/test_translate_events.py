import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.core.testing import events, outcomes
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.limits import FRAME
from fleetgate.protocols.rvbox.testing import happenings
from fleetgate.protocols.rvbox.translate_events import (
    UNNAMED,
    Narrator,
    from_outcome,
    rejected,
    to_events,
    to_outcome,
)
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

INT63 = (1 << 63) - 1

# --- what a client reports


@given(st.none() | happenings(), st.booleans(), st.integers(0, 5))
def test_every_event_of_a_client_becomes_at_least_one_of_the_core(
    event: w.Happening | None, running: bool, inputs: int
) -> None:
    made = to_events(event, running=running, inputs=inputs)
    assert made
    for each in made:
        if isinstance(each, e.OutputProduced):
            assert 0 <= each.offset <= INT63
        if isinstance(each, e.RunStarted) and each.pid is not None:
            assert 0 < each.pid <= INT63
        if isinstance(each, e.InputAccepted):
            assert each.through <= inputs


@pytest.mark.parametrize(
    ("event", "running", "expected"),
    [
        (w.LifecycleChanged(Lifecycle.QUEUED), False, e.StateChanged(RunState.STARTING, "queued")),
        (
            w.LifecycleChanged(Lifecycle.AWAITING_SCRIPT),
            False,
            e.StateChanged(RunState.STARTING, "awaiting_script"),
        ),
        (w.LifecycleChanged(Lifecycle.RUNNING, 42), False, e.RunStarted(42)),
        (w.LifecycleChanged(Lifecycle.RUNNING), False, e.RunStarted(None)),
        (w.LifecycleChanged(Lifecycle.RUNNING, 42), True, e.StateChanged(RunState.RUNNING)),
        (w.LifecycleChanged(Lifecycle.QUEUED), True, e.StateChanged(RunState.RUNNING, "queued")),
        (w.OutputChunk(1, b"x", 5), True, e.OutputProduced(Stream.STDOUT, b"x", 5)),
        (w.OutputChunk(2, b"\xff", 0), True, e.OutputProduced(Stream.STDERR, b"\xff", 0)),
        (w.StdinAck(2), True, e.InputAccepted(2)),
    ],
)
def test_events_keep_their_meaning(event: w.Happening, running: bool, expected: e.Event) -> None:
    assert to_events(event, running=running, inputs=2) == (expected,)


@pytest.mark.parametrize(
    "event",
    [
        None,
        w.LifecycleChanged(Lifecycle.EXITED),
        w.LifecycleChanged(0),
        w.LifecycleChanged(99),
        w.OutputChunk(0, b"x"),
        w.OutputChunk(7, b"x"),
        w.StdinAck(3),
    ],
)
def test_what_the_protocol_does_not_allow_is_diagnosed_and_keeps_its_number(
    event: w.Happening | None,
) -> None:
    (said,) = to_events(event, running=True, inputs=2)
    assert isinstance(said, e.Diagnosed)
    assert said.code == "protocol_violation"


def test_a_chunk_over_64_kib_is_split_with_its_offsets() -> None:
    data = bytes(e.MAX_BODY) + b"rest"
    assert to_events(w.OutputChunk(1, data, 10), running=True, inputs=0) == (
        e.OutputProduced(Stream.STDOUT, bytes(e.MAX_BODY), 10),
        e.OutputProduced(Stream.STDOUT, b"rest", 10 + e.MAX_BODY),
    )


@pytest.mark.parametrize(
    ("exit", "state", "reason"),
    [
        (w.CommandExit(Lifecycle.EXITED, 0), RunState.SUCCEEDED, Reason.EXITED),
        (w.CommandExit(Lifecycle.EXITED, 3), RunState.FAILED, Reason.EXITED),
        (w.CommandExit(Lifecycle.EXITED, None, "SIGSEGV"), RunState.FAILED, Reason.EXITED),
        (w.CommandExit(Lifecycle.EXITED), RunState.FAILED, Reason.EXITED),
        (w.CommandExit(Lifecycle.FAILED_TO_START), RunState.FAILED, Reason.FAILED_TO_START),
        (w.CommandExit(Lifecycle.TIMED_OUT, None, "SIGKILL"), RunState.FAILED, Reason.TIMED_OUT),
        (w.CommandExit(Lifecycle.CANCELED), RunState.CANCELED, Reason.CANCELED),
        (w.CommandExit(Lifecycle.EXPIRED), RunState.FAILED, Reason.EXPIRED),
        (w.CommandExit(Lifecycle.LOST), RunState.LOST, Reason.LOST),
        (w.CommandExit(Lifecycle.RUNNING), RunState.FAILED, Reason.ERROR),
        (w.CommandExit(99), RunState.FAILED, Reason.ERROR),
    ],
)
def test_an_exit_is_one_outcome(exit: w.CommandExit, state: RunState, reason: Reason) -> None:
    outcome = to_outcome(exit)
    assert (outcome.state, outcome.reason) == (state, reason)
    assert (outcome.exit_code, outcome.signal or "") == (exit.exit_code, exit.signal)


_ENDS = [each for each in Lifecycle if each >= Lifecycle.EXITED]


@given(
    st.sampled_from(_ENDS),
    st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
    st.sampled_from(["", "SIGTERM"]),
    st.none() | st.builds(w.ControlError, st.integers(1, 30), st.just("why")),
)
def test_an_exit_comes_out_of_another_rvbox_end_as_it_came_in(
    lifecycle: int, code: int | None, signal: str, error: w.ControlError | None
) -> None:
    exit = w.CommandExit(lifecycle, code, signal, error)
    known = code is not None or signal or lifecycle != Lifecycle.EXITED
    if known:
        assert from_outcome(to_outcome(exit)) == exit


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("SIGTERM", "SIGTERM"),
        ("x" * 64, "x" * 64),
        ("x" * 65, UNNAMED),
        ("SIG\n", UNNAMED),
        ("SÏG", UNNAMED),
    ],
)
def test_a_signals_name_is_short_and_printable(name: str, kept: str) -> None:
    outcome = to_outcome(w.CommandExit(Lifecycle.EXITED, signal=name))
    assert outcome.signal == kept
    assert outcome.state is RunState.FAILED


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (Reason.EXITED, None),
        (Reason.CANCELED, None),
        (Reason.TIMED_OUT, Code.INTERNAL),
        (Reason.FAILED_TO_START, Code.INTERNAL),
        (Reason.EXPIRED, Code.QUEUE_EXPIRED),
        (Reason.LOST, Code.INTERNAL),
        (Reason.REFUSED, Code.INVALID_ARGUMENT),
        (Reason.ERROR, Code.INTERNAL),
    ],
)
def test_an_exit_has_an_error_where_there_is_something_to_say(
    reason: Reason, code: Code | None
) -> None:
    for native in (None, {"rvbox": {"code": 0}}):
        error = from_outcome(Outcome(RunState.FAILED, reason, "why", native=native)).error
        assert error == (None if code is None else w.ControlError(code, "why"))


@pytest.mark.parametrize(
    ("code", "state", "reason"),
    [
        (Code.QUEUE_EXPIRED, RunState.FAILED, Reason.EXPIRED),
        (Code.ALREADY_FINISHED, RunState.LOST, Reason.LOST),
        (Code.CONFLICT, RunState.FAILED, Reason.REFUSED),
        (Code.UNSUPPORTED_SHELL, RunState.FAILED, Reason.REFUSED),
        (0, RunState.FAILED, Reason.REFUSED),
        (99, RunState.FAILED, Reason.REFUSED),
    ],
)
def test_a_rejected_dispatch_ends_its_run(code: int, state: RunState, reason: Reason) -> None:
    outcome = rejected(code, "why")
    assert (outcome.state, outcome.reason) == (state, reason)
    assert "why" in outcome.message


# --- what a server is told


@given(events())
def test_every_event_of_the_core_becomes_exactly_one(event: e.Event) -> None:
    told = Narrator().tell(event)
    assert told is not None
    if isinstance(told, w.OutputChunk):
        assert len(told.data) <= e.MAX_BODY


def test_an_exit_always_fits_a_frame() -> None:
    outcome = Outcome(RunState.FAILED, Reason.ERROR, "ä" * FRAME, signal="x" * FRAME)
    exit = from_outcome(outcome)
    assert exit.error is not None
    assert exit.error.message == "ä" * 32_768
    assert exit.signal == UNNAMED


@given(outcomes())
def test_every_outcome_is_an_exit(outcome: Outcome) -> None:
    exit = from_outcome(outcome)
    assert exit.lifecycle in _ENDS
    assert exit.error is None or exit.error.code != Code.UNSPECIFIED
    if exit.lifecycle == Lifecycle.EXITED:
        assert exit.exit_code is not None or exit.signal


@pytest.mark.parametrize(
    ("event", "lifecycle"),
    [
        (e.RunAssigned("w", 1), Lifecycle.QUEUED),  # type: ignore[arg-type]
        (e.StateChanged(RunState.QUEUED, "awaiting_script"), Lifecycle.AWAITING_SCRIPT),
        (e.StateChanged(RunState.STARTING, "accepted"), Lifecycle.QUEUED),
        (e.StateChanged(RunState.STARTING, "awaiting_script"), Lifecycle.QUEUED),
        (e.StateChanged(RunState.WAITING), Lifecycle.RUNNING),
        (e.StateChanged(RunState.FINISHING), Lifecycle.RUNNING),
        (e.RunStarted(9), Lifecycle.RUNNING),
        (e.SessionOpened("s"), Lifecycle.RUNNING),
        (e.ApprovalResolved("a", e.Decision.DENY), Lifecycle.RUNNING),
    ],
)
def test_changes_of_state_are_lifecycles(event: e.Event, lifecycle: Lifecycle) -> None:
    told = Narrator().tell(event)
    assert isinstance(told, w.LifecycleChanged)
    assert told.lifecycle == lifecycle
    assert told.pid == (9 if isinstance(event, e.RunStarted) else 0)


def test_input_is_acknowledged() -> None:
    assert Narrator().tell(e.InputAccepted(4)) == w.StdinAck(4)


_STREAMS = {Stream.STDOUT: w.OutputStream.STDOUT, Stream.STDERR: w.OutputStream.STDERR}


@st.composite
def stories(draw: st.DrawFn) -> list[e.Event]:
    """Output whose offsets are a process's own, with other events between."""
    offsets = dict.fromkeys(Stream, 0)
    story: list[e.Event] = []
    for data in draw(st.lists(st.binary(max_size=9), max_size=8)):
        stream = draw(st.sampled_from(Stream))
        story.append(e.OutputProduced(stream, data, offsets[stream]))
        offsets[stream] += len(data)
        story += draw(st.lists(events(e.TextProduced, e.Diagnosed, e.UsageReported), max_size=2))
    return story


@given(stories())
def test_offsets_count_every_byte_of_a_stream(story: list[e.Event]) -> None:
    narrator = Narrator()
    seen = dict.fromkeys(_STREAMS.values(), 0)
    for event in story:
        told = narrator.tell(event)
        assert isinstance(told, w.OutputChunk)
        stream = w.OutputStream(told.stream)
        assert told.offset == seen[stream]
        seen[stream] += len(told.data)


@given(stories(), st.data())
def test_going_on_in_the_middle_tells_the_same_or_says_that_it_cannot(
    story: list[e.Event], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(story)))
    whole = Narrator()
    before = [whole.tell(event) for event in story[:cut]]
    assert None not in before
    if whole.written:
        return  # such a run is always told from its first event on
    resumed = Narrator(told_before=cut == 0)
    for event in story[cut:]:
        told, expected = resumed.tell(event), whole.tell(event)
        if told is None:
            assert cut > 0
            return
        assert told == expected


def test_lines_of_ours_are_noticed_and_empty_ones_are_not() -> None:
    narrator = Narrator()
    narrator.tell(e.OutputProduced(Stream.STDOUT, b"x", 0))
    narrator.tell(e.UsageReported(1, 1))
    assert not narrator.written
    narrator.tell(e.TextProduced("x"))
    assert narrator.written
