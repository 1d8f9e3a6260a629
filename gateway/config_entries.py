"""The `[[south]]` and `[[north]]` tables of a config file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, Final, Literal, TypeAlias, cast

from fleetgate.core.routing import ANY_LINK, OPERATOR
from fleetgate.core.values import value
from fleetgate.gateway.config_files import read_regular
from fleetgate.gateway.config_reader import (
    Flaw,
    Flawed,
    keys_of,
    named,
    nearest,
    read,
    read_sound,
    unknown_key,
)
from fleetgate.gateway.places import is_loopback, resolve_address, resolve_path
from fleetgate.gateway.toml_lines import Path
from fleetgate.protocols.api import Adapter, Side
from fleetgate.transports.address import parse_address
from fleetgate.transports.api import AddressError, TlsFiles

Facing: TypeAlias = Literal["north", "south"]
NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""Names are part of run and worker ids, of log lines and of file names."""

NAME_FORMS: Final = (
    "expected 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter or a digit, "
    f"and not {OPERATOR}"
)

MAX_SECRET: Final = 64 * 1024
"""Bytes of a secret's file: far above any token, and a wrong path reads no more than this."""


class SecretUnreadable(Exception):
    """A secret is not where the config says. The text names the place and holds no secret."""


@value
class Secret:
    """Where a secret is: an environment variable or a file. It is read at each use, so a
    token that was renewed counts from the next dial on."""

    env: str | None = None
    file: str | None = None

    def read(self) -> str:
        """The secret, without the line end behind it.

        Raises: `SecretUnreadable`.
        """
        if self.env is not None:
            place, text = f"environment variable {self.env}", os.environ.get(self.env, "")
        else:
            place, text = f"file {self.file}", _read_file(self.file or "")
        if not text.strip():
            raise SecretUnreadable(f"the {place} is not set or is empty")
        return text.strip("\r\n")


@value
class Grant:
    """A listener's bearer token and the identity that it proves."""

    token: Secret
    id: str


@value
class Entry:
    """One `[[north]]` or `[[south]]` table: a peer that is dialled, or a place where peers
    come in. `settings` is of the adapter's settings class for this side."""

    facing: Facing
    name: str
    protocol: str
    address: str
    listens: bool
    settings: Any
    tls: TlsFiles | None = None
    token: Secret | None = None
    tokens: tuple[Grant, ...] = ()
    insecure: bool = False
    """It is meant that whoever reaches it is let in."""
    overseers: tuple[str, ...] = ()
    """The controllers that see all runs of it, by the names that they prove."""
    readers: tuple[str, ...] = ()
    """Those that see all runs of it, and start and change nothing."""

    def side(self, adapter: Adapter) -> Side:
        """The side of the protocol that is played here."""
        return side_of(adapter, self.facing)


def side_of(adapter: Adapter, facing: Facing) -> Side:
    """The side of a protocol that faces north or south."""
    return adapter.northbound if facing == "north" else adapter.southbound


@value
class _Tls:
    certificate: str | None = None
    key: str | None = None
    ca: str | None = None
    client_ca: str | None = None


@value
class _Grant:
    token: Any
    id: str


@value
class _EntryTable:
    name: str
    protocol: str
    connect: str | None = None
    listen: str | None = None
    tls: _Tls | None = None
    token: Any = None
    tokens: tuple[_Grant, ...] = ()
    insecure: bool = False
    overseers: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()


def read_entry(
    facing: Facing,
    table: object,
    path: Path,
    base: FilePath,
    adapters: Mapping[str, Adapter],
) -> Entry:
    """Read one table; files and socket paths in it are relative to `base`.

    Raises: `Flawed`.
    """
    if not isinstance(table, dict):
        raise Flawed([Flaw(path, f"expected a table, got {named(table)}")])
    members = cast(dict[str, Any], table)
    flaws: list[Flaw] = []
    settings = _read_settings(facing, members, path, adapters, flaws)
    raw = _read_general(members, path, flaws)
    address = resolve_address(raw.listen or raw.connect or "", base)
    _check(raw, path, flaws)
    _check_rights(raw, path, flaws)
    _check_address(raw, address, path, flaws)
    if settings is not None and address and not _is_said(flaws):
        _check_place(side_of(adapters[raw.protocol], facing), settings, raw, address, path, flaws)
    token = None if raw.token is None else read_secret(raw.token, (*path, "token"), base, flaws)
    tokens = _grants(raw, path, base, flaws)
    if flaws:
        raise Flawed(flaws)
    return Entry(
        facing,
        raw.name,
        raw.protocol,
        address,
        raw.listen is not None,
        settings,
        _tls_files(raw.tls, base),
        token,
        tokens,
        raw.insecure,
        raw.overseers,
        raw.readers,
    )


