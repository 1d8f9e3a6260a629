"""`gateway fake agency-client`."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fleetgate.gateway.fakes.agency_client import journal_of, make_parser
from fleetgate.protocols import agency


def test_without_a_state_directory_the_journal_is_in_memory(tmp_path: Path) -> None:
    assert journal_of(None) == "memory:"
    state = tmp_path / "state"
    assert journal_of(str(state)) == f"sqlite:{state}/journal.db"
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o700


def test_help_names_every_time_and_limit_of_the_protocol() -> None:
    text = make_parser().format_help()
    squeezed = "".join(text.split())
    for name in agency.ADAPTER.southbound.settings.__annotations__:
        assert f"{name}=" in squeezed
