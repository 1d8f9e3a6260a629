"""The config file: what `gateway serve` is told, as values.

Reading it touches nothing but the file: no secret is read, nothing is resolved or bound
(`gateway check` does that). Relative paths in it are relative to the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import attrs

from fleetgate.core.json import NOTHING
from fleetgate.core.routing import Route
from fleetgate.gateway.config_entries import NAME, Entry, Facing, read_entry
from fleetgate.gateway.config_files import read_regular
from fleetgate.gateway.config_reader import Flaw, Flawed, named, unknown_key
from fleetgate.gateway.places import Place, UnixPlace, collide, place_of
from fleetgate.gateway.settings import GatewaySettings, read_settings
from fleetgate.gateway.toml_lines import Path, line_numbers, line_of
from fleetgate.protocols.api import Adapter

if TYPE_CHECKING:
    from fleetgate.gateway.local.pool import LocalPool

# What only some files have is imported where it is read: a fake has a config, and no file.

MAX_CONFIG: Final = 1 << 20
"""Bytes of a config file: thousands of routes; what is larger is another kind of file."""

MAX_DEPTH: Final = 64
"""Tables and arrays in each other: routes take some ten, and a tool's free-form input the rest.
What reads them recurses, and Python ends that near a thousand."""

_T = TypeVar("_T")


@attrs.frozen(slots=True)
class Problem:
    """Something wrong in a config file: the line (0: the file as a whole), the key as
    `south.hosts.tls.key`, and what was expected."""

    line: int
    key: str
    message: str


class ConfigError(Exception):
    """A config file cannot be used; `problems` are all that were found, by line."""

    def __init__(self, path: str, problems: Sequence[Problem]) -> None:
        self.path = path
        self.problems = tuple(problems)
        super().__init__("\n".join(self.lines()))

    def lines(self) -> Iterator[str]:
        """One line for each problem: file, line, key, what was expected."""
        for each in self.problems:
            place = f"{self.path}:{each.line}" if each.line else self.path
            yield f"{place}: {each.key}: {each.message}" if each.key else f"{place}: {each.message}"


_TOO_DEEP: Final = Problem(
    0, "", f"is nested too deep: tables and arrays may be nested {MAX_DEPTH} deep"
)


@attrs.frozen(slots=True)
class Config:
    """A config file that holds together: names are unique, routes lead from and to entries,
    and no two listeners want one place."""

    path: str
    gateway: GatewaySettings
    south: tuple[Entry, ...]
    north: tuple[Entry, ...]
    routes: tuple[Route, ...]
    lines: Mapping[str, int] = attrs.field(default=NOTHING, repr=False, eq=False)
    """The line of each key, as in a `Problem`."""
    local: tuple[LocalPool, ...] = ()

    def line(self, key: str) -> int:
        """The line of a key, or of the nearest thing around it."""
        while key and key not in self.lines:
            key = re.sub(r"(^|\.)[^.\[\]]*$|\[\d+\]$", "", key)
        return self.lines.get(key, 0)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Workers' entries, then controllers'."""
        return (*self.south, *self.north)


def load(path: str | os.PathLike[str], adapters: Mapping[str, Adapter]) -> Config:
    """Read a config file. `adapters` are the protocols that are known.

    Raises: `ConfigError`.
    """
    name = os.fspath(path)
    return parse(read_text(name), name, adapters)


def parse(text: str, path: str, adapters: Mapping[str, Adapter]) -> Config:
    """Read the text of a config file that lies at `path`.

    Raises: `ConfigError`.
    """
    return _Reading(text, path, adapters).config()


def read_gateway(path: str | os.PathLike[str]) -> GatewaySettings:
    """Only the `[gateway]` table of a config file, for who looks for a running gateway.

    Raises: `ConfigError`.
    """
    name = os.fspath(path)
    return _Reading(read_text(name), name, {}).settings()


def read_text(path: str) -> str:
    """The text of a file that people write, of at most `MAX_CONFIG` bytes.

    Raises: `ConfigError`.
    """
    try:
        data = read_regular(path, MAX_CONFIG + 1)
        if len(data) <= MAX_CONFIG:
            return data.decode()
        said = f"has more than {MAX_CONFIG} bytes"
    except OSError as error:
        said = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        said = f"is not UTF-8 (byte {error.start})"
    raise ConfigError(path, (Problem(0, "", said),))