_GENERAL: Final = tuple(keys_of(_EntryTable))

_STAND_INS: Final = {"name": "a", "protocol": "a", "listen": "unix:/a", "connect": "unix:/a"}


def _read_general(members: Mapping[str, Any], path: Path, flaws: list[Flaw]) -> _EntryTable:
    """What every entry has."""
    general = {key: members[key] for key in _GENERAL if key in members}
    return read_sound(_EntryTable, general, path, flaws, _STAND_INS)


def _read_settings(
    facing: Facing,
    members: Mapping[str, Any],
    path: Path,
    adapters: Mapping[str, Adapter],
    flaws: list[Flaw],
) -> Any:
    """All that is not general is the protocol's. Without a known protocol its values wait."""
    protocol = members.get("protocol")
    if not isinstance(protocol, str):
        flaws.extend(_unknown_anywhere(facing, members, path, adapters))
        return None
    if protocol not in adapters:
        hint = nearest(protocol, adapters)
        flaws.append(Flaw((*path, "protocol"), f"no protocol is named {protocol}; {hint}"))
        return None
    own = {key: value for key, value in members.items() if key not in _GENERAL}
    try:
        return read(side_of(adapters[protocol], facing).settings, own, path, also=_GENERAL)
    except Flawed as error:
        flaws.extend(error.flaws)
        return None


def _unknown_anywhere(
    facing: Facing, members: Mapping[str, Any], path: Path, adapters: Mapping[str, Adapter]
) -> Iterator[Flaw]:
    """Keys that no protocol has, among them a misspelt `protocol`."""
    known = set(_GENERAL)
    for adapter in adapters.values():
        known.update(keys_of(side_of(adapter, facing).settings))
    for key in sorted(members.keys() - known):
        yield Flaw((*path, key), unknown_key(key, known))


def _check_address(raw: _EntryTable, address: str, path: Path, flaws: list[Flaw]) -> None:
    if not address:
        return
    try:
        parse_address(address)
    except AddressError as error:
        flaws.append(Flaw((*path, "listen" if raw.listen else "connect"), str(error)))


def _is_said(flaws: list[Flaw]) -> bool:
    """Whether something is wrong with the address itself."""
    return any(flaw.path[-1] in ("connect", "listen") for flaw in flaws)


def _check_place(
    side: Side, settings: Any, raw: _EntryTable, address: str, path: Path, flaws: list[Flaw]
) -> None:
    """A protocol knows where nobody is met, and may keep its WebSockets to this machine."""
    where, listens = parse_address(address), raw.listen is not None
    wrong = side.misplaced(settings, where.scheme, listens) if side.misplaced is not None else ""
    if wrong:
        flaws.append(Flaw((*path, "listen" if listens else "connect"), wrong))
    use = side.carriage(settings).websocket if listens else None
    bound = use is not None and use.loopback and where.scheme in ("ws", "wss")
    if bound and not is_loopback(where.host):
        text = f"WebSocket address must be loopback, got {where.host}"
        flaws.append(Flaw((*path, "listen"), text))


