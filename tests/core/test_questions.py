"""Questions to workers."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import AccountList, ProviderList
from fleetgate.core.errors import NotAccepted, SessionNotFound, Unavailable, WorkerFailed
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    HandWorker,
    started,
    worker_info,
)
from fleetgate.core.ids import SessionId
from fleetgate.core.times import SECOND
from fleetgate.core.worker import NAMED, AccountReport, ProviderReport


async def test_questions_go_to_workers_that_answer_and_others_are_spoken_for(hub: Hub) -> None:

    answer = await hub.submit(c.ProbeWorkers("north"))
    assert isinstance(answer, ProviderList)
    assert [(p.provider, p.installed) for p in answer.providers] == [("claude", False)]
    worker = HandWorker(hub, worker_info(asks=True))
    await worker.join()
    got: list[object] = []

    async def ask(question: c.Command) -> None:
        got.append(await hub.submit(question))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, c.ProbeWorkers("north"))
        nursery.start_soon(ask, c.ReadUsage("north"))
        await wait_all_tasks_blocked()
        for number, question in worker.port.questions:
            if isinstance(question, c.ProbeWorkers):
                hub.respond(number, (ProviderReport("codex", True),))
            else:
                hub.respond(number, (AccountReport("codex", True, {"a": 1}),))
    assert ProviderList((ProviderReport("codex", True),)) in got
    assert AccountList((AccountReport("codex", True, {"a": 1}),)) in got
    hub.respond(99, ())


async def test_a_worker_that_does_not_answer_is_reported(
    hub: Hub, autojump_clock: trio.testing.MockClock
) -> None:

    await HandWorker(hub, worker_info(asks=True)).join()
    answer = await hub.submit(c.ReadUsage("north"))
    assert isinstance(answer, AccountList)
    assert answer.accounts[0].error is not None


async def test_a_worker_that_leaves_will_not_answer_any_more(hub: Hub) -> None:
    worker = HandWorker(hub, worker_info(asks=True))
    await worker.join()
    got: list[object] = []

    async def ask() -> None:
        got.append(await hub.submit(c.ReadUsage("north")))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        worker.leave()
    (answer,) = got
    assert isinstance(answer, AccountList)
    assert "not connected" in (answer.accounts[0].error or "")


async def test_one_worker_is_asked_the_one_that_a_run_would_go_to(hub: Hub) -> None:
    with pytest.raises(Unavailable):
        await hub.submit(c.ReadUsage("north", one=True))
    workers = {}
    for name in ("one", "two"):
        workers[name] = HandWorker(hub, worker_info(name, asks=True))
        await workers[name].join()
    run = await started(hub, "a", c.RunSpec(c.Prompt("x"), session=SessionId("s")))
    await wait_all_tasks_blocked()
    home = next(w for w in workers.values() if w.port.orders)
    other = next(w for w in workers.values() if w is not home)
    home.record(run, e.SessionOpened("s"))
    named = {"gateway.node": other.info.id.partition("/")[2]}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.submit, c.ReadUsage("north", True, session=SessionId("s")))
        nursery.start_soon(hub.submit, c.ReadUsage("north", True, named))
        nursery.start_soon(hub.submit, c.ReadUsage("north", True))
        await wait_all_tasks_blocked()
        assert len(home.port.questions) == 1
        assert len(other.port.questions) == 2
        for worker in workers.values():
            for number, _ in worker.port.questions:
                hub.respond(number, (AccountReport("x", True),))
    home.leave()
    with pytest.raises(Unavailable):
        await hub.submit(c.ReadUsage("north", True, session=SessionId("s")))


async def test_a_session_that_nobody_has_is_not_asked_of_another(hub: Hub) -> None:
    worker = HandWorker(hub, worker_info(asks=True))
    await worker.join()
    with pytest.raises(SessionNotFound):
        await hub.submit(c.ReadUsage("north", True, session=SessionId("elsewhere")))
    assert worker.port.questions == []


async def test_one_that_is_named_and_takes_no_such_run_is_not_asked(hub: Hub) -> None:
    worker = HandWorker(hub, worker_info(asks=True, accepts={"adapter": frozenset({"cli"})}))
    await worker.join()
    labels = {NAMED: worker.info.id.partition("/")[2], "adapter": "vllm"}
    with pytest.raises(NotAccepted, match="does not take what adapter"):
        await hub.submit(c.ReadUsage("north", True, labels))
    del labels[NAMED]
    with pytest.raises(Unavailable):
        await hub.submit(c.ReadUsage("north", True, labels))
    assert worker.port.questions == []


async def test_the_one_that_was_asked_and_leaves_is_no_answer(hub: Hub) -> None:
    worker = HandWorker(hub, worker_info(asks=True))
    await worker.join()
    with pytest.RaisesGroup(pytest.RaisesExc(Unavailable, match="not connected")):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hub.submit, c.ReadUsage("north", True))
            await wait_all_tasks_blocked()
            worker.leave()


async def test_what_the_one_says_instead_is_its_answer(hub: Hub) -> None:
    worker = HandWorker(hub, worker_info(asks=True))
    await worker.join()
    got: list[object] = []

    async def ask() -> None:
        got.append(await hub.submit(c.ReadUsage("north", True)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        ((number, _),) = worker.port.questions
        hub.respond(number, WorkerFailed("boom"))
    assert got == [AccountList((AccountReport("pool", False, error="boom"),))]


async def test_a_question_may_set_its_own_patience(
    hub: Hub, autojump_clock: trio.testing.MockClock
) -> None:
    await HandWorker(hub, worker_info(asks=True)).join()
    began = trio.current_time()
    with pytest.raises(Unavailable, match="did not answer in time"):
        await hub.submit(c.ReadUsage("north", True, within=3 * SECOND))
    assert trio.current_time() - began == 3


async def test_one_that_answers_no_questions_supports_none(hub: Hub, worker: HandWorker) -> None:
    answer = await hub.submit(c.ReadUsage("north", True))
    assert answer == AccountList((AccountReport("pool", supported=False),))
