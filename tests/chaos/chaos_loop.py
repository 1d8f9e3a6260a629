"""The kill loop: one gateway, a real process with all sixteen bridges, killed again and again, and
its four workers, which are as well; controllers are in this process, on real sockets, and outlive
them. One judge with the trials in virtual time. What is drawn comes from the seed; what the machine
does in between does not."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from unittest import mock

import attrs
import trio
from chaos_allowance import takes_input
from chaos_asking import insist
from chaos_book import TASKS, Tasks
from chaos_hosts import PROTOCOLS, Hosts, open_hosts
from chaos_judge import Seen
from chaos_lives import KINDS, Ended, Lives
from chaos_oracle import Task, asked, brisk, ids
from chaos_peers import Peers, open_peers
from chaos_site import EAGER, Site, set_site
from chaos_verdict import Court, Heard, Round
from chaos_views import seen_line

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.hub import Hub
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.routing import OPERATOR
from fleetgate.gateway.admin.client import AdminError, Lines, Unreachable, path_of
from fleetgate.gateway.demo.every.speakers import PAIRS

RUNS_A_LIFE = 10
MOST_OPEN = 96
"""Runs that are open at a time; above it a life begins no more."""
STARTS_WITHIN = 3.0
LOOK_EVERY = 0.3
PATIENCE = 240.0
"""Seconds behind the last kill within which every run has ended: iop's grace, twice, and a machine
that does other things as well."""
QUIET = 1.5
"""Seconds for whatever might come behind an end."""
FALLS_WITHIN = 2.5
"""Seconds of every other life within which a worker's turn to be killed comes."""
AT_WORK_WITHIN = 40.0
"""Seconds that it has then to be at a run; else it is killed as it is."""


async def play_round(
    seed: str, kills: int, say: Callable[[str], None], mutant: Path | None = None
) -> Round:
    """So many kills, and what came of them. The directory is left where something is wrong, but
    where a mutant was to do wrong."""
    site = set_site()
    # Peers that dial do it eagerly: nothing here is about how long they wait.
    with mock.patch("random.random", return_value=EAGER):
        async with trio.open_nursery() as nursery:
            draw = random.Random(f"kill loop {seed}")
            async with open_hosts(site) as hosts:
                loop = Loop(seed, Lives(site, draw, mutant), hosts, draw, nursery)
                result = await loop.run(site, kills, say)
                nursery.cancel_scope.cancel()
    if result.problems and mutant is None:
        say(f"journal and log are in {site.stage.root}")
    else:
        site.stage.remove()
    return result


