"""The run's row is what its log makes of it (docs/adr/0003)."""

import attrs
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import events as e
from fleetgate.core.commands import RunSpec
from fleetgate.core.drawing import examples
from fleetgate.core.hub_testing import HandWorker, describe, hub_on, start_run, worker_info
from fleetgate.core.ids import Seq
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.run import Run, evolve, start
from fleetgate.core.testing import events, specs

FROM_EVENTS = (
    "state",
    "worker",
    "epoch",
    "native_session",
    "model",
    "approvals",
    "usage",
    "outcome",
    "last_seq",
)
"""Members that no command changes: the log alone says what they are."""

reports = events(*(kind for kind in e.Event.__args__ if kind is not e.RunAssigned))


@settings(max_examples=examples(60))
@given(specs(), st.lists(reports, max_size=12))
def test_folding_the_log_gives_the_row(spec: RunSpec, said: list[e.Event]) -> None:
    row, folded = trio.run(_play, spec, said)
    for member in FROM_EVENTS:
        assert getattr(row, member) == getattr(folded, member), member


async def _play(spec: RunSpec, said: list[e.Event]) -> tuple[Run, Run]:
    """Report events, legal and illegal, of one run; its row, and its log folded."""
    command = start_run(spec=attrs.evolve(spec, expires=None, timeout=None))
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        await hub.submit(command)
        await wait_all_tasks_blocked()
        if worker.port.orders:
            for seq, event in enumerate(said, 1):
                worker.record(command.run, event, seq=seq)
            await wait_all_tasks_blocked()
        row = await describe(hub, command.run)
        folded = start(command, row.created).run
        for recorded in await journal.read(command.run, Seq(0), items=1000, size=1 << 30):
            folded = attrs.evolve(evolve(folded, recorded.event), last_seq=recorded.seq)
    return row, folded
