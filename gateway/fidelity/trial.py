"""The corpus through one bridge, item by item, each in a run of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import attrs
import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import Refusal
from fleetgate.core.ids import RunId, SessionId
from fleetgate.gateway.fidelity import corpus, corpus_runs
from fleetgate.gateway.fidelity.bridge import Bridge, until
from fleetgate.gateway.fidelity.corpus import Item, Marks
from fleetgate.gateway.fidelity.verdict import Finding, Verdict, judge
from fleetgate.gateway.local.script import text_of

AT_ONCE: Final = 16
"""Items under way: what the protocol with the least room lets run at a time."""

SETTLED: Final = 1.0
"""Seconds after which what was said has arrived, or will not: no link of a trial is ever lost,
and the slowest update goes out after a twentieth of that."""

PATIENCE: Final = 60.0
"""Seconds that a run may take to begin."""

OK: Final = e.RunFinished(e.Outcome(e.RunState.SUCCEEDED, e.Reason.EXITED, exit_code=0))


class Trial:
    """What is found on one bridge."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self.findings: list[Finding] = []

    async def run(self) -> list[Finding]:
        """Try everything. Cancelled, runs are left open."""
        marks = Marks()
        said = await self._plain(marks)
        for items, tried in (
            (corpus.events(marks), self._event),
            (corpus_runs.ends(marks), self._event),
            (corpus_runs.specs(marks), self._spec),
            (corpus.orders(marks), self._order),
        ):
            await self._all(list(items), tried)
        return [*said, *self.findings]

    async def _all(self, items: Sequence[Item], tried: Callable[[Item], Awaitable[None]]) -> None:
        for batch in _batches(items):
            async with trio.open_nursery() as nursery:
                for item in batch:
                    nursery.start_soon(tried, item)

    # --- what a worker says

    async def _plain(self, marks: Marks) -> list[Finding]:
        """What a controller hears of a run whose worker says nothing but its start and its
        end."""
        run, there = await self._begin(marks.next()[0])
        self._bridge.say(there, e.RunStarted())
        await self._end(run, there)
        heard = {type(each.event) for each in self._bridge.events[run]}
        own = sorted(kind.__name__ for kind in heard - {e.RunStarted, e.RunFinished})
        return [Finding(f"{kind} (unsaid)", "", Verdict.SYNTHESISED) for kind in own]

    async def _begin(self, token: str) -> tuple[RunId, RunId]:
        spec = c.RunSpec(
            c.Prompt(token, provider="claude"),
            interactive=True,
            approvals=True,
            session=SessionId(f"session-{token}"),
        )
        run = await self._bridge.ask(token, spec)
        await until(lambda: self._started(token) is not None, PATIENCE)
        there = self._started(token)
        assert there is not None
        return run, there.run

    def _started(self, token: str) -> c.Order | None:
        worker = self._bridge.worker
        assert worker is not None
        for order in worker.port.orders:
            command = order.command
            if isinstance(command, c.StartRun) and token in _words(command.spec.input):
                return order
        return None

    async def _end(self, run: RunId, there: RunId) -> None:
        if self._bridge.worker is not None and not self._over(run):
            self._bridge.worker.record(there, OK)
        await self._bridge.ended(run)

    def _over(self, run: RunId) -> bool:
        return bool(self._bridge.of_kind(run, e.RunFinished))

    async def _event(self, item: Item) -> None:
        run, there = await self._begin(item.token)
        if not isinstance(item.subject, e.RunStarted):
            self._bridge.say(there, e.RunStarted())
        if isinstance(item.subject, e.InputAccepted):
            await self._send_two(run)
        self._bridge.say(there, *item.before)
        await trio.sleep(SETTLED)
        before = len(self._bridge.events[run])
        assert self._bridge.worker is not None
        self._bridge.worker.record(there, item.subject)
        await trio.sleep(SETTLED)
        self._found(item, self._heard(item, run, before))
        await self._end(run, there)

    def _heard(self, item: Item, run: RunId, before: int) -> list[Any]:
        """What came behind the first `before` events. Where an approval is denied as it is asked,
        what resolves it had come by then, and may be all that comes."""
        heard = [each.event for each in self._bridge.events[run]]
        kind: Any = item.subject.__class__
        late = any(type(each) is kind for each in heard[before:])
        early = [each for each in heard[:before] if item.before and type(each) is kind and not late]
        return [*early, *heard[before:]]

    async def _send_two(self, run: RunId) -> None:
        for data in (b"1", b"2"):
            try:
                await self._bridge.controller.hub.submit(c.SendInput(run, data))
            except Refusal:
                return

    def _found(self, item: Item, arrived: Sequence[Any], refused: str = "") -> None:
        finding = judge(item, arrived, refused)
        if finding is not None:
            self.findings.append(finding)

    # --- what a controller asks for

    async def _spec(self, item: Item) -> None:
        try:
            run = await self._bridge.ask(item.name, item.subject)
        except Refusal as refusal:
            self._found(item, (), refusal.code)
            return
        sign = item.sign or item.token
        await until(lambda: self._started(sign) is not None or self._over(run), PATIENCE)
        start = self._started(sign)
        if start is None:
            outcome = await self._bridge.ended(run)
            self._found(item, (), outcome.message.partition(":")[0][:40] or outcome.reason.value)
            return
        assert isinstance(start.command, c.StartRun)
        self._found(item, (start.command.spec,))
        await self._end(run, start.run)

    # --- what a controller orders

    async def _order(self, item: Item) -> None:
        run, there = await self._begin(item.token)
        self._bridge.say(there, e.RunStarted(), *item.before)
        await trio.sleep(SETTLED)
        before = len(self._bridge.ordered(there, object))
        refused = ""
        try:
            await self._bridge.controller.hub.submit(self._named(item, run))
        except Refusal as refusal:
            refused = refusal.code
        await trio.sleep(SETTLED)
        given = self._bridge.ordered(there, object)[before:]
        arrived = [self._unnamed(each) for each in given]
        self._found(item, arrived, refused or self._told(run))
        await self._end(run, there)

    def _named(self, item: Item, run: RunId) -> Any:
        """The order to the very run; an approval by the name that the controller has for it."""
        changes: dict[str, Any] = {"run": run}
        asked = self._bridge.of_kind(run, e.ApprovalRequested)
        if isinstance(item.subject, c.ResolveApproval) and asked:
            changes["approval"] = asked[0].approval
        return attrs.evolve(item.subject, **changes)

    def _unnamed(self, order: Any) -> Any:
        return attrs.evolve(order, run=corpus.RUN)

    def _told(self, run: RunId) -> str:
        """The code of a refusal that came as an event."""
        said = self._bridge.of_kind(run, e.Diagnosed)
        return said[-1].code if said else ""


def _words(given: c.Input) -> str:
    """An input with what its text does not show."""
    return f"{text_of(given)} {given!r}"


def _batches(items: Sequence[Item]) -> Sequence[Sequence[Item]]:
    return [items[at : at + AT_ONCE] for at in range(0, len(items), AT_ONCE)]