def _check(raw: _EntryTable, path: Path, flaws: list[Flaw]) -> None:
    def flaw(key: str, message: str) -> None:
        flaws.append(Flaw((*path, key) if key else path, message))

    if not NAME.fullmatch(raw.name) or raw.name in (ANY_LINK, OPERATOR):
        flaw("name", NAME_FORMS)
    if (raw.connect is None) == (raw.listen is None):
        flaw("", "needs exactly one of connect and listen")
    elif not (raw.connect or raw.listen):
        flaw("listen" if raw.connect is None else "connect", "expected an address, got nothing")
    if raw.token is not None and raw.listen is not None:
        flaw("token", "is what a dialler shows; a listener has tokens = [{ token = …, id = … }]")
    if raw.tokens and raw.connect is not None:
        flaw("tokens", "is what a listener accepts; a dialler has token = { env = … }")
    if raw.overseers and raw.connect is not None:
        flaw("overseers", "is about who comes in; whom we dial sees all runs of its entry")
    if raw.readers and raw.connect is not None:
        flaw("readers", "is about who comes in; whom we dial may do all that its protocol can say")
    if both := sorted({*raw.readers} & {*raw.overseers}):
        flaw("readers", f"{both[0]} is also one of overseers; a name has one right")
    if raw.insecure and raw.connect is not None:
        flaw("insecure", "is about who may come in; a dialler lets nobody in")
    if raw.tls is not None and (raw.connect is None) != (raw.listen is None):
        _check_tls(raw.tls, raw.listen is not None, (*path, "tls"), flaws)


def _check_rights(raw: _EntryTable, path: Path, flaws: list[Flaw]) -> None:
    """A right that nobody can have is a slip: who is misspelt in `readers` would have all."""
    if raw.listen is None:
        return
    certified = raw.tls is not None and raw.tls.client_ca is not None
    ids = [each.id for each in raw.tokens]
    for key, names in (("overseers", raw.overseers), ("readers", raw.readers)):
        if names and not ids and not certified:
            said = "nobody is asked here who they are; set tokens, or client_ca in tls"
            flaws.append(Flaw((*path, key), said))
            continue
        for at, name in enumerate(names):
            if not certified and name not in (*ids, ANY_LINK):
                said = f"no token has the id {name}; {nearest(name, ids)}"
                flaws.append(Flaw((*path, key, at), said))


def _check_tls(tls: _Tls, listens: bool, path: Path, flaws: list[Flaw]) -> None:
    if (tls.certificate is None) != (tls.key is None):
        flaws.append(Flaw(path, "certificate and key go together; one of them is missing"))
    if listens and tls.certificate is None and tls.key is None:
        flaws.append(Flaw(path, "a listener needs certificate and key"))
    if listens and tls.ca is not None:
        flaws.append(Flaw((*path, "ca"), "a listener checks its clients with client_ca"))
    if not listens and tls.client_ca is not None:
        flaws.append(Flaw((*path, "client_ca"), "a dialler checks the server with ca"))


def _grants(raw: _EntryTable, path: Path, base: FilePath, flaws: list[Flaw]) -> tuple[Grant, ...]:
    grants: list[Grant] = []
    for at, each in enumerate(raw.tokens):
        if not each.id:
            flaws.append(Flaw((*path, "tokens", at, "id"), "expected a name, got nothing"))
        secret = read_secret(each.token, (*path, "tokens", at, "token"), base, flaws)
        grants.append(Grant(secret, each.id))
    return tuple(grants)


def read_secret(value: object, path: Path, base: FilePath, flaws: list[Flaw]) -> Secret:
    """Where a secret is; what is wrong with that goes to `flaws`. A literal secret is refused:
    config files are copied, committed and shown."""
    if isinstance(value, str):
        flaws.append(
            Flaw(path, 'a secret is never in this file; use { env = "NAME" } or { file = "PATH" }')
        )
        return Secret()
    try:
        secret = read(Secret, value, path)
    except Flawed as error:
        flaws.extend(error.flaws)
        return Secret()
    if bool(secret.env) == bool(secret.file):
        flaws.append(Flaw(path, "needs exactly one of env and file"))
    if secret.file:
        return Secret(file=resolve_path(secret.file, base))
    return secret


def _tls_files(tls: _Tls | None, base: FilePath) -> TlsFiles | None:
    if tls is None:
        return None

    def at(path: str | None) -> str | None:
        return None if path is None else resolve_path(path, base)

    return TlsFiles(at(tls.certificate), at(tls.key), at(tls.ca or tls.client_ca))


def _read_file(path: str) -> str:
    try:
        return read_regular(path, MAX_SECRET).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise SecretUnreadable(f"the file {path} cannot be read: {reason}") from None
