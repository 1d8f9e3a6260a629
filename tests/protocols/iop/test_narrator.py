"""Core events as run events; and back, as another gateway hears them."""

from __future__ import annotations

import base64
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState, Stream
from fleetgate.core.ids import Epoch, RunId, SessionId
from fleetgate.core.run import Run
from fleetgate.core.slots import Slot
from fleetgate.core.testing import events, outcomes
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.heard import TYPES, Tracked, hear
from fleetgate.protocols.iop.narrator import Narrator
from fleetgate.protocols.json_text import dump, load
from fleetgate.protocols.testing import START, number

RUN = RunId("edge/r1")
STARTED = e.RunStarted()


def run_of(session: str | None = None, **changes: Any) -> Run:
    spec = c.RunSpec(c.Prompt("hi"), session=SessionId(session) if session else None)
    return attrs.evolve(Run(RUN, spec, c.Origin("edge", "r1"), START), **changes)


def tell(*happened: e.Event, run: Run | None = None, node: str = "n1") -> list[w.RunEvent]:
    narrator = Narrator(run or run_of(), "r1", node=node)
    return [told for recorded in number(RUN, *happened) for told in narrator.tell(recorded)]


def wire(told: w.RunEvent) -> w.RunEvent:
    return codec.decode(w.RunEvent, codec.encode(told))


def back(told: list[w.RunEvent]) -> list[e.Event]:
    tracked = Tracked(RUN)
    return [event for each in told for event in hear(tracked, wire(each))]


def finished(state: RunState, reason: Reason, message: str = "", **rest: Any) -> RunFinished:
    return RunFinished(Outcome(state, reason, message, **rest))


def comes_back(event: e.Event) -> bool:
    """Events of which nothing is lost between two gateways. An
    integer beyond 64 bits comes out of any JSON as a float."""
    held = getattr(event, "detail", getattr(event, "input", None))
    if load(dump(held).encode()) != held:
        return False
    return not isinstance(event, e.RunAssigned | RunFinished | e.UsageReported)


@given(events().filter(comes_back))
def test_what_a_gateway_tells_another_one_hears(event: e.Event) -> None:
    heard = back(tell(STARTED, event))
    if isinstance(event, e.StateChanged) and event.state is RunState.QUEUED:
        event = attrs.evolve(event, state=RunState.STARTING)
    if isinstance(event, e.ToolProgressed | e.ReasoningProduced):
        texts = [each.text for each in heard[1:]]  # type: ignore[union-attr]
        assert "".join(texts) == event.text
        assert type(heard[1]) is type(event)
        return
    assert heard == [STARTED, event]


@given(outcomes())
@example(Outcome(RunState.FAILED, Reason.EXITED, exit_code=-(1 << 31)))
def test_an_end_comes_back_as_it_was(outcome: Outcome) -> None:
    (*_, end) = back(tell(STARTED, RunFinished(outcome)))
    assert isinstance(end, RunFinished)
    read = {"native": None}
    assert attrs.evolve(end.outcome, **read) == attrs.evolve(outcome, **read)


@given(st.lists(events().filter(lambda event: not isinstance(event, RunFinished)), max_size=6))
def test_any_run_begins_once_and_numbers_never_fall(happened: list[e.Event]) -> None:
    told = tell(*happened, RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED)))
    assert {each.type for each in told} <= TYPES
    assert [each.type for each in told if each.type != "delta"] == ["start", "cancelled"]
    assert told[0].type == "start"
    assert told[-1].type == "cancelled"
    seqs = [int(each.metadata["gateway.seq"]) for each in told if "gateway.seq" in each.metadata]
    assert seqs == sorted(set(seqs))
    assert seqs[-1] == len(happened) + 1


def test_what_comes_before_the_start_rides_in_it() -> None:
    (start,) = tell(
        e.StateChanged(RunState.QUEUED, "queued"),
        e.RunAssigned("local/w", 1),  # type: ignore[arg-type]
        e.Diagnosed("careful", "hm"),
        e.RunStarted(pid=7),
    )
    assert (start.type, start.metadata["gateway.seq"]) == ("start", "4")
    assert back([start]) == [
        e.StateChanged(RunState.STARTING, "queued"),
        e.Diagnosed("careful", "hm"),
        e.RunStarted(7),
    ]


