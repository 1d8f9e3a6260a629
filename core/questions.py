"""Questions to workers: who is asked, and what their answers amount to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import TypeVar

import attrs
import trio

from fleetgate.core.answers import AccountList, Answer, ProviderList
from fleetgate.core.commands import ProbeWorkers, ReadUsage
from fleetgate.core.errors import Refusal, Unavailable
from fleetgate.core.limits import Limits
from fleetgate.core.roster import Roster, Worker
from fleetgate.core.times import SECOND
from fleetgate.core.worker import AccountReport, ProviderReport, Reports

_Report = TypeVar("_Report", ProviderReport, AccountReport)


@attrs.define(slots=True)
class _Pending:
    worker: Worker
    answered: trio.Event = attrs.field(factory=trio.Event)
    reports: Reports | Refusal | None = None


class Questions:
    """The questions that workers have not answered yet."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._ids = count(1)
        self._pending: dict[int, _Pending] = {}

    async def put(
        self,
        question: ProbeWorkers | ReadUsage,
        pools_of: Callable[..., Mapping[str, tuple[str, ...]]],
        roster: Roster,
    ) -> Answer:
        """Ask every worker of the pools, side by side, and join what they say; a provider that
        several report on is told of once, installed before missing. A pool whose workers do
        not answer questions speaks by its routes' provider names. `pools_of` answers the pools,
        or those for some labels.

        Raises, where one was to be asked: `Unavailable`: none is here, or it does not answer;
        `SessionNotFound`; `NotAccepted`: the one that is named takes no such run.
        """
        if isinstance(question, ReadUsage) and question.one:
            return await self._put_to_one(question, pools_of(question.labels), roster)
        pools = pools_of()
        providers: list[ProviderReport] = []
        accounts: list[AccountReport] = []
        async with trio.open_nursery() as nursery:
            for pool, names in pools.items():
                workers = list(roster.of(pool))
                asked = [w for w in workers if w.info.asks]
                for worker in asked:
                    nursery.start_soon(self._ask, worker, question, providers, accounts)
                if not asked:
                    _speak_for(pool, names, workers, providers, accounts)
        if isinstance(question, ProbeWorkers):
            best = sorted(providers, key=lambda report: not report.installed)
            return ProviderList(_first_of_each(best))
        return AccountList(_first_of_each(sorted(accounts, key=lambda a: not a.supported)))

    async def _put_to_one(
        self, question: ReadUsage, pools: Iterable[str], roster: Roster
    ) -> AccountList:
        worker = roster.find(pools, question.labels, question.session)
        if worker is None:
            raise Unavailable("no worker is connected that this could be put to; try again later")
        worker.info.check_accepts(question.labels)
        if not worker.info.asks:
            return AccountList((AccountReport(worker.info.pool, supported=False),))
        reports = await self._answer_of(worker, question)
        if isinstance(reports, Unavailable):
            raise reports
        if isinstance(reports, Refusal):  # the worker's own words are its answer
            failed = AccountReport(worker.info.pool, supported=False, error=reports.message)
            return AccountList((failed,))
        return AccountList(tuple(each for each in reports if isinstance(each, AccountReport)))

    async def _ask(
        self,
        worker: Worker,
        question: ProbeWorkers | ReadUsage,
        providers: list[ProviderReport],
        accounts: list[AccountReport],
    ) -> None:
        reports = await self._answer_of(worker, question)
        if isinstance(reports, Refusal):
            pool = worker.info.pool
            providers.append(ProviderReport(pool, installed=False, detail=reports.message))
            accounts.append(AccountReport(pool, supported=False, error=reports.message))
            return
        for report in reports:
            if isinstance(report, ProviderReport):
                providers.append(report)
            else:
                accounts.append(report)

    async def _answer_of(
        self, worker: Worker, question: ProbeWorkers | ReadUsage
    ) -> Reports | Refusal:
        id = next(self._ids)
        pending = self._pending[id] = _Pending(worker)
        try:
            if worker.port is None:
                return _gone(worker)
            worker.port.ask(id, question)
            within = question.within if isinstance(question, ReadUsage) else None
            with trio.move_on_after((within or self._limits.ask_within) / SECOND):
                await pending.answered.wait()
        finally:
            del self._pending[id]
        if pending.reports is None:
            return Unavailable(f"worker {worker.info.id} did not answer in time")
        return pending.reports

    def respond(self, question_id: int, reports: Reports | Refusal) -> None:
        """Take an answer; one that nobody waits for any more is dropped."""
        pending = self._pending.get(question_id)
        if pending is not None:
            pending.reports = reports
            pending.answered.set()

    def left(self, worker: Worker) -> None:
        """The worker's link is gone, and with it whatever it was asked."""
        for pending in list(self._pending.values()):
            if pending.worker is worker:
                pending.reports = _gone(worker)
                pending.answered.set()


def _first_of_each(reports: Iterable[_Report]) -> tuple[_Report, ...]:
    chosen: dict[str, _Report] = {}
    for report in reports:
        chosen.setdefault(report.provider, report)
    return tuple(chosen.values())


def _gone(worker: Worker) -> Refusal:
    return Unavailable(f"worker {worker.info.id} is not connected any more")


def _speak_for(
    pool: str,
    names: tuple[str, ...],
    workers: list[Worker],
    providers: list[ProviderReport],
    accounts: list[AccountReport],
) -> None:
    listed = [report for worker in workers for report in worker.info.providers]
    if listed:
        providers += listed
    else:
        detail = f"{len(workers)} worker(s) of {pool} connected"
        providers += (ProviderReport(n, bool(workers), detail=detail) for n in names or (pool,))
    known = {report.provider for report in listed} or set(names or (pool,))
    accounts += (AccountReport(name, supported=False) for name in sorted(known))
