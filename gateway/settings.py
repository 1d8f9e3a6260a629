"""The `[gateway]` table of a config file."""

from __future__ import annotations

import os
from pathlib import Path as FilePath
from typing import Final, Literal, TypeAlias

import attrs

from fleetgate.core.limits import SECOND, Limits
from fleetgate.gateway.config_reader import Flaw, Flawed, read
from fleetgate.gateway.places import TcpPlace, place_of, resolve_address, resolve_path
from fleetgate.gateway.toml_lines import Path

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
JOURNALS: Final = "sqlite:PATH or memory:"


@attrs.frozen(slots=True)
class GatewaySettings:
    """How the gateway itself is set. `drain_timeout` and `lost_after` are seconds.

    `journal` is `sqlite:` and an absolute path, or `memory:`. `admin` is `unix:` and an
    absolute path, or a loopback `HOST:PORT`.
    """

    journal: str
    name: str = "gateway"
    admin: str = ""
    drain_timeout: float = 10.0
    """How long peers may take to be told that the gateway stops."""
    lost_after: float = Limits().lost_after / SECOND
    """How long runs wait for a worker that is away before they are lost."""
    open_runs: int = Limits().open_runs
    """How many runs may be open, those that wait for a worker among them."""
    log_level: LogLevel = "info"

    @property
    def journal_path(self) -> FilePath | None:
        """The journal's file; None for a journal in memory."""
        kind, _, path = self.journal.partition(":")
        return FilePath(path) if kind == "sqlite" else None

    def limits(self) -> Limits:
        """The hub's limits as set here."""
        return Limits(open_runs=self.open_runs, lost_after=round(self.lost_after * SECOND))


def read_settings(table: object, path: Path, base: FilePath) -> GatewaySettings:
    """Read the table; paths in it are relative to `base`.

    Raises: `Flawed`.
    """
    raw = read(GatewaySettings, table, path)
    flaws: list[Flaw] = []

    def expect(key: str, holds: bool, message: str) -> None:
        if not holds:
            flaws.append(Flaw((*path, key), message))

    kind, _, file = raw.journal.partition(":")
    known = (kind == "sqlite" and bool(file)) or raw.journal == "memory:"
    expect("journal", known, f"expected {JOURNALS}")
    expect(
        "name", 0 < len(raw.name) <= 64 and raw.name.isprintable(), "expected 1 to 64 characters"
    )
    expect("admin", not raw.admin or _is_private(raw.admin), ADMIN_FORMS)
    expect("drain_timeout", raw.drain_timeout >= 0, "expected seconds, 0 or above")
    expect("lost_after", raw.lost_after > 0, "expected seconds above 0")
    expect("open_runs", raw.open_runs > 0, "expected a number above 0")
    if flaws:
        raise Flawed(flaws)
    return _resolved(raw, base)


ADMIN_FORMS: Final = "expected unix:PATH, or a loopback address such as 127.0.0.1:7780"


def _is_private(address: str) -> bool:
    """The admin socket has no password: only this user, or this machine, may reach it."""
    place = place_of(address)
    return place.loopback if isinstance(place, TcpPlace) else bool(place and place.path)


def _resolved(raw: GatewaySettings, base: FilePath) -> GatewaySettings:
    kind, _, file = raw.journal.partition(":")
    journal = raw.journal if kind == "memory" else f"sqlite:{resolve_path(file, base)}"
    settings = attrs.evolve(raw, journal=journal)
    if raw.admin:
        return attrs.evolve(settings, admin=resolve_address(raw.admin, base))
    return attrs.evolve(settings, admin=default_admin(settings))


def default_admin(settings: GatewaySettings) -> str:
    """Where the admin socket is when nothing says so: in a directory of its own beside the
    journal, or for a journal in memory in the user's runtime directory."""
    if settings.journal_path is not None:
        return f"unix:{settings.journal_path}.admin/socket"
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/fleetgate-{os.getuid()}"
    name = settings.name.replace("/", "-")
    return f"unix:{FilePath(runtime) / 'fleetgate' / name / 'socket'}"
