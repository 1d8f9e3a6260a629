"""The protocol's own operations, carried out: what `kodelet serve` asks of its runners (W 9, 11).

Each begins in the order of its line, and is answered once the runner has answered, the operation
was given up, or the link has ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

import attrs
import trio

from fleetgate.core import commands as c
from fleetgate.core.errors import InvalidArgument
from fleetgate.core.ids import RunId
from fleetgate.gateway.fakes import kodelet_operations as ops
from fleetgate.gateway.fakes.kodelet_plane import (
    MOST_RUNS,
    Plane,
    PlaneConnection,
    run_line,
    runner_line,
)
from fleetgate.gateway.fakes.lines import Writer
from fleetgate.gateway.fakes.small import Small
from fleetgate.gateway.fakes.unread import Unread
from fleetgate.gateway.render import Line
from fleetgate.protocols.api import NO_STEPS, Steps
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.lease import Ended, Lease
from fleetgate.protocols.kodelet.leases import CANCELED, Denied, Leases
from fleetgate.protocols.kodelet.state import RunPhase
from fleetgate.protocols.kodelet.structs import write
from fleetgate.protocols.kodelet.translate_events import UNCERTAIN, read_executed

MOST_UPDATES: Final = 64
"""Updates of one call that wait to be written: as many as the protocol's own lane has."""

DENIED: Final = "denied"
"""The control plane itself refuses: nothing was sent."""
NO_ANSWER: Final = "no_answer"
"""The operation has ended without the runner's answer."""
OVERDUE: Final = "context deadline exceeded"

Act: TypeAlias = Callable[[Leases, int], Steps]
Answer: TypeAlias = Callable[[], Awaitable[Line]]


@attrs.define(eq=False)
class Pending:
    """An operation under way. `give_up` ends it without an answer, as somebody says why."""

    link: PlaneConnection
    unread: Unread
    give_up: Callable[[str], Act]
    done: Line | None = None

    def finish(self, line: Line) -> Steps:
        """It has ended; the first end counts."""
        if self.done is None:
            self.done = line
            self.unread.wake()
        return NO_STEPS


