"""Our client against our daemon, frame by frame, with the link cut anywhere (I1, I4, I10)."""

from collections import deque
from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, Admission, Answer, Held, RunList
from fleetgate.core.commands import Order
from fleetgate.core.errors import RunNotFound
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq, WorkerId
from fleetgate.core.run import Run
from fleetgate.core.sequence import acknowledge
from fleetgate.protocols import api
from fleetgate.protocols.agency import ADAPTER, wire
from fleetgate.protocols.agency.testing import REQUEST
from fleetgate.protocols.agency.translate import to_spec
from fleetgate.protocols.agency.translate_events import from_event, to_event, view_of
from fleetgate.protocols.testing import START, number

ID = RunId("up/run-1")
ACCEPTED = e.StateChanged(RunState.STARTING, "accepted")


class Bench:
    """A gateway with a client of ours, and a daemon of ours that has at most one run. Frames go
    over at once; a cut loses what a paused daemon had not read."""

    def __init__(self, settings: Any = None) -> None:
        self.run: Run | None = None
        self.published: list[e.Event] = []
        self.held = Run(ID, to_spec(REQUEST), c.Origin("up", "run-1"), created=1)
        self.recorded: list[e.Event] = []
        self.acked = 0
        self.frames = 0
        self.reported: list[str] = []
        self._settings = settings

    # --- the link

    def connect(self) -> None:
        side = ADAPTER.northbound
        self.daemon = side.open(self._settings or side.settings())
        self.client = ADAPTER.southbound.open(ADAPTER.southbound.settings(ack_every=3))
        self.inbox: deque[bytes] = deque()
        self.paused = False
        self.followed: int | None = None
        self.at_daemon(self.daemon.opened(api.Opening(link="gui"), START))
        self.at_client(self.client.opened(api.Opening(link="pool"), START))

    def at_daemon(self, steps: api.Steps) -> None:
        for step in steps:
            match step:
                case api.Send(frame=frame):
                    assert len(frame) <= wire.MAX_FRAME
                    self.frames += 1
                    self.at_client(self.client.receive(frame, START))
                case api.Submit(command=command, reply_to=key):
                    self.at_daemon(self.daemon.reply(key, self.answer(command), START))
                case api.Follow(after=after):
                    self.followed = after
                case api.Unfollow():
                    self.followed = None
                case api.Pause() | api.Resume():
                    self.paused = isinstance(step, api.Pause)
                case api.Report(what=what):
                    self.reported.append(what)
                case api.Wake():
                    pass
                case _:
                    raise AssertionError(step)
        self.read()
        self.catch_up()

    def read(self) -> None:
        while self.inbox and not self.paused:
            self.at_daemon(self.daemon.receive(self.inbox.popleft(), START))

    def at_client(self, steps: api.Steps) -> None:
        for step in steps:
            match step:
                case api.Send(frame=frame):
                    self.inbox.append(frame)
                    self.read()
                case api.Record():
                    self.record(step)
                case api.AnnounceWorker():
                    live = () if self.held.state.terminal else (Held(self.held, ()),)
                    self.at_client(self.client.reply(None, Admission(Epoch(1), live), START))
                case api.Annotate(name=name, value=value):
                    self.held = attrs.evolve(self.held, notes={**self.held.notes, name: value})
                case api.WorkerReady() | api.Wake() | api.Settle():
                    pass
                case _:
                    raise AssertionError(step)

    # --- the gateway's core

    def record(self, step: api.Record) -> None:
        native = step.native_seq
        self.held = attrs.evolve(self.held, accepted=True)
        if native is None or native > self.held.native_seq:
            self.recorded += [event for event in step.events if event != ACCEPTED]
            reached = self.held.native_seq if native is None else native
            ends = [event for event in step.events if isinstance(event, e.RunFinished)]
            state = ends[0].outcome.state if ends else self.held.state
            self.held = attrs.evolve(self.held, native_seq=reached, state=state)
        self.at_client(self.client.committed(ID, self.held.native_seq, START))

    # --- the daemon's core

    def answer(self, command: c.Command) -> Answer:
        match command:
            case c.StartRun():
                before, self.run = (
                    self.run,
                    self.run or Run(command.run, command.spec, command.origin, created=1),
                )
                return Accepted(before, self.run)
            case c.ListRuns():
                return RunList(() if self.run is None else (self.run,))
            case c.DescribeRun() if self.run is not None and command.run == self.run.id:
                return Accepted(self.run, self.run)
            case c.AcknowledgeRun(run=run, through=through) if self.run and run == self.run.id:
                reached = acknowledge(self.run.acknowledged, self.run.last_seq, through)
                before, self.run = self.run, attrs.evolve(self.run, acknowledged=reached)
                return Accepted(before, self.run)
            case _:
                return RunNotFound("no such run")

    def publish(self, event: e.Event) -> None:
        assert self.run is not None
        self.published.append(event)
        state = RunState.RUNNING
        if isinstance(event, e.RunFinished):
            state = event.outcome.state
        self.run = attrs.evolve(self.run, last_seq=Seq(len(self.published)), state=state)
        self.catch_up()

    def catch_up(self) -> None:
        if self.run is None or self.followed is None or self.followed >= len(self.published):
            return
        first, self.followed = self.followed, len(self.published)
        batch = number(self.run.id, *self.published[first:], first=first + 1)
        self.at_daemon(self.daemon.deliver(batch, START))

    def expected(self) -> list[e.Event]:
        """What the daemon published, as it looks after a trip over the wire."""
        assert self.run is not None
        view = view_of(attrs.evolve(self.run, native_session=None, usage=None))
        return [far for event in self.published for far in to_event(from_event(event, view))]


