"""The two connections against each other, on a link that is cut at any frame.

On either side stands a hub of a few lines: a journal that commits when the test says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import attrs
from hypothesis import example, given
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core import run as rules
from fleetgate.core.answers import Accepted, Admission, Answer, Held, RunList
from fleetgate.core.errors import Refusal, RunNotFound
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq, WorkerId
from fleetgate.core.run import Run
from fleetgate.protocols import api
from fleetgate.protocols.api import Connection, Opening
from fleetgate.protocols.rvbox import codec, limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.northbound import ClientConnection
from fleetgate.protocols.rvbox.retained import is_tombstone
from fleetgate.protocols.rvbox.settings import ClientSettings, ServerSettings
from fleetgate.protocols.rvbox.southbound import ServerConnection
from fleetgate.protocols.rvbox.testing import SESSION
from fleetgate.protocols.rvbox.translate import issue_uuid
from fleetgate.protocols.testing import SECOND, START

EXITED = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))


def uuid_of(id: RunId) -> str:
    return issue_uuid(id, c.Origin("gui", id))


class Side:
    """What both hubs have in common: runs, and a link."""

    def __init__(self) -> None:
        self.runs: dict[RunId, Run] = {}
        self.journal: dict[RunId, list[e.Recorded]] = {}
        self.out: deque[bytes] = deque()
        self.connection: Connection | None = None
        self.wake: int | None = None
        self.now = START

    def append(self, id: RunId, *events: e.Event) -> None:
        for event in events:
            run = rules.evolve(self.runs[id], event)
            seq = Seq(run.last_seq + 1)
            self.runs[id] = attrs.evolve(run, last_seq=seq)
            self.journal[id].append(e.Recorded(id, seq, self.now, event))

    def call(self, call: Callable[[Connection], api.Steps]) -> None:
        if self.connection is not None:
            for step in call(self.connection):
                self.perform(step)

    def perform(self, step: api.Step) -> None:
        match step:
            case api.Send(frame=frame):
                assert len(frame) <= limits.FRAME
                self.out.append(frame)
            case api.Wake(at=at):
                self.wake = at
            case api.Established():
                pass
            case api.Report():
                assert step.what == "rvbox_reconciled", step
            case _:
                self.perform_own(step)

    def perform_own(self, step: api.Step) -> None:
        raise AssertionError(f"nobody expected {step}")

    def tick(self) -> None:
        if self.wake is not None:
            self.now, self.wake = max(self.now, self.wake), None
            self.call(lambda one: one.tick(self.now))


class Server(Side):
    """A hub whose worker is behind the link."""

    def __init__(self) -> None:
        super().__init__()
        self.epoch = 0
        self.free = 0
        self.ready = False
        self.orders: dict[RunId, list[c.Order]] = {}
        self.commits: deque[RunId] = deque()

    def start(self, id: RunId, spec: c.RunSpec) -> None:
        run = Run(id, spec, c.Origin("gui", id), created=self.now)
        self.runs[id], self.journal[id], self.orders[id] = run, [], []
        self.assign()

    def assign(self) -> None:
        for run in list(self.runs.values()):
            if run.worker is None and self.ready and self.free > 0:
                self.free -= 1
                self.append(run.id, e.RunAssigned(WorkerId("w"), Epoch(self.epoch)))
                start = c.StartRun(run.id, run.spec, run.origin)
                order = c.Order(run.id, OrderNumber(0), start, created=run.created)
                self.call(lambda one, order=order: one.perform(order, self.now))

    def give(self, id: RunId, command: c.RunCommand) -> None:
        try:
            verdict = rules.decide(self.runs[id], command)
        except Refusal:
            return
        if not verdict.order:
            return  # only runs that have a worker are commanded here
        run = self.runs[id] = verdict.run
        is_input = isinstance(command, c.SendInput | c.CloseInput)
        order = c.Order(id, run.orders, command, run.inputs if is_input else 0)
        self.orders[id].append(order)
        if self.ready:
            self.call(lambda one: one.perform(order, self.now))

    def perform_own(self, step: api.Step) -> None:
        match step:
            case api.AnnounceWorker(reply_to=key):
                self.epoch += 1
                held = tuple(
                    Held(run, tuple(self.orders[run.id]))
                    for run in self.runs.values()
                    if run.worker is not None and not run.state.terminal
                )
                answer = Admission(Epoch(self.epoch), held)
                self.call(lambda one: one.reply(key, answer, self.now))
            case api.WorkerReady(free=free) | api.ReportCapacity(free=free):
                self.ready = self.ready or isinstance(step, api.WorkerReady)
                self.free = free or 0
                self.assign()
            case api.Record():
                self.record(step)
            case api.Settle(run=id, number=number):
                self.orders[id] = [o for o in self.orders[id] if o.number != number]
            case api.Annotate(run=id, name=name, value=value):
                noted = {**self.runs[id].notes, name: value}
                self.runs[id] = attrs.evolve(self.runs[id], notes=noted)
            case api.Submit(reply_to=key):
                answer_: Answer = RunNotFound("derived ids are found by nobody")
                self.call(lambda one: one.reply(key, answer_, self.now))
            case _:
                super().perform_own(step)

    def record(self, step: api.Record) -> None:
        run = self.runs[step.run]
        assert not run.state.terminal, "nothing is recorded behind the end"
        seq = step.native_seq
        if seq is not None:
            assert seq == run.native_seq + 1, "the client's numbers have no gap and no repeat"
            self.runs[step.run] = attrs.evolve(run, native_seq=seq)
        self.append(step.run, *step.events)
        self.runs[step.run] = attrs.evolve(self.runs[step.run], accepted=True)
        for event in step.events:
            if isinstance(event, e.InputAccepted):
                left = [o for o in self.orders[step.run] if not 0 < o.input <= event.through]
                self.orders[step.run] = left
        self.commits.append(step.run)

    def commit(self) -> None:
        """What was recorded first is durable."""
        if self.commits:
            id = self.commits.popleft()
            seq = self.runs[id].native_seq if id not in self.commits else None
            if seq is not None:
                self.call(lambda one: one.committed(id, seq, self.now))


class Client(Side):
    """A hub that executes: it writes down what it was asked, and the test says what happens."""

    def __init__(self) -> None:
        super().__init__()
        self.cursors: dict[RunId, Seq] = {}
        self.executed: list[RunId] = []
        self.inputs: dict[RunId, list[bytes | None]] = {}

    def perform_own(self, step: api.Step) -> None:
        match step:
            case api.Submit(command=command, reply_to=key):
                answer = self.answer(command)
                self.call(lambda one: one.reply(key, answer, self.now))
            case api.Follow(run=id, after=after):
                self.cursors[id] = after
            case api.Unfollow(run=id):
                self.cursors.pop(id, None)
            case api.Ack(run=id, through=through):
                run = self.runs[id]
                acked = Seq(max(run.acknowledged, min(through, run.last_seq)))
                self.runs[id] = attrs.evolve(run, acknowledged=acked)
            case api.Annotate(run=id, name=name, value=value):
                run = self.runs[id]
                self.runs[id] = attrs.evolve(run, notes={**run.notes, name: value})
            case api.Pause() | api.Resume():
                pass
            case _:
                super().perform_own(step)

    def answer(self, command: c.Command) -> Answer:
        match command:
            case c.ListRuns():
                return RunList(tuple(r for r in self.runs.values() if not _done(r)))
            case c.DescribeRun(run=id):
                known = self.runs.get(id)
                return RunNotFound("no") if known is None else Accepted(known, known)
            case c.StartRun(run=id):
                self.executed.append(id)
                self.runs[id] = Run(id, command.spec, command.origin, created=self.now)
                self.journal[id], self.inputs[id] = [], []
                self.append(id, e.RunAssigned(WorkerId("local"), Epoch(1)))
                return Accepted(None, self.runs[id])
            case c.SendInput() | c.CloseInput() | c.SignalRun() | c.CancelRun():
                return self.command(command)
            case _:
                raise AssertionError(f"nobody expected {command}")

    def command(self, command: c.RunCommand) -> Answer:
        try:
            verdict = rules.decide(self.runs[command.run], command)
        except Refusal as refusal:
            return refusal
        self.runs[command.run] = verdict.run
        if isinstance(command, c.SendInput | c.CloseInput):
            data = command.data if isinstance(command, c.SendInput) else None
            self.inputs[command.run].append(data)
            self.append(command.run, e.InputAccepted(verdict.run.inputs))
        return Accepted()

    def deliver(self) -> bool:
        moved = False
        for id, after in list(self.cursors.items()):
            batch = tuple(self.journal[id][after:])
            if batch:
                self.cursors[id] = batch[-1].seq
                self.call(lambda one, batch=batch: one.deliver(batch, self.now))
                moved = True
        return moved


def _done(run: Run) -> bool:
    return run.state.terminal and is_tombstone(run)


class World:
    """Both of them, and the link between."""

    def __init__(self) -> None:
        self.server, self.client = Server(), Client()
        self.offsets: dict[RunId, int] = {}
        self.connect()

    def connect(self) -> None:
        entropy = bytes.fromhex(SESSION)
        settings = ClientSettings(max_running=3, max_queued=2)
        self.server.connection = ServerConnection(ServerSettings())
        self.client.connection = ClientConnection(settings)
        opening = Opening(link="hosts", gateway="gw", instance="i-1", entropy=entropy)
        for side in (self.server, self.client):
            side.call(lambda one: one.opened(opening, START))

    def cut(self) -> None:
        """The link is gone with all that was on it; what was recorded becomes durable."""
        for side in (self.server, self.client):
            side.connection = None
            side.out.clear()
            side.wake = None
        self.client.cursors.clear()
        self.server.ready = False
        self.server.commits.clear()
        self.connect()

    def carry(self, sender: Side, taker: Side) -> bool:
        if not sender.out:
            return False
        frame = sender.out.popleft()
        taker.call(lambda one: one.receive(frame, taker.now))
        return True

    def settle(self) -> None:
        """Let everything come to rest."""
        for _ in range(400):
            moved = self.carry(self.server, self.client) or self.carry(self.client, self.server)
            moved = self.client.deliver() or moved
            if self.server.commits:
                self.server.commit()
                moved = True
            if not moved:
                self.server.now += SECOND // 5
                if self.server.wake is None or self.server.wake > self.server.now:
                    return
                self.server.tick()

    # --- what a test can do

    def run(self, nth: int) -> RunId | None:
        ids = list(self.server.runs)
        return ids[nth % len(ids)] if ids else None

    def at_client(self, nth: int) -> RunId | None:
        open_ones = [id for id, run in self.client.runs.items() if not run.state.terminal]
        return open_ones[nth % len(open_ones)] if open_ones else None

    def act(self, what: str, nth: int) -> None:
        moves: dict[str, Callable[[], object]] = {
            "up": lambda: self.carry(self.client, self.server),
            "down": lambda: self.carry(self.server, self.client),
            "deliver": self.client.deliver,
            "commit": self.server.commit,
            "cut": self.cut,
            "settle": self.settle,
        }
        if what in moves:
            moves[what]()
        elif what == "start":
            spec = c.RunSpec(c.ShellCommand(line="cat"), interactive=True)
            self.server.start(RunId(f"gui/{len(self.server.runs)}"), spec)
        elif what in ("write", "close"):
            self.write(what, nth)
        else:
            self.happen(what, nth)

    def write(self, what: str, nth: int) -> None:
        id = self.run(nth)
        if id is not None and self.server.runs[id].worker is not None:
            write = c.SendInput(id, b"%d" % nth) if what == "write" else c.CloseInput(id)
            self.server.give(id, write)

    def happen(self, what: str, nth: int) -> None:
        id = self.at_client(nth)
        if id is None:
            return
        at = self.offsets.get(id, 0)
        event = {
            "begin": e.RunStarted(nth + 1),
            "say": e.OutputProduced(Stream.STDOUT, b"hi", at),
            "end": EXITED,
        }[what]
        self.offsets[id] = at + 2 * (what == "say")
        self.client.append(id, event)


def events_of(recorded: Iterable[e.Recorded], *kinds: type[Any]) -> list[e.Event]:
    return [each.event for each in recorded if isinstance(each.event, kinds)]


ACTIONS = st.sampled_from(
    [
        *("start", "write", "write", "close", "begin", "say", "say", "end"),
        *("up", "up", "down", "down", "deliver", "commit", "cut", "settle"),
    ]
)
TELLING = (e.OutputProduced, e.InputAccepted, e.RunFinished)


CROSSING = ("write", "down", "end", "up", "up", "deliver", "up", "up")
"""A write and the command's end cross; the client says so before the end is durable."""


