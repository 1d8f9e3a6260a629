"""Notes with runs: small values that adapters keep, under their protocol's name."""

from __future__ import annotations

import json
from functools import partial
from typing import Final

import attrs

from fleetgate.core.commits import in_all
from fleetgate.core.errors import InvalidArgument
from fleetgate.core.ids import RunId
from fleetgate.core.journal.api import Done
from fleetgate.core.json import Json
from fleetgate.core.ledger import Ledger
from fleetgate.core.run import Run
from fleetgate.core.slots import Slot
from fleetgate.core.starts import Starts

MAX_NOTE: Final = 4096
"""Bytes of a note with a run, as JSON: a few numbers and names, read and written with its row."""


class Notes:
    """Keeps them with runs that are open, ended, or just being accepted."""

    def __init__(self, ledger: Ledger, starts: Starts) -> None:
        self._ledger = ledger
        self._starts = starts

    async def annotate(self, run: RunId, name: str, value: Json) -> None:
        """Keep a value with the run, durably, in place of an older one of that name.

        Raises: `InvalidArgument`, `RunNotFound`: nothing is kept; `Unavailable`: it may yet be.
        Cancelled, it may or may not be kept.
        """
        if len(json.dumps(value)) > MAX_NOTE:
            raise InvalidArgument(f"a note with a run may have {MAX_NOTE} bytes as JSON")
        with in_all(self._ledger.limits.answer_within):
            await self._annotate(run, name, value)

    async def _annotate(self, run: RunId, name: str, value: Json) -> None:
        await self._starts.settled(run)
        slot = self._ledger.slots.get(run)
        if slot is None:
            await self._ledger.change_ended(run, partial(_noted, name, value))
            return
        with self._ledger.using(slot):
            await self._ledger.commit(partial(self._put, slot, name, value))

    def _put(self, slot: Slot, name: str, value: Json, done: Done) -> None:
        before, slot.run = slot.run, _noted(name, value, slot.run)
        try:
            self._ledger.put(slot, done)
        except ValueError:  # a journal cannot hold it
            slot.run = before
            raise


def _noted(name: str, value: Json, run: Run) -> Run:
    return attrs.evolve(run, notes={**run.notes, name: value})
