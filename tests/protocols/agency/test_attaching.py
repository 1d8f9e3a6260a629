"""Attaching to the runs of a daemon that drops links: who is attached when, who is given up.
Other attachments are in `test_southbound`."""

from __future__ import annotations

from collections import deque
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Admission, Held
from fleetgate.core.commands import Order
from fleetgate.core.events import GapFound, Outcome, Reason, RunFinished, RunState
from fleetgate.core.hub_testing import POOL, TrioClock, hub_on, read_until
from fleetgate.core.ids import Epoch, OrderNumber, RunId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.run import Run
from fleetgate.gateway.connection import Driver
from fleetgate.gateway.testing import SeenLink
from fleetgate.protocols import api
from fleetgate.protocols.agency import ADAPTER, endings, wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.codec import decode_client
from fleetgate.protocols.agency.encode import encode_event, encode_server
from fleetgate.protocols.agency.testing import (
    REQUEST,
    admit,
    make_run,
    no,
    play_client,
    say,
    welcome,
    yes,
)
from fleetgate.protocols.agency.translate import to_spec
from fleetgate.protocols.agency.translate_events import to_event
from fleetgate.protocols.api import Annotate, Close, Record, Settle, Wake, WorkerReady
from fleetgate.protocols.testing import SECOND, START, Playbook, Sent, slot
from fleetgate.transports.memory import MemoryLink, memory_link_pair

A, B = RunId("gui/a"), RunId("gui/b")


def taken(name: str, tries: int = 0, native_seq: int = 5) -> Held:
    note = {"attach": {"after": native_seq, "tries": tries}}
    run = make_run(name, accepted=True, native_seq=native_seq, state=RunState.RUNNING)
    return Held(attrs.evolve(run, notes={"agency": note}), ())


def snapshot(
    run: str, latest: int, state: wire.RunState = wire.RunState.RUNNING, acknowledged: int = 0
) -> wire.RunSnapshot:
    return wire.RunSnapshot(run, state, "claude", "", latest, acknowledged, ("/w",))


def attached(id: int, run: wire.RunSnapshot) -> wire.Response:
    return wire.Response(id, wire.RunAnswer(run))


def text(run: str, sequence: int) -> bytes:
    return encode_event(run, sequence, w.Text(str(sequence)))


def recorded(run: str, sequence: int) -> Record:
    return Record(RunId(run), (e.TextProduced(str(sequence)),), sequence)


def noted(run: str, after: int, tries: int) -> Annotate:
    return Annotate(RunId(run), "agency", {"attach": {"after": after, "tries": tries}})


def stands(play: Playbook) -> Playbook:
    """The link stands for a while: the time for hello passes first."""
    play.tick().expect(Wake(play.now + 20 * SECOND))
    return play


# --- frame by frame


def test_a_run_with_few_failures_is_attached_like_all_others() -> None:
    runs = (snapshot(A, 9), snapshot(B, 6))
    with admit(play_client(), taken("a", 2), taken("b"), runs=runs) as play:
        play.expect(
            noted(A, 5, 3),
            Sent(say(3, wire.AttachRun(A, 5))),
            noted(B, 5, 1),
            Sent(say(4, wire.AttachRun(B, 5))),
            WorkerReady(),
        )
        play.receive(attached(3, runs[0])).expect()
        play.receive(text(A, 6)).expect(recorded(A, 6))
        play.receive(attached(4, runs[1])).expect()


def test_a_suspect_is_attached_once_the_others_have_what_they_were_owed() -> None:
    runs = (snapshot(A, 9), snapshot(B, 7))
    with admit(play_client(), taken("a", 3), taken("b"), runs=runs) as play:
        play.expect(noted(B, 5, 1), Sent(say(3, wire.AttachRun(B, 5))), WorkerReady())
        play.receive(attached(3, runs[1])).expect()
        play.receive(text(B, 6)).expect(recorded(B, 6))
        play.receive(text(B, 7)).expect(
            recorded(B, 7), noted(A, 5, 4), Sent(say(4, wire.AttachRun(A, 5)))
        )
        play.receive(attached(4, runs[0])).expect()
        play.receive(text(A, 6)).expect(recorded(A, 6))