class ByHand:
    """Of one fake. Each method takes an operation's id and the operation, begins it, and answers
    what waits for its end.

    Raises: `Refusal`, where nothing was begun.
    """

    def __init__(self, plane: Plane, small: Small, writer: Writer) -> None:
        self._plane = plane
        self._small = small
        self._writer = writer
        self._pending: dict[str, Pending] = {}
        self._owners: dict[str, str] = {}

    @property
    def own(self) -> Mapping[type[Any], Callable[[str, Any], Answer]]:
        """What carries out each operation."""
        return {
            ops.Runners: self.list_runners,
            ops.Open: self.open,
            ops.Call: self.call,
            ops.Tool: self.tool,
            ops.Cancel: self.cancel,
            ops.Close: self.close,
            ops.Run: self.show,
            ops.Abort: self.abort,
        }

    # --- looking

    def list_runners(self, id: str, operation: ops.Runners) -> Answer:
        """List the runners."""
        self._check_new(id)
        found = [runner_line(record) for record, _ in self._plane.runners().values()]
        return _at_once({"runners": found})

    def show(self, id: str, operation: ops.Run) -> Answer:
        """A run as it stands."""
        self._check_new(id)
        return _at_once({"run": run_line(self._plane.run(operation.run)[0])})

    # --- asking

    def open(self, id: str, operation: ops.Open) -> Answer:
        """Open a run."""
        link = self._plane.runner(operation.runner)
        asked = wire.RunOpen(
            operation.run,
            operation.conv,
            wire.Agent(*attrs.astuple(operation.agent)),
            wire.ClientCapabilities(*attrs.astuple(operation.caps)),
            link.settings.reserved_tools if operation.reserved is None else operation.reserved,
        )

        def given_up(why: str) -> Act:
            lease, _ = self._plane.run(operation.run)
            return lambda leases, now: leases.owner_ended(lease, why, now)

        pending = self._new(id, link, given_up)
        opened: list[Lease] = []

        def came(outcome: Ended, now: int) -> Steps:
            lease = opened[0] if opened else None
            wrong = None if outcome.text else m.check_contexts(outcome.result)
            if lease is None or wrong is None:
                return pending.finish(_opened(outcome, lease))
            lease.phase, lease.error = RunPhase.FAILED, wrong
            return link.leases.release(lease, partial(_closed, pending, lease), now)

        def begin(leases: Leases, now: int) -> Steps:
            opened.append(leases.open(asked, came))
            self._plane.keep(opened[0], link)
            return NO_STEPS

        denied = self._act(link, begin)
        if denied is None:
            self._owners[id] = operation.run
            if len(self._owners) > MOST_RUNS:
                del self._owners[next(iter(self._owners))]
        return self._ends(id, pending, denied)

    def call(self, id: str, operation: ops.Call) -> Answer:
        """Send a request about a run."""

        def begin(leases: Leases, lease: Lease, pending: Pending) -> str:
            def came(outcome: Ended, now: int) -> Steps:
                return pending.finish(_answered(outcome, result=outcome.result))

            return leases.call(lease, operation.method, operation.params, came)

        return self._ask(id, operation.run, begin)

    def tool(self, id: str, operation: ops.Tool) -> Answer:
        """Call a tool."""
        asked = wire.ToolExecute(operation.run, operation.call, operation.tool, operation.input)

        def begin(leases: Leases, lease: Lease, pending: Pending) -> str:
            def told(update: wire.ToolUpdate) -> Steps:
                pending.unread.put({"id": id, "update": write(update)})
                return NO_STEPS

            def came(outcome: Ended, now: int) -> Steps:
                return pending.finish(_executed(outcome))

            return leases.execute(lease, asked, came, told if operation.updates else None)

        timeout = None if operation.timeoutMs is None else operation.timeoutMs / 1000
        return self._ask(id, operation.run, begin, timeout, UNCERTAIN)

    def cancel(self, id: str, operation: ops.Cancel) -> Answer:
        """Cancel a run that was opened by hand; any other one as every controller does."""
        if not self._plane.knows(operation.run):
            return partial(self._cancel_started, operation)

        def begin(leases: Leases, lease: Lease, pending: Pending) -> str:
            if leases.get(lease.id) is not lease:
                raise Denied(f"run is not active: {lease.phase.value}")

            def came(outcome: Ended, now: int) -> Steps:
                return pending.finish(_answered(outcome))

            return leases.cancel(lease, operation.reason, came)

        return self._ask(id, operation.run, begin)

    async def _cancel_started(self, operation: ops.Cancel) -> Line:
        await self._small.hub.submit(c.CancelRun(RunId(operation.run), operation.scope))
        return {}

    def close(self, id: str, operation: ops.Close) -> Answer:
        """Close a run."""
        lease, link = self._plane.run(operation.run)
        pending = self._new(id, link, lambda why: lambda ls, now: ls.give_up(lease, why, now))

        def came(outcome: Ended, now: int) -> Steps:
            return pending.finish(_answered(outcome, run=run_line(lease)))

        def begin(leases: Leases, now: int) -> Steps:
            if (
                leases.get(lease.id) is not lease
                or lease.closing
                or lease.phase is RunPhase.OPENING
            ):
                raise Denied(f"run is not active: {lease.phase.value}")
            leases.close(lease, RunPhase(operation.status), came)
            return NO_STEPS

        return self._ends(id, pending, self._act(link, begin))

    def abort(self, id: str, operation: ops.Abort) -> Answer:
        """Give up an operation, or take away the owner of a run that was opened."""
        self._check_new(id)
        pending = self._pending.get(operation.reason)
        if pending is not None:
            self._give_up(pending, CANCELED)
            return _at_once({})
        run = self._owners.get(operation.reason)
        if run is None:
            raise InvalidArgument(
                "reason: expected the id of an operation under way, or of an open that was answered"
            )
        lease, link = self._plane.run(run)
        if link.leases.get(lease.id) is not lease:
            raise InvalidArgument(f"reason: the run {run} has ended")
        self._act(link, lambda leases, now: leases.owner_ended(lease, CANCELED, now))
        return _at_once({})

    # --- the same for all of them

    def _ask(
        self,
        id: str,
        run: str,
        begin: Callable[[Leases, Lease, Pending], str],
        timeout: float | None = None,
        uncertain: str = "",
    ) -> Answer:
        lease, link = self._plane.run(run)
        request: list[str] = []

        def given_up(why: str) -> Act:
            def act(leases: Leases, now: int) -> Steps:
                leases.abandon(request[0])
                return pending.finish(_no(NO_ANSWER, f"{uncertain}{why}"))

            return act

        pending = self._new(id, link, given_up)

        def act(leases: Leases, now: int) -> Steps:
            request.append(begin(leases, lease, pending))
            return NO_STEPS

        return self._ends(id, pending, self._act(link, act), timeout)

    def _new(self, id: str, link: PlaneConnection, give_up: Callable[[str], Act]) -> Pending:
        self._check_new(id)
        return Pending(link, Unread(MOST_UPDATES, self._plane.budget), give_up)

    def _check_new(self, id: str) -> None:
        """Raises: `InvalidArgument`."""
        if id in self._pending:
            raise InvalidArgument("id: an operation with this id is under way; take another")

    def _act(self, link: PlaneConnection, act: Act) -> str | None:
        """Have something done on a link. Answers why the control plane refuses it, if it does.

        Raises: `InvalidArgument` for what no message can carry.
        """
        refused: list[Exception] = []
        done: list[bool] = []

        def by_hand(leases: Leases, now: int) -> Steps:
            done.append(True)
            try:
                return act(leases, now)
            except (Denied, ValueError, RecursionError) as error:
                refused.append(error)
                return NO_STEPS

        def call(now: int) -> Steps:
            return link.by_hand(lambda leases: by_hand(leases, now), now)

        driver = next((each for each in self._small.drivers if each.connection is link), None)
        if driver is not None:
            driver.act(call)
        if not done:  # the link is over: nothing can be sent, and the gate says why
            by_hand(link.leases, self._small.clock())
        if refused and not isinstance(refused[0], Denied):
            raise InvalidArgument(f"no message can carry this: {refused[0]}")
        return str(refused[0]) if refused else None

    def _give_up(self, pending: Pending, why: str) -> None:
        denied = self._act(pending.link, pending.give_up(why))
        if denied is not None:
            pending.finish(_no(DENIED, denied))

    def _ends(
        self, id: str, pending: Pending, denied: str | None, timeout: float | None = None
    ) -> Answer:
        if denied is not None:
            return _at_once(_no(DENIED, denied))
        self._pending[id] = pending
        return partial(self._finish, id, pending, float("inf") if timeout is None else timeout)

    async def _finish(self, id: str, pending: Pending, within: float) -> Line:
        try:
            with trio.move_on_after(within):
                return await self._told(pending)
            self._give_up(pending, OVERDUE)
            return await self._told(pending)
        finally:
            del self._pending[id]

    async def _told(self, pending: Pending) -> Line:
        """Write the updates as they come, and answer the end."""
        while True:
            lines = pending.unread.take()
            if lines:
                await self._writer.write(*lines)
            elif pending.done is not None:
                return pending.done
            else:
                await pending.unread.wait()