TEXT = st.text(max_size=6)
NUMBERS = st.integers(-(2**63), 2**64 - 1)
"""Those that serde_json keeps; any other one comes as a float."""
EVENTS = st.one_of(
    st.builds(e.TextProduced, TEXT),
    st.builds(e.ReasoningProduced, TEXT),
    st.builds(e.OutputProduced, st.sampled_from(Stream), st.binary(min_size=1, max_size=3)),
    st.builds(e.MessageEnded),
    st.builds(e.ToolCalled, TEXT, st.none() | st.lists(NUMBERS, max_size=2), TEXT),
    st.builds(e.ToolReturned, TEXT, st.none() | st.booleans(), st.none() | TEXT),
    st.builds(e.ApprovalRequested, TEXT, TEXT),
    st.builds(e.UsageReported, st.integers(0, 9), st.integers(0, 9)),
    st.builds(e.SessionOpened, TEXT),
    st.builds(e.RunAssigned, st.just(WorkerId("w")), st.just(Epoch(1))),
    st.builds(e.Diagnosed, TEXT, TEXT),
    st.builds(e.GapFound, st.just(1), st.just(2), TEXT),
)
ENDS = st.one_of(
    st.builds(Outcome, st.just(RunState.SUCCEEDED), st.just(Reason.EXITED), text=st.none() | TEXT),
    st.builds(Outcome, st.just(RunState.FAILED), st.sampled_from(Reason), TEXT),
    st.builds(Outcome, st.just(RunState.CANCELED), st.just(Reason.CANCELED)),
    st.builds(Outcome, st.just(RunState.LOST), st.just(Reason.LOST), TEXT),
).map(e.RunFinished)


def begun() -> Bench:
    bench = Bench()
    bench.held = attrs.evolve(bench.held, state=RunState.SUCCEEDED)
    bench.connect()
    bench.held = attrs.evolve(bench.held, state=RunState.STARTING)
    start = c.StartRun(ID, bench.held.spec, bench.held.origin)
    bench.at_client(bench.client.perform(Order(ID, OrderNumber(0), start), START))
    assert bench.run is not None
    assert bench.run.id == "gui/up/run-1"
    return bench


@given(st.lists(EVENTS | st.just("cut"), max_size=30), ENDS)
def test_i1_i4_i10_every_event_arrives_once_and_in_order_however_often_the_link_is_cut(
    script: list[e.Event | str], end: e.Event
) -> None:
    bench = begun()
    for item in [*script, end]:
        if isinstance(item, str):
            bench.connect()
        else:
            bench.publish(item)
    assert bench.recorded == bench.expected()
    assert bench.held.state.terminal


@given(st.lists(EVENTS, min_size=1, max_size=20), ENDS, st.integers(0, 20))
def test_events_that_come_while_the_link_is_away_come_after_it(
    events: list[e.Event], end: e.Event, cut: int
) -> None:
    bench = begun()
    for event in events[:cut]:
        bench.publish(event)
    bench.followed = None
    for event in [*events[cut:], end]:
        bench.publish(event)
    bench.connect()
    assert bench.recorded == bench.expected()


def test_fault_19_a_new_link_repeats_nothing_that_was_journaled() -> None:
    bench = begun()
    for at in range(50):
        bench.publish(e.TextProduced(str(at)))
    for _ in range(100):
        before = bench.frames
        bench.connect()
        assert bench.frames - before == len(("hello", "runs", "run"))
    assert len(bench.recorded) == 50


def test_i3_what_is_journaled_is_acknowledged_and_the_daemon_can_forget_it() -> None:
    bench = begun()
    for at in range(7):
        bench.publish(e.TextProduced(str(at)))
    assert bench.run is not None
    assert bench.run.acknowledged == 6
    bench.publish(e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED)))
    assert bench.run.acknowledged == 8
    assert bench.followed is None


def test_a_run_that_the_restarted_daemon_forgot_is_lost() -> None:
    bench = begun()
    bench.publish(e.TextProduced("x"))
    bench.run, bench.published = None, []
    bench.connect()
    assert bench.held.state is RunState.LOST


def test_a_start_whose_answer_was_lost_is_not_repeated() -> None:
    bench = begun()
    bench.publish(e.TextProduced("x"))
    bench.held = attrs.evolve(bench.held, accepted=False, native_seq=0)
    bench.recorded.clear()
    created = bench.run
    bench.connect()
    assert bench.run == created
    assert bench.recorded == [e.TextProduced("x")]


def test_an_outcome_of_3_mib_fits_into_a_frame_and_says_that_it_was_cut() -> None:
    bench = begun()
    bench.publish(e.TextProduced("x"))
    text = "ä\n" * 1_048_576
    bench.publish(e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, text=text)))
    end = bench.recorded[-1]
    assert isinstance(end, e.RunFinished)
    assert end.outcome.state is RunState.SUCCEEDED
    assert end.outcome.text is not None
    head = end.outcome.text.removesuffix("…(truncated)")
    assert head != end.outcome.text
    assert text.startswith(head)
    assert len(head.encode()) > 600_000
    assert bench.reported == ["event_truncated"]