@attrs.define
class Loop:
    """A round under way. `at_gateway` is what one watcher has seen of each run there, over all
    lives of the gateway, with a cursor; `again` what another saw of it in the last."""

    seed: str
    lives: Lives
    hosts: Hosts
    draw: random.Random
    nursery: trio.Nursery
    tasks: dict[str, tuple[str, Task]] = attrs.field(factory=dict[str, tuple[str, Task]])
    sent: dict[str, list[bytes]] = attrs.field(factory=lambda: defaultdict(list))
    ended: set[str] = attrs.field(factory=set[str])
    live: dict[str, list[e.Recorded]] = attrs.field(factory=lambda: defaultdict(list))
    late: dict[str, list[e.Recorded]] = attrs.field(factory=lambda: defaultdict(list))
    at_gateway: dict[str, list[Seen]] = attrs.field(factory=lambda: defaultdict(list))
    again: dict[str, list[Seen]] = attrs.field(factory=lambda: defaultdict(list))
    problems: list[str] = attrs.field(factory=list[str])
    _kinds: list[str] = attrs.field(factory=list[str])
    _falling: list[str] = attrs.field(factory=list[str])
    _fallen: trio.Event = attrs.field(factory=trio.Event)
    _peers: Peers | None = None

    async def run(self, site: Site, kills: int, say: Callable[[str], None]) -> Round:
        """All of it."""
        async with open_peers(site, self.nursery) as self._peers:
            try:
                await self._play(Tasks(site.stage.root / TASKS), kills, say)
                await self._settle()
                await self.lives.end()
            except Ended as ended:
                self.problems.append(str(ended))
            finally:
                self.lives.abandon()
            heard = Heard(self.live, self.late, self.at_gateway, self.again)
            court = Court(self.tasks, self._peers, self.hosts, self.lives.blows, heard, self.sent)
            found = await court.judged(self.seed, site.stage.root)
            return attrs.evolve(found, problems=self.problems + found.problems)

    async def _play(self, tasks: Tasks, kills: int, say: Callable[[str], None]) -> None:
        """All lives but the last."""
        source, pairs = ids(self.seed), list[str]()
        self.nursery.start_soon(self._watch_gateway)
        turns, fall = trio.open_memory_channel[str](kills)
        self.nursery.start_soon(self._fell, fall, random.Random(f"falls {self.seed}"), say)
        for number in range(kills):
            for _ in range(RUNS_A_LIFE if self._open() < MOST_OPEN else 0):
                if not pairs:
                    pairs = [pair.name for pair in PAIRS]
                    self.draw.shuffle(pairs)
                id, pair = next(source), pairs.pop()
                tasks.add(id, pair)
                self._begin(pair, id)
            if number % 2:
                turns.send_nowait(self._drawn(self._falling, PROTOCOLS))
            blow = await self.lives.live(self._drawn(self._kinds, KINDS))
            await trio.sleep(self.draw.random() * self.draw.choice((0.1, 1.0)))
            say(f"kill {number + 1}: {blow.phase} {blow.where}; {self._open()} runs are open")
        turns.close()

    async def _settle(self) -> None:
        """The last life, until everything is over."""
        await self.lives.last()
        await self._fallen.wait()
        with trio.move_on_after(PATIENCE):
            while self._open() or await self._listed(open=1):  # noqa: ASYNC110 - as `until`
                await trio.sleep(LOOK_EVERY)
        await trio.sleep(QUIET)
        for run in await self._listed():
            await self._follow(run, self.again[run])
            await self._follow(run, self.at_gateway[run])
        self.hosts.look()
        self.problems += [
            f"{id} ({pair}): not over {PATIENCE:.0f} s later"
            for id, (pair, _) in self.tasks.items()
            if id not in self.ended
        ]

    async def _fell(
        self, turns: trio.MemoryReceiveChannel[str], draw: random.Random, say: Callable[[str], None]
    ) -> None:
        """Kill each worker whose turn it is, while it is at something."""
        async for protocol in turns:
            await trio.sleep(draw.random() * FALLS_WITHIN)
            await self.hosts.wait_at_work(protocol, AT_WORK_WITHIN)
            try:
                await self.hosts.kill(protocol)
            except Ended as ended:
                self.problems.append(str(ended))
            say(f"beside it: the worker of {protocol}")
        self._fallen.set()

    def _drawn(self, left: list[str], kinds: Sequence[str]) -> str:
        """Each of them once before one comes again."""
        if not left:
            left += kinds
            self.draw.shuffle(left)
        return left.pop()

    def _open(self) -> int:
        return len(self.tasks) - len(self.ended)

    def _hub(self, pair: str) -> Hub:
        assert self._peers is not None
        return self._peers.controllers[pair].hub

    # --- the producer, and who watches at controllers

    def _begin(self, pair: str, id: str) -> None:
        task = brisk(id)
        self.tasks[id] = (pair, task)
        self.nursery.start_soon(self._produce, pair, task)

    async def _produce(self, pair: str, task: Task) -> None:
        at = random.Random(f"when {task.id}")
        await trio.sleep(at.uniform(0, STARTS_WITHIN))
        run, hub = RunId(task.id), self._hub(pair)
        spec = c.RunSpec(c.Prompt(asked(task.id), provider="claude"), interactive=True)
        start = c.StartRun(run, spec, c.Origin(OPERATOR, task.id))
        await insist(partial(hub.submit, start))
        self.nursery.start_soon(self._watch, pair, run)
        self.nursery.start_soon(self._watch_late, pair, run, at.uniform(0.5, 3))
        if takes_input(pair):
            for data in task.inputs:
                await trio.sleep(at.random())
                command = c.SendInput(run, data, newline=True)
                if await insist(partial(hub.submit, command, data.decode())):
                    self.sent[task.id].append(data)
        if task.cancel is not None:
            await trio.sleep(task.cancel)
            await insist(partial(hub.submit, c.CancelRun(run), "cancel"))

    async def _watch(self, pair: str, run: RunId) -> None:
        had = self.live[run]
        with self._hub(pair).follow(run, Seq(0)) as follower:
            async for batch in follower:
                had += batch
                if isinstance(had[-1].event, e.RunFinished):
                    self.ended.add(run)
                    return

    async def _watch_late(self, pair: str, run: RunId, behind: float) -> None:
        """Comes late, and goes and comes back with its cursor."""
        had = self.late[run]
        while run not in self.ended:
            await trio.sleep(behind)
            after = Seq(had[-1].seq if had else 0)
            with trio.move_on_after(0.5), self._hub(pair).follow(run, after) as follower:
                async for batch in follower:
                    had += batch

    # --- who watches at the gateway

    async def _watch_gateway(self) -> None:
        """See each run that is open there, as soon as it is known."""
        known: set[str] = set()
        while True:
            for run in await self._listed(open=1):
                if run not in known:
                    known.add(run)
                    self.nursery.start_soon(self._insist_following, run)
            await trio.sleep(LOOK_EVERY)

    async def _listed(self, **which: int) -> list[str]:
        runs: list[str] = []
        after: str | None = None
        while True:
            try:
                page = await self.lives.admin.get(path_of("runs", after=after, **which))
            except (Unreachable, AdminError):
                await trio.sleep(LOOK_EVERY)
                continue
            runs += [run["run"] for run in page["runs"]]
            after = page["next"]
            if after is None:
                return runs

    async def _insist_following(self, run: str) -> None:
        had = self.at_gateway[run]
        while not (had and had[-1].state):
            if not await self._follow(run, had):
                await trio.sleep(LOOK_EVERY)

    async def _follow(self, run: str, had: list[Seen]) -> bool:
        """Add what comes of a run, until it has ended. False where the gateway went away."""
        after = had[-1].seq if had else 0
        try:
            path = path_of("runs", run, "events", after=after, follow=1)
            async with self.lives.admin.stream(path) as lines:
                await _take(lines, had)
        except Unreachable:
            return False
        except AdminError as error:
            if error.code == "not_found":  # it was listed: it was durable
                self.problems.append(f"{run}: the gateway does not know it any more")
            return False
        return True


async def _take(lines: Lines, had: list[Seen]) -> None:
    async for line in lines:
        had.append(seen_line(line))
