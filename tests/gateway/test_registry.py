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


def test_a_fake_imports_its_own_protocol_and_no_carriage_that_it_does_not_use(
    tmp_path: Path,
) -> None:
    words = ["agency-daemon", "--socket", str(tmp_path / "d" / "s")]
    program = (
        "import sys; from fleetgate.gateway.fakes.cli import run\n"
        f"assert run({words}) == 0\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = set(done.stderr.split())
    assert "fleetgate.protocols.agency.northbound" in modules
    assert {f"fleetgate.protocols.{name}" for name in BUILTIN} & modules == {
        "fleetgate.protocols.agency"
    }
    others = {"trio_websocket", "trio_asyncio", "grpclib", "h2", "httpx"}
    assert others & modules == set()