def test_a_run_that_goes_to_work_without_a_word_is_started_first() -> None:
    told = tell(e.TextProduced("hi"))
    assert [(each.type, each.metadata.get("gateway.seq")) for each in told] == [
        ("start", None),
        ("delta", "1"),
    ]


def test_a_session_that_opens_first_is_the_start() -> None:
    told = tell(e.SessionOpened("s", "big"), e.RunStarted())
    assert [(each.type, each.session_id) for each in told] == [("start", "s"), ("delta", "s")]
    assert back(told) == [e.SessionOpened("s", "big"), e.RunStarted()]


def test_half_a_character_waits_for_its_rest_and_the_bytes_are_exact() -> None:
    euro = "€".encode()
    told = tell(
        STARTED,
        e.OutputProduced(Stream.STDOUT, b"a" + euro[:2]),
        e.OutputProduced(Stream.STDOUT, euro[2:] + b"b", 3),
    )
    assert [each.delta for each in told] == ["", "a", "€b"]
    body = base64.b64encode(b"a" + euro[:2]).decode()
    assert told[1].metadata["gateway.body"] == f'{{"data_base64":"{body}"}}'
    assert told[1].metadata["gateway.stream"] == "stdout"


def test_bytes_that_are_no_text_are_shown_as_such_at_once_or_at_the_end() -> None:
    told = tell(
        STARTED,
        e.OutputProduced(Stream.STDERR, b"\xff\xfe"),
        e.OutputProduced(Stream.STDERR, b"\xe2\x82", 2),
        finished(RunState.SUCCEEDED, Reason.EXITED),
    )
    assert [each.delta for each in told] == ["", "\ufffd\ufffd", "", "\ufffd", ""]
    assert "gateway.seq" not in told[3].metadata
    heard = back(told)
    assert heard[1:3] == [
        e.OutputProduced(Stream.STDERR, b"\xff\xfe"),
        e.OutputProduced(Stream.STDERR, b"\xe2\x82", 2),
    ]
    assert isinstance(heard[3], RunFinished)


def test_usage_rides_on_its_event_and_on_the_last_one() -> None:
    told = tell(
        STARTED,
        e.UsageReported(1 << 40, 7, {"cost": 1}),
        finished(RunState.SUCCEEDED, Reason.EXITED),
    )
    usage = w.Usage((1 << 31) - 1, 7)
    assert [each.usage for each in told] == [None, usage, usage]
    assert back(told)[1] == e.UsageReported(1 << 40, 7, {"cost": 1})
    assert len(back(told)) == 3


def test_usage_that_counts_nothing_is_a_body_only() -> None:
    told = tell(STARTED, e.UsageReported(detail={"note": "x"}))
    assert told[1].usage is None
    assert back(told)[1] == e.UsageReported(detail={"note": "x"})


@pytest.mark.parametrize(
    ("end", "shown"),
    [
        (finished(RunState.SUCCEEDED, Reason.EXITED, text="done"), ("complete", "done", "")),
        (finished(RunState.CANCELED, Reason.CANCELED, "by you"), ("cancelled", "by you", "")),
        (finished(RunState.LOST, Reason.LOST, "gone"), ("error", "gone", "node lost")),
        (
            finished(RunState.FAILED, Reason.EXITED, exit_code=3),
            ("error", "", "exited with status 3"),
        ),
        (
            finished(RunState.FAILED, Reason.EXITED, signal="SIGHUP"),
            ("error", "", "ended by SIGHUP"),
        ),
        (finished(RunState.FAILED, Reason.ERROR), ("error", "", "error")),
        (
            finished(RunState.FAILED, Reason.ERROR, "boom", text="so far"),
            ("error", "so far", "boom"),
        ),
        (
            finished(RunState.FAILED, Reason.TIMED_OUT, "its time passed"),
            ("error", "", "timeout: its time passed"),
        ),
        (
            finished(RunState.FAILED, Reason.TIMED_OUT, "timeout: over"),
            ("error", "", "timeout: over"),
        ),
    ],
)
def test_ends(end: RunFinished, shown: tuple[str, str, str]) -> None:
    told = tell(STARTED, end)[-1]
    assert (told.type, told.message, told.error) == shown