def test_suspects_are_attached_one_at_a_time() -> None:
    runs = (snapshot(A, 6), snapshot(B, 6))
    with admit(play_client(), taken("a", 3), taken("b", 3), runs=runs) as play:
        play.expect(WorkerReady(), noted(A, 5, 4), Sent(say(3, wire.AttachRun(A, 5))))
        play.receive(attached(3, runs[0])).expect()
        play.receive(text(A, 6)).expect(
            recorded(A, 6), noted(B, 5, 4), Sent(say(4, wire.AttachRun(B, 5)))
        )


def test_a_suspect_whose_attachment_fails_lets_the_next_one_in() -> None:
    runs = (snapshot(A, 6), snapshot(B, 6))
    with admit(play_client(), taken("a", 3), taken("b", 3), runs=runs) as play:
        play.expect(WorkerReady(), noted(A, 5, 4), slot())
        play.receive(no(3, wire.ErrorCode.NOT_FOUND, "run does not exist")).expect(
            endings.lost(A, endings.UNKNOWN_RUN), noted(B, 5, 4), Sent(say(4, wire.AttachRun(B, 5)))
        )


def test_a_replay_that_gets_nowhere_keeps_a_suspect_waiting_for_a_while_only() -> None:
    runs = (snapshot(A, 9), snapshot(B, 7))
    with admit(play_client(), taken("a", 3), taken("b"), runs=runs) as play:
        play.take()
        play.receive(attached(3, runs[1])).take()
        stands(play).tick().expect(noted(A, 5, 4), Sent(say(4, wire.AttachRun(A, 5))), slot())


def test_events_that_somebody_acknowledged_are_owed_to_nobody() -> None:
    run = snapshot(A, 9, acknowledged=9)
    with admit(play_client(), taken("a", 9), runs=(run,)) as play:
        play.expect(Sent(say(3, wire.AttachRun(A, 5))), WorkerReady())
        play.receive(attached(3, run)).expect()


ENDS = [
    (wire.RunState.COMPLETED, RunState.SUCCEEDED),
    (wire.RunState.FAILED, RunState.FAILED),
    (wire.RunState.CANCELED, RunState.CANCELED),
    (wire.RunState.INTERRUPTED, RunState.LOST),
]


@pytest.mark.parametrize(("theirs", "ours"), ENDS)
def test_a_run_that_was_given_up_and_has_ended_ends_by_its_state(
    theirs: wire.RunState, ours: RunState
) -> None:
    with admit(play_client(), taken("a", 5), runs=(snapshot(A, 9, theirs),)) as play:
        why, message = slot(), slot()
        outcome = Outcome(ours, slot(), message)
        play.expect(Record(A, (GapFound(6, 9, why), RunFinished(outcome)), 9), WorkerReady())
        assert why.value in message.value
        play.committed(A, 9).expect()


def given_up(play: Playbook) -> Playbook:
    """A run that goes on was given up: it is not attached."""
    return stands(play.expect(WorkerReady()))


def test_a_run_that_was_given_up_and_goes_on_is_looked_up_until_it_ends() -> None:
    going, over = snapshot(A, 9), snapshot(A, 12, wire.RunState.COMPLETED)
    with admit(play_client(), taken("a", 5), runs=(going,)) as play:
        given_up(play).tick().expect(Sent(say(3, wire.ListRuns())), Wake(play.now + 30 * SECOND))
        play.receive(wire.Response(3, wire.Runs((going,)))).expect()
        play.tick().expect(Sent(say(4, wire.ListRuns())), slot())
        play.receive(no(4, wire.ErrorCode.INTERNAL, "not now")).expect()
        play.tick().expect(Sent(say(5, wire.ListRuns())), slot())
        end = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, slot()))
        play.receive(wire.Response(5, wire.Runs((over,)))).expect(
            Record(A, (GapFound(6, 12, slot()), end), 12)
        )
        play.tick().expect()
        assert play.wake is None


def test_a_run_that_was_given_up_and_that_the_daemon_forgets_is_lost() -> None:
    with admit(play_client(), taken("a", 5), runs=(snapshot(A, 9),)) as play:
        given_up(play).tick().take()
        play.receive(wire.Response(3, wire.Runs(()))).expect(endings.lost(A, endings.UNKNOWN_RUN))


def test_a_run_that_was_given_up_is_attached_again_where_nothing_is_owed_any_more() -> None:
    freed = snapshot(A, 9, acknowledged=9)
    with admit(play_client(), taken("a", 5), runs=(snapshot(A, 9),)) as play:
        given_up(play).tick().take()
        play.receive(wire.Response(3, wire.Runs((freed,)))).expect(
            Sent(say(4, wire.AttachRun(A, 5)))
        )