class _Reading:
    """One reading of a file: its document, and the flaws found on the way."""

    def __init__(self, text: str, path: str, adapters: Mapping[str, Adapter]) -> None:
        self._text = text
        self._path = path
        self._base = FilePath(os.path.abspath(path)).parent
        self._adapters = adapters
        self._flaws: list[Flaw] = []
        self._named: dict[Path, str] = {}
        """The entries' names as written, whatever else is wrong with their tables."""
        self._document = parse_toml(text, path)

    def settings(self) -> GatewaySettings:
        """The `[gateway]` table alone."""
        made = self._gateway()
        self._finish()
        return cast(GatewaySettings, made)

    def config(self) -> Config:
        """All of it."""
        known = ("gateway", "south", "north", "local", "route")
        for key in self._document.keys() - set(known):
            self._flaws.append(Flaw((key,), unknown_key(key, known)))
        gateway = self._gateway()
        for key in ("south", "north", "local"):
            self._named |= self._names(key)
        south, north = self._entries("south"), self._entries("north")
        local = self._local()
        routes = self._routes(filter(self._asks, south.values()))
        self._check_names()
        self._check_places(gateway, {**south, **north})
        self._finish()
        lines = line_numbers(self._text)
        return Config(
            self._path,
            cast(GatewaySettings, gateway),
            tuple(south.values()),
            tuple(north.values()),
            routes,
            {self._words(path): line for path, line in lines.items()},
            local,
        )

    def _attempt(self, make: Callable[..., _T], *args: Any) -> _T | None:
        """Make something, or note why it cannot be made."""
        try:
            return make(*args)
        except Flawed as error:
            self._flaws.extend(error.flaws)
            return None

    def _gateway(self) -> GatewaySettings | None:
        table = self._document.get("gateway", {})
        return self._attempt(read_settings, table, ("gateway",), self._base)

    def _tables(self, key: str) -> dict[Path, object]:
        value = self._document.get(key, [])
        if not isinstance(value, list):
            self._flaws.append(Flaw((key,), f"expected [[{key}]] tables, got {named(value)}"))
            return {}
        return {(key, at): table for at, table in enumerate(cast(list[object], value))}

    def _entries(self, facing: Facing) -> dict[Path, Entry]:
        made: dict[Path, Entry] = {}
        for path, table in self._tables(facing).items():
            args = (facing, table, path, self._base, self._adapters)
            if (entry := self._attempt(read_entry, *args)) is not None:
                made[path] = entry
        return made

    def _local(self) -> tuple[LocalPool, ...]:
        if not (tables := self._tables("local").items()):
            return ()
        from fleetgate.gateway.config_local import read_local

        made = (self._attempt(read_local, table, path, self._base) for path, table in tables)
        return tuple(pool for pool in made if pool is not None)

    def _asks(self, entry: Entry) -> bool:
        """Whether runs come from a south entry, too."""
        asks = entry.side(self._adapters[entry.protocol]).asks
        return asks is not None and asks(entry.settings)

    def _routes(self, asking: Iterable[Entry]) -> tuple[Route, ...]:
        from fleetgate.gateway.config_routes import check_ends, read_route

        routes: list[Route] = []
        north = [name for path, name in self._named.items() if path[0] == "north"]
        north += [entry.name for entry in asking]
        south = [name for path, name in self._named.items() if path[0] in ("south", "local")]
        for path, table in self._tables("route").items():
            if (route := self._attempt(read_route, table, path)) is not None:
                routes.append(route)
            self._flaws.extend(check_ends(table, path, north, south))
        return tuple(routes)

    def _names(self, key: str) -> dict[Path, str]:
        return {
            path: name
            for path, table in self._tables(key).items()
            if isinstance(table, dict)
            and isinstance(name := cast(dict[str, object], table).get("name"), str)
        }

    def _check_names(self) -> None:
        seen: set[str] = set()
        for path, name in self._named.items():
            if name in seen:
                self._flaws.append(
                    Flaw((*path, "name"), f"another entry is named {name}; names are unique")
                )
            seen.add(name)

    def _check_places(self, gateway: GatewaySettings | None, entries: Mapping[Path, Entry]) -> None:
        taken: list[tuple[str, Place]] = []

        def take(path: Path, owner: str, address: str) -> None:
            place = place_of(address)
            for used, other in taken:
                if collide(place, other):
                    self._flaws.append(Flaw(path, f"{used} already; choose another address"))
                    break
            taken.append((f"{owner} listens there", place))

        if gateway is not None:
            taken.extend(("the journal is there", UnixPlace(at)) for at in gateway.journal_files)
            take(("gateway", "admin"), "the admin socket", gateway.admin)
        for path, entry in entries.items():
            if entry.listens:
                take((*path, "listen"), entry.name, entry.address)

    def _finish(self) -> None:
        """Raise `ConfigError` if there were flaws."""
        if not self._flaws:
            return
        lines = line_numbers(self._text)
        problems = [
            Problem(line_of(lines, flaw.path), self._words(flaw.path), flaw.message)
            for flaw in dict.fromkeys(self._flaws)
        ]
        raise ConfigError(self._path, sorted(problems, key=lambda each: each.line))

    def _words(self, path: Path) -> str:
        """A path as people read it: entries by name, other items by number from 1."""
        words: list[str] = []
        for at, part in enumerate(path):
            name = self._named.get(path[:2]) if at == 1 else None
            if isinstance(part, str):
                words.append(f".{part}")
            elif name is not None and NAME.fullmatch(name):
                words.append(f".{name}")
            else:
                words.append(f"[{part + 1}]")
        return "".join(words).removeprefix(".")


def parse_toml(text: str, path: str) -> dict[str, Any]:
    """The document of a TOML text, nested `MAX_DEPTH` deep at most.

    Raises: `ConfigError`.
    """
    import tomllib

    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise ConfigError(path, (_TOO_DEEP,)) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(path, (_syntax(error),)) from None
    except ValueError:  # Python's own, which names no line
        said = "holds a number of thousands of digits"
        raise ConfigError(path, (Problem(0, "", said),)) from None
    if _is_deeper(document, MAX_DEPTH):
        raise ConfigError(path, (_TOO_DEEP,))
    return document


def _is_deeper(value: object, limit: int) -> bool:
    """Whether tables and arrays are nested over `limit` deep. By itself it recurses nowhere."""
    level = _inner([value])
    for _ in range(limit):
        level = _inner(level)
    return bool(level)


def _inner(values: Iterable[object]) -> list[object]:
    """The tables and arrays that lie directly in some."""
    found: list[object] = []
    for value in values:
        members: Iterable[object] = ()
        if isinstance(value, dict):
            members = cast(dict[str, object], value).values()
        elif isinstance(value, list):
            members = cast(list[object], value)
        found.extend(each for each in members if type(each) in (dict, list))
    return found


def _syntax(error: ValueError) -> Problem:
    message, _, place = str(error).partition(" (at line ")
    line = int(place.partition(",")[0]) if place[:1].isdigit() else 0
    return Problem(line, "", f"is not TOML: {message}")
