"""Notes with runs."""

from __future__ import annotations

import pytest
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core.errors import InvalidArgument, RunNotFound
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import describe, started
from fleetgate.core.ids import RunId
from fleetgate.core.journal.api import Journal
from fleetgate.core.notes import MAX_NOTE


async def test_notes_are_kept_with_a_run_open_or_ended(hub: Hub) -> None:
    run = await started(hub)
    await hub.annotate(run, "rvbox", {"revision": 2})
    await hub.submit(c.CancelRun(run))
    await wait_all_tasks_blocked()
    await hub.annotate(run, "other", 1)
    assert (await describe(hub, run)).notes == {"rvbox": {"revision": 2}, "other": 1}


@pytest.mark.limit("core/notes.MAX_NOTE")
async def test_i9_a_note_is_small(hub: Hub) -> None:
    run = await started(hub)
    await hub.annotate(run, "a", "x" * (MAX_NOTE - 2))
    with pytest.raises(InvalidArgument, match="4096 bytes"):
        await hub.annotate(run, "a", "x" * (MAX_NOTE - 1))
    with pytest.raises(RunNotFound):
        await hub.annotate(RunId("none"), "a", 1)


async def test_what_a_journal_cannot_hold_is_refused_and_changes_nothing(
    hub: Hub, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await started(hub)

    def refuse(*_: object, **__: object) -> None:
        raise ValueError("too odd")

    monkeypatch.setattr(journal, "enqueue", refuse)
    with pytest.raises(InvalidArgument, match="too odd"):
        await hub.annotate(run, "odd", 1)
    monkeypatch.undo()
    await hub.annotate(run, "a", 1)
    assert (await describe(hub, run)).notes == {"a": 1}