def test_a_refused_run_has_no_start() -> None:
    text = "workspace_outside_root: /etc is not below /work"
    (told,) = tell(finished(RunState.FAILED, Reason.REFUSED, text))
    assert (told.type, told.error) == ("error", text)
    assert back([told]) == [finished(RunState.FAILED, Reason.REFUSED, text)]


def test_a_nodes_own_metadata_comes_back_with_the_last_event() -> None:
    kept = {"iop": {"metadata": {"own": "x", "n": 5}}}
    told = tell(STARTED, finished(RunState.SUCCEEDED, Reason.EXITED, native=kept))[-1]
    assert told.metadata["own"] == "x"
    assert "n" not in told.metadata
    for native in ("odd", {"iop": 1}, {"iop": {"metadata": 1}}):
        told = tell(STARTED, finished(RunState.SUCCEEDED, Reason.EXITED, native=native))[-1]
        assert told.metadata.keys() == {"gateway.seq", "gateway.body"}


def test_who_and_which_session_are_filled_in() -> None:
    run = run_of("asked")
    narrator = Narrator(run, "r1")
    events = number(RUN, e.RunAssigned("pool/n7", 1), STARTED, e.SessionOpened("own"))  # type: ignore[arg-type]
    told = [each for recorded in events for each in narrator.tell(recorded)]
    assert [(each.node_id, each.session_id) for each in told] == [("n7", "asked"), ("n7", "own")]
    assert narrator.started


def test_begun_in_the_middle_it_goes_on_from_what_is_known() -> None:
    usage = e.UsageReported(1, 2)
    run = run_of(native_session="s", worker="pool/n7", usage=usage)
    narrator = Narrator(run, "r1", started=True)
    (recorded,) = number(RUN, finished(RunState.SUCCEEDED, Reason.EXITED), first=9)
    (told,) = narrator.tell(recorded)
    assert (told.node_id, told.session_id, told.usage) == ("n7", "s", w.Usage(1, 2))


def test_a_word_about_a_run_that_waits() -> None:
    told = Narrator(run_of(), "r1", node="n1").queued(START)
    assert back([told]) == [e.StateChanged(RunState.STARTING, "queued")]


@pytest.mark.limit("protocols/iop/narrator._MAX_BEFORE")
def test_a_long_wait_does_not_grow_the_start_without_bound() -> None:
    waiting = [e.Diagnosed(f"{at}") for at in range(70)]
    told = tell(*waiting, STARTED)
    assert told[0].type == "start"
    heard = back(told)
    assert [each for each in heard if isinstance(each, e.Diagnosed)] == waiting


def test_the_worker_s_time_is_told_where_it_says_one_and_never_goes_back() -> None:
    happened = (STARTED, *map(e.TextProduced, "abcd"), finished(RunState.SUCCEEDED, Reason.EXITED))
    said = (START - 9, None, START - 20, START + 5, START + 3, None)
    narrator, times = Narrator(run_of(), "r1"), []
    for recorded, time in zip(number(RUN, *happened), said, strict=True):
        source = e.Source(Epoch(1), recorded.seq, time)
        for told in narrator.tell(attrs.evolve(recorded, source=source)):
            times.append(told.timestamp)
    assert times == [START - 9, START, START, START + 5, START + 5, START + 5]


@given(st.lists(st.none() | st.integers(-9, 9), min_size=2, max_size=9), st.data())
def test_whoever_begins_in_the_middle_is_told_the_same_times(
    said: list[int | None], data: st.DataObject
) -> None:
    """As the core records them: what the worker says, and what the gateway says in between."""
    run = run_of()
    slot = Slot(run)
    slot.run = attrs.evolve(run, state=RunState.RUNNING)
    slot.last_time = START
    recorded: list[e.Recorded] = []
    for at, offset in enumerate(said, 1):
        source = e.Source(Epoch(1), at, None if offset is None else START + offset)
        recorded.append(slot.number(e.TextProduced("x"), START + 5, slot.timed(source, START + 5)))
        slot.run = attrs.evolve(slot.run, accepted=True)
    whole = Narrator(run, "r1", started=True)
    times = [told.timestamp for each in recorded for told in whole.tell(each)]
    assert times == sorted(times)
    after = data.draw(st.integers(0, len(said)))
    late = Narrator(slot.run, "r1", started=True)
    heard = [told.timestamp for each in recorded[after:] for told in late.tell(each)]
    assert heard == times[after:]
