"""What came of a round of the kill loop: the evidence of every run, from its controller, from who
watched the gateway, and from the journal that it left, and the judge's word on it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
from chaos_hosts import Hosts, Shelf, Work, executions, repeats
from chaos_judge import Evidence, Seen, Tally, judge, tally_of
from chaos_life import MARK
from chaos_lives import Blow
from chaos_oracle import Task
from chaos_peers import Peers, timed
from chaos_promise import Course, Promise, again, course_of, struck
from chaos_views import doubted, id_in, read_all, seen

from fleetgate.core import events as e
from fleetgate.core.ids import RunId
from fleetgate.core.journal import offline
from fleetgate.core.run import Run
from fleetgate.core.times import SECOND


@attrs.frozen
class Round:
    """What came of some kills. `crossed`: runs of each pair that were with a worker at a kill."""

    seed: str
    tally: Tally
    crossed: Counter[str]
    problems: list[str]


@attrs.frozen
class Heard:
    """What watchers had: at a controller one from the beginning and one that came and went; at the
    gateway one over all its lives, with a cursor, and one in the last."""

    live: Mapping[str, Sequence[e.Recorded]]
    late: Mapping[str, Sequence[e.Recorded]]
    at_gateway: Mapping[str, Sequence[Seen]]
    again: Mapping[str, Sequence[Seen]]


@attrs.define
class Court:
    """Hears about each run, by the id of its task: `tasks` has its pair too. `sent` are inputs
    that were accepted."""

    tasks: Mapping[str, tuple[str, Task]]
    peers: Peers
    hosts: Hosts
    blows: Sequence[Blow]
    heard: Heard
    sent: Mapping[str, Sequence[bytes]]
    _here: dict[str, Sequence[e.Recorded]] = attrs.field(factory=dict[str, Sequence[e.Recorded]])
    _above: dict[str, Course] = attrs.field(factory=dict[str, Course])
    _there: dict[str, list[Course]] = attrs.field(factory=lambda: defaultdict(list))
    _doubted: dict[str, frozenset[bytes]] = attrs.field(factory=lambda: defaultdict(frozenset))
    _stored: dict[str, int] = attrs.field(factory=dict[str, int])
    _shelves: Mapping[str, Shelf] = attrs.field(factory=dict[str, Shelf])

    async def judged(self, seed: str, root: Path) -> Round:
        """All of it. `root` is the directory of a gateway that has ended."""
        self._shelves = self.hosts.books()
        for id, (pair, _) in self.tasks.items():
            journal = self.peers.controllers[pair].journal
            run = await journal.get(RunId(id))
            self._here[id] = await read_all(self.peers.controllers[pair], RunId(id))
            self._above[id] = course_of(0 if run is None else run.created, self._here[id])
        if not (root / "journal.db").exists():
            return Round(seed, Tally(), Counter(), ["the gateway has left no journal"])
        with offline.opened(root / "journal.db") as file:
            damage = [f"the journal: {each}" for each in offline.verify(file, offline.Seen())]
            found = [
                self._at_gateway(run, list(offline.events_of(file, run.id)))
                for run in offline.runs_in(file)
            ]
        found += [self._at_controller(id) for id in self.tasks]
        tally = tally_of(found)
        tally.kills = Counter(blow.kind for blow in self.blows)
        tally.kills += Counter(blow.kind for each in self.hosts.blows.values() for blow in each)
        tally.suppressed = repeats(self._shelves.values(), self._stored)
        tally.fallen = Counter(_south(self.tasks[id][0]) for id in self._there if self._cut(id))
        problems = [*damage, *self._twice(), *judge(found), *self._faults(), *_logged(root)]
        return Round(seed, tally, self._crossed(), problems + self._accounts(problems))

    def _at_gateway(self, run: Run, recorded: Sequence[e.Recorded]) -> Evidence:
        id = id_in(run.spec)
        assert id is not None, run.spec
        pair, task = self.tasks[id]
        for each in recorded:
            for mark, number in MARK.findall(_said(each.event)):
                self._stored[f"{mark.decode()}.{number.decode()}"] = each.time
        course = course_of(run.created, recorded)
        self._there[id].append(course)
        self._doubt(id, recorded)
        views = {
            "an operator": self.heard.at_gateway.get(run.id, ()),
            "another, afterwards": self.heard.again.get(run.id, ()),
            "the journal": seen(recorded),
        }
        promise = Promise(pair, self.blows, self._shelf(id).missed, self._falls(pair))
        disowned = self._above[id].end in ("lost", "failed")
        executed, cut = self._work(id).executed, self._cut(id)
        ends = promise.at_gateway(task, course, executed, disowned=disowned, cut=cut)
        return self._evidence(f"{run.id} at the gateway", id, views, ends, promise)

    def _at_controller(self, id: str) -> Evidence:
        pair, task = self.tasks[id]
        recorded, course = self._here[id], self._above[id]
        late = self.heard.late.get(id, ())
        self._doubt(id, recorded)
        views = {
            "the controller": seen(self.heard.live.get(id, ())),
            "another, late": seen([*late, *recorded[len(late) :]]),
            "its journal": seen(recorded),
        }
        gateway = timed(self.peers.controllers[pair])
        noticed = self._noticed(gateway.downs)
        promise = Promise(pair, noticed, gateway.missed, self._falls(pair))
        there, executed = self._there.get(id), self._work(id).executed
        ends = promise.at_controller(task, course, there[0] if there else None, executed)
        return self._evidence(f"{id} ({pair})", id, views, ends, promise)

    def _evidence(
        self,
        name: str,
        id: str,
        views: Mapping[str, Sequence[Seen]],
        ends: frozenset[str],
        promise: Promise,
    ) -> Evidence:
        _, task = self.tasks[id]
        return Evidence(
            name,
            acknowledged=True,
            wanted=task.wanted,
            views=views,
            ends=ends,
            executed=self._executed(id),
            inputs=self.sent.get(id, ()),
            got=self._shelf(id).got[id],
            uncertain=promise.uncertain_input(self._above[id], *self._there.get(id, ())),
            doubted=self._doubted[id],
        )

    def _doubt(self, id: str, recorded: Sequence[e.Recorded]) -> None:
        self._doubted[id] |= doubted(recorded, self.sent.get(id, ()))

    def _shelf(self, id: str) -> Shelf:
        return self._shelves[_south(self.tasks[id][0])]

    def _work(self, id: str) -> Work:
        return self._shelf(id).work[id]

    def _falls(self, pair: str) -> Sequence[Blow]:
        return self._shelves[_south(pair)].falls(self.hosts.blows[_south(pair)])

    def _cut(self, id: str) -> bool:
        return self._work(id).cut(len(self._falls(self.tasks[id][0])))

    def _executed(self, id: str) -> int:
        """How often it was begun, as far as that must not be."""
        pair, work = self.tasks[id][0], self._work(id)
        started = min((each.started for each in self._there.get(id, ())), default=0)
        if work.executed > 1 and again(pair, work.began, started):
            return max(executions(work).values())
        return work.executed

    def _faults(self) -> list[str]:
        raised = [
            f"a fault at the worker of {name}: {fault}"
            for name, shelf in self._shelves.items()
            for fault in shelf.faults
        ]
        return [*self.peers.faults(), *self.hosts.faults(), *raised]

    def _noticed(self, downs: Sequence[int]) -> list[Blow]:
        """The kills, each as long as a controller took to find its link lost: what it gave out
        meanwhile went nowhere."""
        found: list[Blow] = []
        nexts = [*(blow.before for blow in self.blows[1:]), 1 << 63]
        for blow, next_ in zip(self.blows, nexts, strict=True):
            down = next((each for each in downs if blow.before <= each < next_), 0)
            found.append(attrs.evolve(blow, after=max(blow.after, down)))
        return found

    def _twice(self) -> list[str]:
        return [f"{id}: it is {len(each)} runs" for id, each in self._there.items() if each[1:]]

    def _crossed(self) -> Counter[str]:
        return Counter(
            self.tasks[id][0]
            for id, course in self._above.items()
            if struck(self.blows, course.assigned, course.ended)
        )

    def _accounts(self, problems: Sequence[str]) -> list[str]:
        """How the runs with problems went, in seconds since the first kill."""
        bad = [id for id in self.tasks if any(id in problem for problem in problems)]
        blows = [*self.blows, *(blow for each in self.hosts.blows.values() for blow in each)]
        kills = ", ".join(f"{self._at(b.before)} {b.phase} {b.where}" for b in blows)
        return [*map(self._account, bad), *([f"kills: {kills}"] if problems else [])]

    def _account(self, id: str) -> str:
        told = [self._told("at its controller", self._above[id])]
        told += [self._told("at the gateway", course) for course in self._there.get(id, ())]
        began = ", ".join(f"{self._at(at)} in life {life}" for life, at in self._work(id).began)
        ends = ", ".join(map(str, sorted(self._work(id).over)))
        return f"{id}: {'; '.join(told)}; begun {began}, over in life {ends}"

    def _told(self, where: str, course: Course) -> str:
        given = f"accepted {self._at(course.created)}, given out {self._at(course.assigned)}"
        why = f" ({course.words})" if course.words else ""
        return f"{where} {given}, {course.end or 'open'} {self._at(course.ended)}{why}"

    def _at(self, time: int) -> str:
        return f"{(time - self.blows[0].before) / SECOND:.2f}" if time else "never"


def _south(pair: str) -> str:
    return pair.partition("-")[2]


def _said(event: e.Event) -> bytes:
    match event:
        case e.TextProduced(text=text):
            return text.encode()
        case e.OutputProduced(data=data):
            return data
        case _:
            return b""


def _logged(root: Path) -> list[str]:
    """What the gateway calls an error in its log, or did not say itself."""
    lines = (root / "gateway.log").read_text(errors="replace").split("\n")
    return [f"the gateway's log: {line}" for line in lines if line and _is_fault(line)]


def _is_fault(line: str) -> bool:
    try:
        return bool(json.loads(line)["level"] == "error")
    except (ValueError, KeyError, TypeError):
        return True
