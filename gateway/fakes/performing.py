"""The operations of a fake, carried out: what its front end and its Python API have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import trio

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted, AccountList, Answer, RunList, WorkerList
from fleetgate.core.errors import InvalidArgument, Unavailable, UnsupportedInput, WorkerNotFound
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.routing import OPERATOR
from fleetgate.core.run import Run
from fleetgate.core.worker import NAMED, InputKind, kind_of
from fleetgate.gateway.config_reader import Flawed
from fleetgate.gateway.connection import Driver
from fleetgate.gateway.fakes import operations as ops
from fleetgate.gateway.fakes.fault_specs import Fault
from fleetgate.gateway.fakes.lines import Writer
from fleetgate.gateway.fakes.named import event_line, run_line, short_name, worker_line
from fleetgate.gateway.fakes.operations import Operation
from fleetgate.gateway.fakes.small import Small
from fleetgate.gateway.render import Line, plain
from fleetgate.gateway.spec import read_base64, read_utf8
from fleetgate.transports.faults import Faults

if TYPE_CHECKING:
    from fleetgate.gateway.local.script import Script
    from fleetgate.gateway.local.script_steps import Step

Perform: TypeAlias = Callable[[], Awaitable[Line]]
"""Carries out an operation; the members of its answer, of which `ok` may be another than true."""
Begin: TypeAlias = Callable[[str, Any], Perform]
"""Begins an operation, given its id, in the order in which they came. Raises: `Refusal`."""


def emit_nothing(run: str, steps: Sequence[Step]) -> None:
    """What `emit` does where nothing is played."""
    raise UnsupportedInput("runs are not played here; start the fake without --exec")


def suffer_nothing(faults: Faults) -> None:
    """What `fault` does where the links are not the fake's own."""
    raise UnsupportedInput("these links cannot go wrong on purpose")


def play_nothing(script: Script) -> None:
    """What another script comes to where nothing is played."""
    raise UnsupportedInput("runs are not played here")


MEMBERS: Final[Mapping[InputKind, Sequence[str]]] = {
    InputKind.PROMPT: ("prompt",),
    InputKind.SHELL: ("line", "argv", "script"),
    InputKind.TOOL: ("tool",),
}
"""The first member of each kind of input: one of them."""

MAX_RUN_ID: Final = 256
"""Bytes of an id that a run is started by: those that the strictest protocol carries."""