def _at_once(line: Line) -> Answer:
    async def answer() -> Line:
        return line

    return answer


def _no(code: str, message: str, data: Any = None) -> Line:
    error = {"code": code, "message": message}
    return {"ok": False, "error": error if data is None else {**error, "data": data}}


def _answered(outcome: Ended, **members: Any) -> Line:
    """What a call came to. An error of the runner has its code, and its data if there is any."""
    error = outcome.error
    if error is not None and outcome.text:
        return _no(str(error.code), error.message, error.data) | _kept(members)
    if outcome.text:
        return _no(NO_ANSWER, outcome.text) | _kept(members)
    return members


def _kept(members: Line) -> Line:
    return {name: value for name, value in members.items() if name == "run"}


def _executed(outcome: Ended) -> Line:
    if outcome.text and outcome.error is None:
        return _no(NO_ANSWER, f"{UNCERTAIN}{outcome.text}")
    if not outcome.text:
        try:
            read_executed(outcome.result)
        except Malformed as error:
            return _no(NO_ANSWER, f"{UNCERTAIN}{error}")
    return _answered(outcome, result=outcome.result)


def _closed(pending: Pending, lease: Lease, outcome: Ended, now: int) -> Steps:
    """A run that was opened, and whose context files are wrong, is closed again."""
    return pending.finish(_no(lease.phase.value, lease.error))


def _opened(outcome: Ended, lease: Lease | None) -> Line:
    """The manifest, or why there is none: then `code` is the runner's, or what the run became."""
    if not outcome.text:
        return {"manifest": write(outcome.result)}
    if outcome.error is not None or lease is None:
        return _answered(outcome)
    return _no(lease.phase.value, outcome.text)
