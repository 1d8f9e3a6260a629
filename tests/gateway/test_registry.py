"""Names to things."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from fleetgate.core.journal.api import JournalError
from fleetgate.gateway.registry import BUILTIN, RegistryError, adapters, builtin, open_journal
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


@pytest.mark.parametrize("facing", ["north", "south"])
@pytest.mark.parametrize("protocol", BUILTIN)
def test_a_side_that_was_loaded_imports_nothing_more_when_it_is_opened(
    protocol: str, facing: str
) -> None:
    program = (
        "import sys\n"
        "from fleetgate.gateway.config_entries import side_of\n"
        "from fleetgate.gateway.registry import builtin_adapter, load_side\n"
        f"load_side({protocol!r}, {facing!r})\n"
        "before = set(sys.modules)\n"
        f"side = side_of(builtin_adapter({protocol!r}), {facing!r})\n"
        "side.open(side.settings())\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