class Performer:
    """Carries out operations on a fake at work. `beyond` are operations that its protocol cannot
    carry; `emit` appends steps to a run that is played, `play` puts a script in place of the one
    that is played, `suffer` makes its links go wrong; `own` carries out operations that no other
    fake has; `takes` are the kinds of input that its workers take. Events of runs that are followed
    go to `writer`."""

    def __init__(
        self,
        small: Small,
        writer: Writer,
        emit: Callable[[str, Sequence[Step]], None] = emit_nothing,
        beyond: frozenset[type[Any]] = frozenset(),
        suffer: Callable[[Faults], None] = suffer_nothing,
        own: Mapping[type[Any], Begin] = MappingProxyType({}),
        takes: frozenset[InputKind] = frozenset(InputKind),
        play: Callable[[Script], None] = play_nothing,
    ) -> None:
        self.play = play
        self._small = small
        self._writer = writer
        self._beyond = beyond
        self._own = own
        self._takes = takes
        self._emit = emit
        self._suffer = suffer
        self._followers: dict[RunId, trio.CancelScope] = {}

    def waits(self, operation: Operation) -> bool:
        """Whether an operation waits for a run or a peer, so that others go on meanwhile."""
        return isinstance(operation, ops.Wait | ops.Usage) or type(operation) in self._own

    def begin(self, id: str, operation: Operation) -> Perform:
        """Begin an operation that waits; what comes back waits for its end.

        Raises: `Refusal`, where nothing was begun.
        """
        match operation:
            case ops.Wait():
                return partial(self._wait, operation)
            case ops.Usage():
                return self._usage
            case _:
                return self._own[type(operation)](id, operation)

    async def perform(self, nursery: trio.Nursery, operation: Operation) -> Line:
        """Carry out any other operation; its answer's members. Whoever is to be told of a run has a
        task in `nursery`. Cancelled, it may or may not have been carried out.

        Raises: `Refusal`.
        """
        match operation:
            case ops.Workers():
                answer = await self._ask(c.ListWorkers())
                assert isinstance(answer, WorkerList)
                return {"workers": [worker_line(status) for status in answer.workers]}
            case ops.Runs():
                answer = await self._ask(c.ListRuns())
                assert isinstance(answer, RunList)
                return {"runs": [run_line(run) for run in answer.runs]}
            case ops.Start():
                return await self._start(operation)
            case ops.Follow(run=run, after=after):
                await self._seen(run)
                check_after(after)
                self._unfollow(run)
                scope = self._followers[RunId(run)] = trio.CancelScope()
                nursery.start_soon(self._follow, RunId(run), after, scope)
            case ops.Unfollow(run=run):
                await self._seen(run)
                self._unfollow(run)
            case ops.Ack(run=run, through=through):
                _check_through(through, (await self._seen(run)).last_seq)
                await self._small.hub.acknowledge(RunId(run), through)
            case ops.Status(run=run):
                return run_line(await self._seen(run))
            case _:
                await self._steer(operation)
        return {}

    async def _steer(self, operation: Operation) -> None:
        if type(operation) in self._beyond:
            raise UnsupportedInput("the protocol carries no such thing to a run that is at work")
        match operation:
            case ops.Send():
                await self._ask(
                    c.SendInput(RunId(operation.run), _data(operation), operation.newline)
                )
            case ops.CloseInput(run=run):
                await self._ask(c.CloseInput(RunId(run)))
            case ops.SignalOp(run=run, signal=signal):
                await self._ask(c.SignalRun(RunId(run), signal))
            case ops.Cancel(run=run, scope=scope):
                await self._ask(c.CancelRun(RunId(run), scope))
            case ops.Approve():
                await self._ask(
                    c.ResolveApproval(
                        RunId(operation.run),
                        operation.approval,
                        operation.decision,
                        operation.value,
                    )
                )
            case ops.Emit(run=run):
                self._emit(run, _steps(operation))
            case _:
                self._disturb(operation)

    def _disturb(self, operation: Operation) -> None:
        match operation:
            case ops.Drop(worker=worker):
                for driver in self._links(worker):
                    driver.drop()
            case ops.Raw(worker=worker):
                frame = _data(operation)
                for driver in self._links(worker):
                    driver.send_raw(frame)
            case Fault():
                self._suffer(_faults(operation))
            case _:
                raise AssertionError(f"{type(operation).__name__} is performed elsewhere")

    async def _start(self, operation: ops.Start) -> Line:
        run, spec = _new_id(operation.run), operation.spec
        self._check_kind(spec)
        if operation.worker is not None:
            spec = await self._meant_for(operation.worker, spec)
        answer = await self._ask(c.StartRun(run, spec, c.Origin(OPERATOR, run)))
        assert isinstance(answer, Accepted)
        return {"run": run}

    def _check_kind(self, spec: c.RunSpec) -> None:
        """A fake has no route that would make one kind of input of another."""
        if (kind := kind_of(spec.input)) not in self._takes:
            named = [
                f"`{name}`" for each in InputKind if each in self._takes for name in MEMBERS[each]
            ]
            words = " or ".join(filter(None, (", ".join(named[:-1]), named[-1])))
            raise UnsupportedInput(
                f"input: this fake's workers take no {kind.value} input; give {words} instead"
            )

    async def _meant_for(self, worker: str, spec: c.RunSpec) -> c.RunSpec:
        """What is to go to a worker that is known here, and to no other. It may be away: then the
        run waits for it."""
        answer = await self._ask(c.ListWorkers())
        assert isinstance(answer, WorkerList)
        for status in answer.workers:
            id = status.info.id
            own = short_name(id)
            if worker in (id, own):  # the only one of its link has no other name
                return spec if own == id else attrs.evolve(spec, labels={**spec.labels, NAMED: own})
        raise WorkerNotFound(f"no worker named {worker} has come; `workers` lists those that have")

    async def _ask(self, command: c.Command) -> Answer:
        return await self._small.hub.submit(command)

    async def _seen(self, run: str) -> Run:
        answer = await self._ask(c.DescribeRun(RunId(run)))
        assert isinstance(answer, Accepted)
        assert answer.after is not None
        return answer.after

    def _links(self, worker: str | None) -> list[Driver]:
        """The links of a worker, by its protocol's own name; of all workers without one."""
        found = [
            driver
            for driver in self._small.drivers
            if worker is None or worker in (driver.worker, short_name(driver.worker or ""))
        ]
        if worker is not None and not found:
            raise WorkerNotFound(f"no link is up to a worker named {worker}")
        return found

    async def _usage(self) -> Line:
        answer = await self._ask(c.ReadUsage(OPERATOR))
        assert isinstance(answer, AccountList)
        return {"accounts": [plain(account) for account in answer.accounts]}

    async def _wait(self, operation: ops.Wait) -> Line:
        run = await self._seen(operation.run)
        with trio.move_on_after(operation.timeout_ms / 1000):
            with self._small.hub.follow(run.id, run.last_seq) as follower:
                while not run.state.terminal:
                    await follower.__anext__()
                    run = await self._seen(operation.run)
            return run_line(run)
        raise Unavailable(f"run {operation.run} did not end within {operation.timeout_ms} ms")

    def _unfollow(self, run: str) -> None:
        scope = self._followers.pop(RunId(run), None)
        if scope is not None:
            scope.cancel()

    async def _follow(self, run: RunId, after: int, scope: trio.CancelScope) -> None:
        with scope, self._small.hub.follow(run, Seq(after)) as follower:
            async for batch in follower:
                lines = [{"event": "run", **event_line(recorded)} for recorded in batch]
                await self._writer.write(*lines)