@pytest.mark.parametrize("state", wire.RunState)
def test_a_run_that_was_given_up_before_it_was_known_to_be_ours(state: wire.RunState) -> None:
    """No answer to an attachment ever came through: the list alone tells whose run it is."""
    held = taken("a", 5)
    held = attrs.evolve(held, run=attrs.evolve(held.run, accepted=False))
    other = attrs.evolve(snapshot(A, 9, state), provider="codex")
    with admit(play_client(), held, runs=(other,)) as play:
        play.expect(endings.refused(A, "the daemon has another run of this id"), WorkerReady())


def test_a_run_that_was_given_up_can_be_canceled() -> None:
    with admit(play_client(), taken("a", 5), runs=(snapshot(A, 9),)) as play:
        given_up(play).perform(Order(A, OrderNumber(1), c.CancelRun(A))).expect(
            Sent(say(3, wire.CancelRun(A, f"{A}:cancel")))
        )
        play.receive(yes(3)).expect(Settle(A, OrderNumber(1)))


def test_how_patient_it_is_can_be_set() -> None:
    settings = {"suspect_after": 1, "give_up_after": 3, "suspect_poll": 7.0}
    runs = (snapshot(A, 9), snapshot(B, 9))
    with admit(play_client(**settings), taken("a", 1), taken("b", 3), runs=runs) as play:
        play.expect(
            WorkerReady(),
            noted(A, 5, 2),
            Sent(say(3, wire.AttachRun(A, 5))),
            Wake(play.now + 7 * SECOND),
        )


# --- against a daemon


class Daemon:
    """A daemon that replays, and a gateway whose links to it come and go. It sends answers at
    once and events in turn, a run after the other, as far as its `lasts` reach: the number of
    frames before a link ends. At a `poison` event every link ends instead."""

    def __init__(self, **lengths: int) -> None:
        self.events = {RunId(f"gui/{name}"): length for name, length in lengths.items()}
        self.states = dict.fromkeys(self.events, wire.RunState.RUNNING)
        self.poison: tuple[str, int] | None = None
        self.canceled: list[str] = []
        spec = to_spec(REQUEST)
        self.held = {
            run: Run(run, spec, c.Origin("gui", run), 1, state=RunState.RUNNING, accepted=True)
            for run in self.events
        }
        self.recorded: dict[RunId, list[e.Event]] = {run: [] for run in self.events}
        self.wake: int | None = None

    def link(self, lasts: int = 10_000) -> bool:
        """One link, until nothing more happens. Whether it still stands."""
        self.client = ADAPTER.southbound.open(ADAPTER.southbound.settings(acknowledge=False))
        self.inbox: deque[bytes] = deque()
        self.outbox: deque[tuple[str, int]] = deque()
        self.left, self.wake = lasts, None
        self.perform(self.client.opened(api.Opening(link="pool"), START))
        return self.go_on()

    def stands(self) -> bool:
        """A link that nothing ends from outside; whether it still stands after a while."""
        up = self.link()
        while up and self.wake is not None and self.wake <= START + 60 * SECOND:
            up = self.tick()
        return up

    def go_on(self) -> bool:
        while self.inbox or self.outbox:
            if self.left <= 0 or (not self.inbox and self.outbox[0] == self.poison):
                self.client.closed("dropped", START)
                return False
            self.left -= 1
            if self.inbox:
                self.answer(self.inbox.popleft())
            else:
                run, at = self.outbox.popleft()
                self.say(encode_event(run, at, self.event(RunId(run), at)))
        return True

    def event(self, run: RunId, at: int) -> w.RunEvent:
        over = at == self.events[run] and self.states[run] is not wire.RunState.RUNNING
        return w.Failed("boom") if over else w.Text(str(at))

    def tick(self) -> bool:
        assert self.wake is not None
        now, self.wake = self.wake, None
        self.perform(self.client.tick(now))
        return self.go_on()

    def say(self, frame: bytes) -> None:
        self.perform(self.client.receive(frame, START))

    def answer(self, frame: bytes) -> None:
        asked = decode_client(frame, 4)
        assert isinstance(asked, wire.ClientFrame)
        said: wire.ServerResponse = wire.Accepted()
        match asked.message:
            case wire.Hello():
                return self.say(encode_server(welcome(id=asked.request_id)))
            case wire.ListRuns():
                said = wire.Runs(tuple(map(self.snapshot, self.events)))
            case wire.AttachRun(run_id=run, after_sequence=after):
                said = wire.RunAnswer(self.snapshot(RunId(run)))
                last = self.events[RunId(run)]
                self.outbox += [(run, at) for at in range(after + 1, last + 1)]
            case wire.CancelRun(run_id=run):
                self.canceled.append(run)
            case wire.DetachRun():
                pass
            case other:
                raise AssertionError(other)
        return self.say(encode_server(wire.Response(asked.request_id, said)))

    def snapshot(self, run: RunId) -> wire.RunSnapshot:
        return snapshot(run, self.events[run], self.states[run])

    def perform(self, steps: api.Steps) -> None:
        for step in steps:
            match step:
                case api.Send(frame=frame):
                    self.inbox.append(frame)
                case api.Wake(at=at):
                    self.wake = at
                case api.Record():
                    self.record(step)
                case api.Annotate(run=run, name=name, value=value):
                    kept: Any = {**self.held[run].notes, name: value}
                    self.held[run] = attrs.evolve(self.held[run], notes=kept)
                case api.AnnounceWorker():
                    live = [Held(r, ()) for r in self.held.values() if not r.state.terminal]
                    self.perform(self.client.reply(None, Admission(Epoch(1), tuple(live)), START))
                case api.WorkerReady() | api.Settle():
                    pass
                case _:
                    raise AssertionError(step)

    def record(self, step: Record) -> None:
        run = self.held[step.run]
        assert step.native_seq is not None
        assert step.native_seq > run.native_seq
        state = run.state
        for event in step.events:
            state = event.outcome.state if isinstance(event, RunFinished) else state
        self.held[step.run] = attrs.evolve(run, native_seq=step.native_seq, state=state)
        self.recorded[step.run] += step.events
        self.perform(self.client.committed(step.run, step.native_seq, START))

    def whole(self, run: RunId) -> bool:
        """Whether all events of the run came, each once, in order."""
        sent = [self.event(run, at) for at in range(1, self.events[run] + 1)]
        return self.recorded[run] == [each for event in sent for each in to_event(event)]