@given(st.lists(st.tuples(ACTIONS, st.integers(0, 4)), max_size=60))
@example([(what, 0) for what in CROSSING])
def test_i1_i4_i5_i6_a_link_cut_at_any_frame_loses_nothing_and_repeats_nothing(
    actions: list[tuple[str, int]],
) -> None:
    world = World()
    world.settle()
    for what, nth in [("start", 0), *actions]:
        world.act(what, nth)
    world.settle()
    for nth in range(6):  # whatever is still at work ends, and all of it comes through
        while (id := world.at_client(0)) is not None:
            world.client.append(id, EXITED)
        world.act("cut" if nth == 2 else "settle", 0)
        world.settle()
    server, client = world.server, world.client
    assert len(set(client.executed)) == len(client.executed)
    for id, run in server.runs.items():
        at_client = RunId(f"hosts/{uuid_of(id)}")
        assert run.state is RunState.SUCCEEDED
        assert events_of(server.journal[id], *TELLING) == events_of(
            client.journal[at_client], *TELLING
        )
        assert run.native_seq == client.runs[at_client].last_seq
        assert is_tombstone(client.runs[at_client])
        given_ = [b"%d" % n for n in range(5)]
        assert all(data is None or data in given_ for data in client.inputs[at_client])
        assert len(client.inputs[at_client]) == client.runs[at_client].inputs <= run.inputs


