"""The driver, the core and the journal that an adapter stands before, as far as it can tell.

It answers as the core's own rules do, records what a worker says, and after each step holds the
adapter to what it owes: steps of the union and in order, frames within the limit, values that a
journal can keep.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final

import attrs
from fuzz_engine import demand
from fuzz_pools import ends, plain, pool, specs_for

from fleetgate.core import answers as a
from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core import testing as drawn
from fleetgate.core.errors import IllegalTransition, Refusal, RunNotFound, Unavailable
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq, WorkerId
from fleetgate.core.journal import records
from fleetgate.core.journal.api import Append, PutOrder, PutRun
from fleetgate.core.journal.forms import json_text
from fleetgate.core.journal.rows import prepare
from fleetgate.core.run import Run, decide, evolve, stamped, start
from fleetgate.core.sequence import acknowledge
from fleetgate.core.watchers import Happening, WorkerNotice
from fleetgate.core.worker import AccountReport, InputKind, ProviderReport, WorkerInfo
from fleetgate.protocols import api
from fleetgate.protocols.api import Connection, Side, Steps
from fleetgate.protocols.bulk import BulkConnection
from fleetgate.protocols.checking import STEP_KINDS

START: Final = 1_700_000_000_000_000_000
MOST_RUNS: Final = 6
NOTE: Final = 4096


class Host:
    """One end of a conversation. `out` is what it has sent and nobody has read."""

    def __init__(self, name: str, side: Side, opening: api.Opening, **given: Any) -> None:
        self.name = name
        self.side = side
        self.connection: Connection = side.open(side.settings(**given))
        self.carriage = side.carriage(side.settings(**given))
        self.opening = opening
        self.out: deque[bytes] = deque()
        self.quick = True
        """Whether it goes the short ways, where there are any."""
        self.short = 0
        """How often it did."""
        self.still = False
        """Whether time stands."""
        self.commits: list[Callable[[Connection], Steps]] = []
        """What is to be told once it does not."""
        self.trace: list[Any] = []
        """What it sent and recorded, in order."""
        self.said = 0
        """How many frames it has sent."""
        self.open = True
        self.broke: api.RemoteProtocolError | None = None
        self.paused = False
        self.wake: int | None = None
        self.now = START
        self.runs: dict[RunId, Run] = {}
        self.logs: dict[RunId, list[e.Recorded]] = {}
        self.followed: dict[RunId, Seq] = {}
        self.worker: WorkerInfo | None = None
        self.ready = False
        self.asked: set[int] = set()
        self.watching = False
        self.begun = 0
        self.unkind = False
        """Whether the core refuses what it may refuse."""
        self.held: tuple[a.Held, ...] = ()

    def prepare(self) -> None:
        """Draw what it works with."""
        specs_for(self.side.inputs)
        pool(drawn.events)
        pool(ends)
        pool(plain)
        pool(drawn.run_commands)

    def begin(self) -> None:
        """The link is up."""
        self.tell(lambda it: it.opened(self.opening, self.now))

    # --- what the driver does

    def receive(self, *frames: bytes) -> int:
        """Frames come, all at once; answers how many were taken before it had enough. What they
        report is durable behind the last of them."""
        self.now += 1
        self.still = True
        taken = 0
        while taken < len(frames) and self.open and not self.paused:
            taken += self._bulk(frames[taken:]) or self._one(frames[taken])
        self.still = False
        commits, self.commits = self.commits, []
        for call in commits:
            self.tell(call)
        return taken

    def _one(self, frame: bytes) -> int:
        self.tell(lambda it: it.receive(frame, self.now))
        return 1

    def _bulk(self, frames: Sequence[bytes]) -> int:
        """How many frames it takes by the short way."""
        connection = self.connection
        if not self.quick or not isinstance(connection, BulkConnection):
            return 0
        bulk = connection.receive_bulk(frames, self.now)
        if bulk is None:
            return 0
        demand(0 < bulk.taken <= len(frames), f"{self.name}: takes {bulk.taken} frames")
        said = [(run, each) for run, heard in bulk.heard.items() for each in heard]
        demand(len(said) == bulk.taken, f"{self.name}: makes {len(said)} of {bulk.taken} frames")
        self.short += bulk.taken
        for run, (events, native, stamp) in said:
            self.commits += self._record(api.Record(run, tuple(events), native, stamp))
        return bulk.taken

    def tell(self, call: Callable[[Connection], Steps]) -> None:
        """Make a call, and all those that follow from it."""
        todo = deque([call])
        count = 0
        while todo and self.open:
            for step in self._call(todo.popleft()):
                demand(self.open, f"{self.name}: {type(step).__name__} comes after a Close")
                todo.extend(self._performed(step))
            count += 1
            demand(count < 5000, f"{self.name}: it never comes to rest")

    def _call(self, call: Callable[[Connection], Steps]) -> Steps:
        self.now += not self.still
        try:
            steps = call(self.connection)
        except api.RemoteProtocolError as error:
            self.broke = error
            steps = [*error.steps]
            if not any(isinstance(step, api.Close) for step in steps):
                steps.append(api.Close(None, str(error)))
        for step in steps:
            demand(isinstance(step, STEP_KINDS), f"{self.name}: {step!r} is no step")
        return steps

    def tick(self) -> None:
        """The time that it wants to be woken at comes."""
        if self.wake is not None:
            self.now, self.wake = max(self.now, self.wake), None
            self.tell(lambda it: it.tick(self.now))

    def end(self) -> None:
        """The link is gone."""
        for step in self._call(lambda it: it.closed("it is over", self.now)):
            kinds = api.Record | api.WithdrawWorker | api.Notify | api.Submit
            demand(isinstance(step, kinds), f"{self.name}: closed() asks for {step!r}")
            if isinstance(step, api.Record):
                self._record(step)

    # --- steps

    def _performed(self, step: api.Step) -> Iterator[Callable[[Connection], Steps]]:
        match step:
            case api.Send(frame=frame):
                limit = self.carriage.limit
                demand(len(frame) <= limit, f"{self.name}: {len(frame)} bytes, limit {limit}")
                self.out.append(frame)
                self.trace.append(frame)
                self.said += 1
            case api.Pause() | api.Resume():
                self.paused = isinstance(step, api.Pause)
            case api.Wake(at=at):
                self.wake = at
            case api.Close(code=code, reason=reason):
                demand(code is None or 1000 <= code < 5000, f"{self.name}: close code {code}")
                reason.encode("utf-8", "replace")
                self.open = False
            case api.Report(what=what, detail=detail):
                demand(what.isidentifier() and len(detail) <= 8192, f"{self.name}: reports {what}")
            case api.Notify(body=body):
                json_text(body)
            case api.Record():
                calls = self._record(step)
                if self.still:
                    self.commits += calls
                else:
                    yield from calls
            case api.Submit(command=command, reply_to=key):
                answer = self._answer(command)
                yield lambda it: it.reply(key, answer, self.now)
            case _:
                yield from self._of_side(step)

    def _of_side(self, step: api.Step) -> Iterator[Callable[[Connection], Steps]]:
        match step:
            case api.Follow(run=run, after=after):
                self.followed[run] = after
            case api.Unfollow(run=run):
                self.followed.pop(run, None)
            case api.Ack(run=run, through=through) if run in self.runs:
                it = self.runs[run]
                done = acknowledge(it.acknowledged, it.last_seq, through)
                self.runs[run] = attrs.evolve(it, acknowledged=done)
            case api.Annotate(run=run, name=name, value=value):
                demand(len(json_text({name: value})) <= NOTE + 1024, f"{self.name}: a long note")
                if run in self.runs:
                    notes = {**self.runs[run].notes, name: value}
                    self.runs[run] = attrs.evolve(self.runs[run], notes=notes)
                    self._keepable(PutRun(self.runs[run]))
            case api.Remember(text=text):
                demand(len(text) <= NOTE, f"{self.name}: {len(text)} characters to remember")
            case api.WatchWorkers():
                self.watching = True
            case api.AnnounceWorker(worker=worker, reply_to=key):
                answer = self._admission(worker)
                yield lambda it: it.reply(key, answer, self.now)
            case api.WorkerReady(free=free) | api.ReportCapacity(free=free):
                demand(self.worker is not None, f"{self.name}: ready before it was admitted")
                demand(free is None or free >= 0, f"{self.name}: room for {free} runs")
                self.ready = True
            case api.WithdrawWorker():
                self.ready, self.worker = False, None
            case api.Respond(question_id=id):
                demand(id in self.asked, f"{self.name}: answers what was not asked")
                self.asked.discard(id)
            case _:
                pass

    def _admission(self, worker: WorkerInfo) -> a.Answer:
        records.encode_event(_of(e.RunAssigned(worker.id, Epoch(1))))
        json_text(worker.detail)
        if self.unkind:
            return Unavailable("not now")
        self.worker = worker
        for held in self.held:
            self.runs.setdefault(held.run.id, held.run)
        return a.Admission(Epoch(1), self.held)

    def _record(self, step: api.Record) -> list[Callable[[Connection], Steps]]:
        stamp = step.stamp or e.Stamp()
        source = e.Source(Epoch(1), step.native_seq, stamp.time, stamp.native)
        run = self.runs.get(step.run)
        self.trace.append((step.run, tuple(step.events), step.native_seq, stamp))
        for event in step.events:
            place = Seq(1 if run is None else run.last_seq + 1)
            recorded = e.Recorded(step.run, place, self.now, event, source)
            self._keepable(Append(step.run, (recorded,), step.native_seq or 0))
            if run is not None:
                run = self._after(run, event)
        if run is not None:
            self.runs[step.run] = run
        native = step.native_seq
        if native is None:
            return []
        return [lambda it: it.committed(step.run, native, self.now)]

    def _after(self, run: Run, event: e.Event) -> Run:
        try:
            moved = stamped(evolve(run, event), self.now, heard=True)
        except IllegalTransition:
            return run
        return attrs.evolve(moved, last_seq=Seq(run.last_seq + 1))

    def _keepable(self, write: Any) -> None:
        """What goes to the journal is something that it can keep."""
        prepare(write)

    # --- the core's answers

    def _answer(self, command: c.Command) -> a.Answer:
        try:
            return self._decided(command)
        except Refusal as refusal:
            return refusal

    def _decided(self, command: c.Command) -> a.Answer:
        match command:
            case c.StartRun() | c.StartRunIf():
                return self._begin(command if isinstance(command, c.StartRun) else command.start)
            case c.ListRuns():
                return a.RunList(tuple(sorted(self.runs.values(), key=lambda run: run.id)))
            case c.ListWorkers():
                return a.WorkerList(())
            case c.ProbeWorkers():
                return a.ProviderList((ProviderReport("claude", True, "1.0"),))
            case c.ReadUsage():
                return a.AccountList((AccountReport("claude", True, {"a": 1}),))
            case c.DescribeRun(run=run) | c.AcknowledgeRun(run=run):
                return a.Accepted(self._known(run), self._known(run))
            case c.EndSession() | c.DrainWorker() | c.StopLink() | c.LimitLink():
                return a.Accepted()
            case _:
                return self._commanded(command)

    def _known(self, run: RunId) -> Run:
        run.encode()
        if run not in self.runs:
            raise RunNotFound("no such run")
        return self.runs[run]

    def _begin(self, command: c.StartRun) -> a.Answer:
        known = self.runs.get(command.run)
        if known is not None:
            decide(known, command)
            return a.Accepted(known, known)
        made = start(command, self.now)
        self._keepable(PutRun(made.run))
        if self.unkind or len(self.runs) >= MOST_RUNS:
            raise Unavailable("not now")
        self.runs[command.run] = made.run
        self.log(command.run, made.events)
        return a.Accepted(None, self.runs[command.run])

    def _commanded(self, command: Any) -> a.Answer:
        before = self._known(command.run)
        verdict = decide(before, command)
        self._keepable(PutOrder(c.Order(command.run, OrderNumber(1), command)))
        self.runs[command.run] = verdict.run
        self.log(command.run, verdict.events)
        return a.Accepted(before, self.runs[command.run])

    def log(self, run: RunId, events: Any) -> None:
        """Record events of a run for those who follow it; what is illegal is left out."""
        for event in events:
            before = self.runs[run]
            after = self._after(before, event)
            if after is not before:
                self.runs[run] = after
                recorded = e.Recorded(
                    run, after.last_seq, self.now, event, e.Source(Epoch(1), None)
                )
                self.logs.setdefault(run, []).append(recorded)

    # --- what the core does by itself

    def work(self, draw: Random) -> None:
        """The worker of a run reports some events."""
        if not self.runs:
            return
        run = draw.choice(list(self.runs))
        events = draw.choices(pool(drawn.events), k=draw.randrange(1, 6))
        if draw.random() < 0.5:
            events = draw.choices(pool(plain), k=draw.randrange(1, 40))
        if self.runs[run].worker is None:
            events.insert(0, e.RunAssigned(WorkerId("pool/w"), Epoch(1)))
        if draw.random() < 0.1:
            events.append(draw.choice(pool(ends)))
        self.log(run, events)

    def deliver(self, draw: Random) -> None:
        """Those who follow a run are given what they lack, or a part of it."""
        for run, after in list(self.followed.items()):
            batch = [each for each in self.logs.get(run, ()) if each.seq > after]
            batch = batch[: draw.choice((1, 2, 100))]
            if not batch or not self.open:
                continue
            self.followed[run] = batch[-1].seq
            self._deliver(tuple(batch))

    def _deliver(self, batch: tuple[e.Recorded, ...]) -> None:
        connection = self.connection
        if self.quick and isinstance(connection, BulkConnection):
            frames = connection.deliver_bulk(batch, self.now + 1)
            if frames is not None:
                demand(0 < len(frames) <= len(batch), f"{len(frames)} frames in bulk")
                self.now += 1
                self.short += 1
                self.trace += frames
                demand(all(len(each) <= self.carriage.limit for each in frames), "too long in bulk")
                self.out.extend(frames)
                self.said += len(frames)
                batch = batch[len(frames) :]
        if batch:
            self.tell(lambda it: it.deliver(batch, self.now))

    def order(self, draw: Random) -> None:
        """The worker is given a run, or an order about one."""
        if not self.ready:
            return
        if self.runs and (len(self.runs) >= MOST_RUNS or draw.random() < 0.6):
            self._command(draw, draw.choice(list(self.runs)))
            return
        self.begun += 1
        id = RunId(f"gui/r{self.begun}")
        spec = draw.choice(specs_for(self.side.inputs))
        if self.side.prepare is not None:
            spec = self.side.prepare(spec, self.now)
        command = c.StartRun(id, spec, c.Origin("gui", f"r{self.begun}"))
        run = start(command, self.now).run
        assigned = e.RunAssigned(WorkerId("pool/w"), Epoch(1))
        self.runs[id] = self._after(run, assigned)
        order = c.Order(id, OrderNumber(0), command, created=self.now)
        self.tell(lambda it: it.perform(order, self.now))

    def _command(self, draw: Random, run: RunId) -> None:
        command = attrs.evolve(draw.choice(pool(drawn.run_commands)), run=run)
        if isinstance(command, c.StartRun):
            return
        approvals = self.runs[run].approvals
        if isinstance(command, c.ResolveApproval) and approvals:
            command = attrs.evolve(command, approval=draw.choice(approvals))
        try:
            verdict = decide(self.runs[run], command)
        except Refusal:
            return
        self.runs[run] = verdict.run
        if verdict.order:
            takes = isinstance(command, c.SendInput | c.CloseInput)
            number = verdict.run.inputs if takes else 0
            order = c.Order(run, verdict.run.orders, command, number, self.now)
            self.tell(lambda it: it.perform(order, self.now))

    def ask(self, draw: Random) -> None:
        """The worker is asked something, or told that a session is over."""
        if not self.ready or self.worker is None:
            return
        if draw.random() < 0.3:
            self.tell(lambda it: it.end_session("s1", self.now))
        elif self.worker.asks:
            id = len(self.asked) + draw.randrange(1000)
            question = draw.choice((c.ProbeWorkers("gui"), c.ReadUsage("gui")))
            self.asked.add(id)
            self.tell(lambda it: it.ask(id, question, self.now))

    def notice(self, draw: Random) -> None:
        """A worker comes or goes."""
        if self.watching:
            info = WorkerInfo(WorkerId("pool/w"), "pool", frozenset(InputKind))
            happening = draw.choice(list(Happening))
            notice = WorkerNotice(happening, info, self.now, "gone", {"a": 1})
            self.tell(lambda it: it.noticed(notice, self.now))


def _of(event: e.Event) -> e.Recorded:
    return e.Recorded(RunId("r"), Seq(1), START, event)