def test_a_run_that_no_link_survives_ends_and_takes_no_other_run_along() -> None:
    daemon = Daemon(a=4, b=6, c=3)
    daemon.poison = (A, 4)
    daemon.states[A] = wire.RunState.COMPLETED
    links = 1
    while not daemon.stands():
        assert links < 10
        links += 1
    assert links == 1 + 5 + 1, "one that still brought events, five that did not, a good one"
    assert all(daemon.whole(run) for run in daemon.events if run != A)
    *texts, gap, end = daemon.recorded[A]
    assert texts == [e.TextProduced(str(at)) for at in (1, 2, 3)]
    assert isinstance(gap, GapFound)
    assert (gap.from_seq, gap.to_seq) == (4, 4)
    assert isinstance(end, RunFinished)
    assert end.outcome.state is RunState.SUCCEEDED


def test_a_run_that_goes_on_behind_an_event_that_no_link_survives_ends_at_last() -> None:
    daemon = Daemon(a=4, b=6)
    daemon.poison = (A, 2)
    assert any(daemon.stands() for _ in range(10))
    assert daemon.whole(B)
    assert daemon.held[A].state is RunState.RUNNING
    order = Order(A, OrderNumber(1), c.CancelRun(A))
    daemon.perform(daemon.client.perform(order, START))
    assert daemon.go_on()
    assert daemon.canceled == [A]
    assert daemon.held[A].state is RunState.RUNNING
    daemon.events[A], daemon.states[A] = 5, wire.RunState.CANCELED
    for _ in range(3):
        assert daemon.tick()
    assert daemon.held[A].state is RunState.CANCELED
    assert isinstance(daemon.recorded[A][-2], GapFound)


def test_runs_that_were_under_way_beside_it_are_cleared() -> None:
    """All were attached before the first event came, so each link counts against all of them
    until they are attached one at a time."""
    daemon = Daemon(a=1, b=5, c=5)
    daemon.poison = (A, 1)
    daemon.states[A] = wire.RunState.FAILED
    assert any(daemon.stands() for _ in range(10))
    assert daemon.held[A].state is RunState.FAILED
    for run in (B, RunId("gui/c")):
        assert daemon.whole(run)
        assert not daemon.held[run].state.terminal


