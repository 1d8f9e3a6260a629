"""The `[gateway]` table of a config file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

from fleetgate.core.limits import Limits
from fleetgate.core.times import SECOND, nanos
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
    keep_ended: float = 0.0
    """How long a run that has ended is kept once its controller has acknowledged all of it; 0 is
    for good, here and below."""
    keep_unacknowledged: float = 0.0
    """How long one is kept whose controller has not."""
    journal_size: int = 0
    """Bytes above which ended runs are forgotten before their time; 0 is no limit."""
    log_level: LogLevel = "info"

    @property
    def journal_path(self) -> FilePath | None:
        """The journal's file; None for a journal in memory."""
        kind, _, path = self.journal.partition(":")
        return FilePath(path) if kind == "sqlite" else None

    @property
    def journal_files(self) -> tuple[str, ...]:
        """All that lies where the journal is: SQLite's files, and the lock beside them."""
        if self.journal_path is None:
            return ()
        suffixes = ("", "-wal", "-shm", "-journal", ".lock")
        return tuple(f"{self.journal_path}{suffix}" for suffix in suffixes)

    def limits(self) -> Limits:
        """The hub's limits as set here."""
        return Limits(
            open_runs=self.open_runs,
            lost_after=nanos(self.lost_after),
            keep_ended=nanos(self.keep_ended) or None,
            keep_unacknowledged=nanos(self.keep_unacknowledged) or None,
            journal_size=self.journal_size or None,
        )


def read_settings(table: object, path: Path, base: FilePath) -> GatewaySettings:
    """Read the table; paths in it are relative to `base`.

    Raises: `Flawed`.
    """
    flaws: list[Flaw] = []
    raw: GatewaySettings | None = None
    try:
        raw = read(GatewaySettings, table, path)
    except Flawed as error:
        flaws.extend(_told(flaw, path) for flaw in error.flaws)
    members = cast(dict[str, Any], table) if isinstance(table, dict) else {}
    mistyped = {flaw.path[len(path)] for flaw in flaws if len(flaw.path) > len(path)}
    for key, wrong in _RULES.items():
        if key in members and key not in mistyped and (said := wrong(members[key])):
            flaws.append(Flaw((*path, key), said))
    if raw is None or flaws:
        raise Flawed(flaws)
    return _resolved(raw, base)


def _told(flaw: Flaw, path: Path) -> Flaw:
    """The one key that every file needs, with what to write."""
    if flaw != Flaw((*path, "journal"), "is missing"):
        return flaw
    return attrs.evolve(flaw, message=f"is missing; expected {JOURNALS}, of which nothing survives")


def _wrong_journal(url: str) -> str | None:
    kind, _, file = url.partition(":")
    if kind == "sqlite" and file == ":memory:":
        return 'would be a file of the name ":memory:"; a journal in memory is "memory:"'
    known = (kind == "sqlite" and file) or url == "memory:"
    return None if known else f"expected {JOURNALS}"


def _unless(holds: Callable[[Any], bool], message: str) -> Callable[[Any], str | None]:
    return lambda value: None if holds(value) else message


MAX_SECONDS: Final = 1_000_000_000
"""Thirty years. Nanoseconds of more would not fit in 64 bits for long."""

ADMIN_FORMS: Final = "expected unix:PATH, or a loopback address such as 127.0.0.1:7780"


def _is_private(address: str) -> bool:
    """The admin socket has no password: only this user, or this machine, may reach it."""
    place = place_of(address)
    return place.loopback if isinstance(place, TcpPlace) else bool(place and place.path)


def _wrong_keeping(seconds: float) -> str | None:
    known = 0 <= seconds <= MAX_SECONDS
    return None if known else f"expected seconds, up to {MAX_SECONDS}, or 0 for good"


LEAST_SIZE: Final = 1 << 20
"""An empty journal has some sixty kilobytes; one that is all but full at once helps nobody."""

_RULES: Final[Mapping[str, Callable[[Any], str | None]]] = {
    "journal": _wrong_journal,
    "name": _unless(
        lambda name: 0 < len(name) <= 64 and name.isprintable(), "expected 1 to 64 characters"
    ),
    "admin": _unless(lambda address: not address or _is_private(address), ADMIN_FORMS),
    "drain_timeout": _unless(
        lambda seconds: 0 <= seconds <= MAX_SECONDS, f"expected seconds, 0 to {MAX_SECONDS}"
    ),
    "lost_after": _unless(
        lambda seconds: 0 < seconds <= MAX_SECONDS, f"expected seconds above 0, up to {MAX_SECONDS}"
    ),
    "open_runs": _unless(lambda number: number > 0, "expected a number above 0"),
    "keep_ended": _wrong_keeping,
    "keep_unacknowledged": _wrong_keeping,
    "journal_size": _unless(
        lambda size: size == 0 or size >= LEAST_SIZE,
        f"expected 0, for no limit, or {LEAST_SIZE} or more bytes",
    ),
}
"""What is wrong with a value that has the right type, if anything is."""


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
    return f"unix:{runtime_directory(settings) / 'socket'}"


def runtime_directory(settings: GatewaySettings) -> FilePath:
    """Where a gateway with a journal in memory keeps what has a place in the file system."""
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/fleetgate-{os.getuid()}"
    return FilePath(runtime) / "fleetgate" / settings.name.replace("/", "-")
