"""Names to things."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from fleetgate.core.journal.api import JournalError
from fleetgate.gateway.registry import RegistryError, adapters, builtin, open_journal
from fleetgate.transports.framing import FRAMINGS


def test_the_protocols_are_listed_by_their_own_names() -> None:
    known = adapters(extra=())
    assert (
        list(known)
        == [adapter.name for adapter in builtin()]
        == ["agency", "iop", "kodelet", "rvbox"]
    )


def test_every_framing_that_a_protocol_names_exists() -> None:
    for adapter in builtin():
        for side in (adapter.northbound, adapter.southbound):
            stream = side.carriage(side.settings()).stream
            assert stream is None or stream in FRAMINGS


def test_a_southbound_side_says_what_its_workers_take() -> None:
    assert all(adapter.southbound.inputs for adapter in builtin())


def test_others_come_by_entry_point_and_a_clash_or_a_stranger_stops_the_start() -> None:
    taken = EntryPoint("x", "fleetgate.protocols.agency:ADAPTER", "fleetgate.protocols")
    with pytest.raises(RegistryError, match="agency"):
        adapters(extra=(taken,))
    stranger = EntryPoint("x", "fleetgate.protocols.agency:__name__", "fleetgate.protocols")
    with pytest.raises(RegistryError, match="no Adapter"):
        adapters(extra=(stranger,))
    broken = EntryPoint("x", "fleetgate.no_such_module:ADAPTER", "fleetgate.protocols")
    with pytest.raises(RegistryError, match="no_such_module"):
        adapters(extra=(broken,))


async def test_journals_are_opened_by_their_url(tmp_path: Path) -> None:
    for url in ("memory:", f"sqlite:{tmp_path}/j.db"):
        async with open_journal(url) as journal:
            assert journal.pressure().failing is None
    for url in ("", "sqlite:", "redis://x"):
        with pytest.raises(JournalError):
            async with open_journal(url):
                pass