def _data(operation: ops.Send | ops.Raw) -> bytes:
    if (operation.text is None) == (operation.data_base64 is None):
        raise InvalidArgument("expected exactly one of text and data_base64")
    if operation.text is not None:
        return read_utf8(operation.text, "text")
    return read_base64(operation.data_base64 or "", "data_base64")


def _faults(operation: Fault) -> Faults:
    try:
        return operation.faults()
    except ValueError as error:
        raise InvalidArgument(str(error)) from None


def _steps(operation: ops.Emit) -> Sequence[Step]:
    # Imported here: a fake that works nothing plays no steps.
    from fleetgate.gateway.local.script_steps import place_of, read_steps

    try:
        return read_steps(operation.steps, ("steps",))
    except Flawed as error:
        said = [f"{place_of(flaw.path)}: {flaw.message}" for flaw in error.flaws]
        raise InvalidArgument("; ".join(said).replace("a table", "an object")) from None


def check_after(after: int) -> None:
    """Whether events may be asked for above this number. Above the last: those that are to come.

    Raises: `InvalidArgument`.
    """
    if after < 0:
        raise InvalidArgument(f"after: expected 0, or the number of an event, got {after}")


def _check_through(through: int, last: int) -> None:
    if not 0 <= through <= last:
        raise InvalidArgument(f"through: expected 0 to {last}, the run's last event, got {through}")


def _new_id(run: str) -> RunId:
    size = len(run.encode("utf-8", "surrogatepass"))
    if not 0 < size <= MAX_RUN_ID or "\0" in run:
        raise InvalidArgument(
            f"run: expected an id of 1 to {MAX_RUN_ID} bytes without NUL, got {size} bytes"
        )
    return RunId(run)