def test_the_last_attempt_waits_until_the_link_has_stood_for_a_while() -> None:
    run = snapshot(A, 9)
    with admit(play_client(), taken("a", 4), runs=(run,)) as play:
        play.expect(WorkerReady())
        stands(play).tick().expect(noted(A, 5, 5), Sent(say(3, wire.AttachRun(A, 5))), slot())
        play.receive(attached(3, run)).expect()


def test_an_event_that_cannot_be_read_counts_like_one_that_cannot_be_sent() -> None:
    with admit(play_client(), taken("a", 3), runs=(snapshot(A, 9),)) as play:
        play.expect(WorkerReady(), noted(A, 5, 4), slot())
        play.receive(attached(3, snapshot(A, 9))).expect()
        play.receive(b"\0{").fails(Close(None, slot()))


@given(
    st.lists(st.integers(0, 25), max_size=60),
    st.fixed_dictionaries({name: st.integers(0, 12) for name in "abc"}),
)
def test_a_link_that_flaps_condemns_no_run_of_a_healthy_daemon(
    lasts: list[int], lengths: dict[str, int]
) -> None:
    """However many links end, and after whatever number of frames."""
    daemon = Daemon(**lengths)
    for each in lasts:
        daemon.link(each)
    assert daemon.stands()
    assert all(daemon.whole(run) for run in daemon.events)
    assert not any(run.state.terminal for run in daemon.held.values())


@pytest.mark.parametrize("lasts", [3, 5])
def test_nor_one_that_always_ends_before_the_first_event(lasts: int) -> None:
    daemon = Daemon(a=3, b=3, c=3)
    daemon.states = dict.fromkeys(daemon.states, wire.RunState.FAILED)
    for _ in range(50):
        daemon.link(lasts)
    assert daemon.stands()
    assert all(daemon.whole(run) for run in daemon.events)


# --- through the driver and the hub


class Server:
    """The daemon's end of links in memory. The second event of the run `gui/a` never leaves:
    the link breaks instead."""

    def __init__(self) -> None:
        self.attached: list[RunId] = []

    async def serve(self, link: MemoryLink) -> None:
        while True:
            asked = decode_client(await link.receive(), 4)
            assert isinstance(asked, wire.ClientFrame)
            answer, last = self.answer(asked.message)
            await link.send(encode_server(wire.Response(asked.request_id, answer)))
            if isinstance(asked.message, wire.AttachRun):
                run = RunId(asked.message.run_id)
                self.attached.append(run)
                for at in range(asked.message.after_sequence + 1, last + 1):
                    if (run, at) == (A, 2):
                        return await link.close(None)
                    await link.send(text(run, at))

    def answer(self, message: wire.ClientMessage) -> tuple[wire.ServerResponse, int]:
        runs = [snapshot(A, 2, wire.RunState.COMPLETED), snapshot(B, 3)]
        match message:
            case wire.Hello():
                said = welcome().response
                assert isinstance(said, wire.HelloAnswer)
                return said, 0
            case wire.ListRuns():
                return wire.Runs(tuple(run for run in runs if run.run_id in self.attached)), 0
            case wire.AttachRun(run_id=run_id):
                (run,) = [run for run in runs if run.run_id == run_id]
                return wire.RunAnswer(run), run.latest_sequence
            case _:
                return wire.Accepted(), 0


async def test_what_was_learnt_of_a_run_outlives_the_link_that_broke_on_it(
    autojump_clock: MockClock,
) -> None:
    server = Server()

    async def links() -> None:
        while True:
            near, far = memory_link_pair(limit=wire.MAX_FRAME)
            client = ADAPTER.southbound.open(ADAPTER.southbound.settings())
            async with trio.open_nursery() as nursery:
                nursery.start_soon(server.serve, far)
                await Driver(near, client, hub, TrioClock(), SeenLink()).run(api.Opening(link=POOL))
                nursery.cancel_scope.cancel()

    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(links)
        for run in (A, B):
            await hub.submit(c.StartRun(run, to_spec(REQUEST), c.Origin("gui", run)))
        # assigned, accepted, one text, a gap, the end
        *_, gap, end = [each.event for each in await read_until(hub, A, 5)]
        assert isinstance(gap, GapFound)
        assert (gap.from_seq, gap.to_seq) == (2, 2)
        assert isinstance(end, RunFinished)
        assert end.outcome.state is RunState.SUCCEEDED
        texts = [each.event for each in await read_until(hub, B, 5)][2:]
        assert texts == [e.TextProduced(str(at)) for at in (1, 2, 3)]
        assert server.attached.count(A) >= 5
        nursery.cancel_scope.cancel()
