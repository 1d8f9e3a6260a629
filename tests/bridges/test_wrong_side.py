"""Two peers of the same side: neither may take the other for what it is not. Configs that would
bring this about are refused; a peer elsewhere may do so all the same."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core.answers import WorkerList
from fleetgate.core.worker import InputKind
from fleetgate.gateway.config_entries import Entry, Facing
from fleetgate.gateway.fakes.small import open_small
from fleetgate.gateway.fidelity.bridge import make_entry
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.testing import SeenHouse

PATIENCE = 120
"""Seconds of any protocol's wait for the first word, and then some."""


def entry_of(facing: Facing, name: str, protocol: str, *, listens: bool) -> Entry:
    made = make_entry(facing, name, protocol, "memory:wrong", listens=listens)
    members: dict[str, Any] = {"workspace": "/srv/work"} if (protocol, facing) == K else {}
    return attrs.evolve(made, settings=attrs.evolve(made.settings, **members))


K = ("kodelet", "north")

SAYS_NOTHING = ("kodelet", "south")
"""A control plane sets no time for a registration, as the genuine one does: each waits, and a
call that comes before it is answered `REGISTER_FIRST`."""


@pytest.mark.parametrize("protocol", sorted(adapters(())))
@pytest.mark.parametrize("facing", ["north", "south"])
async def test_two_of_one_side_part_with_a_reason_or_are_nothing_to_each_other(
    protocol: str, facing: Facing, autojump_clock: MockClock
) -> None:
    seen = [SeenHouse(), SeenHouse()]
    inputs = frozenset(InputKind)
    here = entry_of(facing, "here", protocol, listens=True)
    there = entry_of(facing, "there", protocol, listens=False)
    async with (
        open_small(here, "a", "memory:", seen[0], inputs) as one,
        open_small(there, "b", "memory:", seen[1], inputs) as other,
    ):
        await trio.sleep(PATIENCE)
        for small in (one, other):
            workers = await small.hub.submit(c.ListWorkers())
            assert isinstance(workers, WorkerList)
            assert [each for each in workers.workers if each.info.pool in ("here", "there")] == []
        reasons = [
            house.entries[name].named("down") for house, name in zip(seen, NAMES, strict=True)
        ]
    for house, name in zip(seen, NAMES, strict=True):
        assert [fault for link in house.entries[name].links for fault in link.faults] == []
    if (protocol, facing) != SAYS_NOTHING:
        assert all(found and all(map(str, found)) for found in reasons)


NAMES = ("here", "there")
