"""The `[gateway]` table; its refusals are in `test_config.py`, with their lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetgate.core.limits import Limits
from fleetgate.gateway.config_reader import Flaw, Flawed
from fleetgate.gateway.settings import GatewaySettings, default_admin, read_settings

BASE = Path("/etc/gw")


def test_the_admin_socket_is_beside_the_journal() -> None:
    settings = read_settings({"journal": "sqlite:~/j/a.db"}, (), BASE)
    assert settings.admin == f"unix:{Path('~/j').expanduser()}/a.db.admin/socket"


def test_without_a_journal_file_it_is_in_the_runtime_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = GatewaySettings("memory:", name="a/b")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    assert default_admin(settings) == "unix:/run/user/1/fleetgate/a-b/socket"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert default_admin(settings) == f"unix:/tmp/fleetgate-{os.getuid()}/fleetgate/a-b/socket"


def test_a_given_admin_socket_is_resolved() -> None:
    settings = read_settings({"journal": "memory:", "admin": "unix:run/a.sock"}, (), BASE)
    assert settings.admin == "unix:/etc/gw/run/a.sock"


def test_limits_are_the_hubs_with_what_is_set() -> None:
    assert GatewaySettings("memory:").limits() == Limits()
    chosen = GatewaySettings("memory:", lost_after=0.5, open_runs=3).limits()
    assert (chosen.lost_after, chosen.open_runs) == (500_000_000, 3)


def test_0_keeps_for_good_and_has_no_limit() -> None:
    usual = GatewaySettings("memory:").limits()
    assert (usual.keep_ended, usual.keep_unacknowledged, usual.journal_size) == (None, None, None)
    chosen = GatewaySettings(
        "memory:", keep_ended=60, keep_unacknowledged=0.5, journal_size=1 << 20
    ).limits()
    assert (chosen.keep_ended, chosen.keep_unacknowledged) == (60_000_000_000, 500_000_000)
    assert chosen.journal_size == 1 << 20


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("keep_ended", -1, "expected seconds, up to 1000000000, or 0 for good"),
        ("keep_unacknowledged", 1e10, "expected seconds, up to 1000000000, or 0 for good"),
        ("journal_size", 4096, "expected 0, for no limit, or 1048576 or more bytes"),
        ("journal_size", -1, "expected 0, for no limit, or 1048576 or more bytes"),
    ],
)
def test_what_is_kept_has_its_bounds(key: str, value: float, said: str) -> None:
    with pytest.raises(Flawed) as caught:
        read_settings({"journal": "memory:", key: value}, ("gateway",), BASE)
    assert [(flaw.path[-1], flaw.message) for flaw in caught.value.flaws] == [(key, said)]


@pytest.mark.parametrize("admin", ["10.0.0.1:80", ":80", "0.0.0.0:80", "unix:", "here"])
def test_an_admin_socket_that_others_reach_is_refused(admin: str) -> None:
    with pytest.raises(Flawed) as caught:
        read_settings({"journal": "memory:", "admin": admin}, ("gateway",), BASE)
    (flaw,) = caught.value.flaws
    assert flaw.path == ("gateway", "admin")


@pytest.mark.parametrize("name", ["", "x" * 65, "a\nb"])
def test_names(name: str) -> None:
    with pytest.raises(Flawed) as caught:
        read_settings({"journal": "memory:", "name": name}, (), BASE)
    assert caught.value.flaws == (Flaw(("name",), "expected 1 to 64 characters"),)
