"""What a link that speaks for a worker tells the hub."""

from __future__ import annotations

from typing import Any

from trio.testing import wait_all_tasks_blocked

from fleetgate.core import events as e
from fleetgate.core.hub_testing import HandWorker, hub_on, kinds, started, worker_info
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.speaking import Speaker
from fleetgate.gateway.testing import SeenLink
from fleetgate.protocols import api
from fleetgate.protocols.bulk import Bulk, Heard


async def test_reports_go_together_and_before_anything_else() -> None:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        one, two = await started(hub, "one"), await started(hub, "two")
        await wait_all_tasks_blocked()
        seen = SeenLink()
        speaker = Speaker(hub, seen)
        assert speaker.worker is None
        speaker.link = ("hosts", "10.0.0.7:1")
        speaker.admitted(worker.info.id, worker.epoch)
        assert hub.ladders.passages.link(worker.info.id, worker.epoch) == speaker.link
        for seq, run in enumerate((one, one, two, one), 1):
            speaker.record(api.Record(run, (e.TextProduced(str(seq)),), seq, e.Stamp(10 + seq)))
        speaker.perform(api.WithdrawWorker("gone", gone=True))
        assert speaker.worker is None
        await wait_all_tasks_blocked()
        for run, texts in ((one, ["1", "2", "4"]), (two, ["3"])):
            stored = await journal.read(run, Seq(0), items=99, size=1 << 20)
            assert [r.event.text for r in stored if isinstance(r.event, e.TextProduced)] == texts
            times = [
                r.source.time for r in stored if isinstance(r.event, e.TextProduced) and r.source
            ]
            assert times == [10 + int(text) for text in texts]
            assert kinds(stored)[-1] == "RunFinished"
        assert seen.reports == []


async def test_what_comes_in_bulk_of_several_runs_goes_in_one_report_of_each() -> None:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        speaker = Speaker(hub, SeenLink())
        speaker.admitted(worker.info.id, worker.epoch)
        reports: list[list[tuple[str, list[str]]]] = []

        def record_all(_worker: Any, _epoch: Any, told: Any) -> list[RunId]:
            reports.append(
                [
                    (run, [str(getattr(events[0], "text", "session")) for events, _, _ in heard])
                    for run, heard in told
                ]
            )
            return []

        hub.record_all = record_all  # type: ignore[method-assign]
        one, two = RunId("one"), RunId("two")

        def said(text: str) -> Heard:
            return (e.TextProduced(text),), None, None

        speaker.hear(Bulk(3, {one: [said("1"), said("3")], two: [said("2")]}))
        speaker.hear(Bulk(2, {two: [said("4")], one: [said("5")]}))
        speaker.record(api.Record(one, (e.SessionOpened("s"),)))
        speaker.hear(Bulk(2, {two: [said("6")], one: [said("7")]}))
        speaker.record(api.Record(two, (e.SessionOpened("s"),)))
        speaker.hear(Bulk(1, {two: [said("8")]}))
        speaker.flush()
        speaker.flush()
        assert reports == [
            [
                ("one", ["1", "3", "5"]),
                ("two", ["2", "4", "6"]),
                ("one", ["session", "7"]),
                ("two", ["session", "8"]),
            ]
        ]


async def test_I7_whoever_was_not_admitted_or_is_fenced_is_not_heard() -> None:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        run = await started(hub)
        await wait_all_tasks_blocked()
        seen = SeenLink()
        speaker = Speaker(hub, seen)
        speaker.record(api.Record(run, (e.TextProduced("x"),), 1))
        speaker.perform(api.WorkerReady())
        assert [what for what, _ in seen.reports] == ["no_worker", "no_worker"]
        speaker.admitted(worker.info.id, worker.epoch)
        await HandWorker(hub, worker_info()).join()
        speaker.record(api.Record(run, (e.TextProduced("x"),), 1))
        speaker.perform(api.ReportCapacity(1))
        speaker.fenced()
        speaker.record(api.Record(RunId("other"), (e.TextProduced("x"),), 1))
        speaker.end("over")
        assert [what for what, _ in seen.reports][2:] == ["fenced", "fenced", "no_worker"]
        assert (await journal.read(run, Seq(1), items=9, size=999)) == []