def test_input_arrives_to_the_byte_and_once_although_the_link_is_cut() -> None:
    world = World()
    world.settle()
    world.act("start", 0)
    world.settle()
    id = RunId("gui/0")
    sent: list[bytes | None] = [b"\xff%d\x00" % n for n in range(20)]
    for n, data in enumerate(sent):
        assert data is not None
        world.server.give(id, c.SendInput(id, data))
        for _ in range(n % 4):
            world.act("down", 0)
        if n % 5 == 2:
            world.cut()
    world.server.give(id, c.CloseInput(id))
    world.settle()
    assert world.client.inputs[RunId(f"hosts/{uuid_of(id)}")] == [
        *sent,
        None,
    ]
    assert world.server.orders[id] == []


def test_i5_a_dispatch_right_behind_the_acknowledged_exit_changes_nothing() -> None:
    world = World()
    world.settle()
    world.act("start", 0)
    (dispatch,) = world.server.out
    world.settle()
    ((id, _),) = world.client.runs.items()
    world.client.append(id, EXITED)
    world.settle()
    run = world.client.runs[id]
    assert run.acknowledged == run.last_seq
    world.client.runs[id] = attrs.evolve(run, acknowledged=Seq(0))  # the journal is behind
    world.client.call(lambda one: one.receive(dispatch, world.client.now))
    (frame,) = world.client.out
    answer = codec.decode(frame).payload
    assert isinstance(answer, w.CommandAccepted)
    assert answer.rejection is not None
    assert answer.rejection.code == w.ControlErrorCode.ALREADY_FINISHED
    assert not world.client.deliver()
    assert world.client.executed == [id]


def test_more_runs_than_the_host_takes_wait_for_room() -> None:
    world = World()
    world.settle()
    for _ in range(12):
        world.act("start", 0)
    world.settle()
    assert len(world.client.executed) == 5
    while (id := world.at_client(0)) is not None:
        world.client.append(id, EXITED)
        world.settle()
        assert sum(not run.state.terminal for run in world.client.runs.values()) <= 5
    assert {run.state for run in world.server.runs.values()} == {RunState.SUCCEEDED}
