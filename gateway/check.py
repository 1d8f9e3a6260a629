"""What is wrong with a config beyond its text, and what it means in words.

Certificates and secrets are read, names are resolved; nothing is bound and nobody dialled.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from shlex import quote
from typing import TYPE_CHECKING, Final

import attrs

from fleetgate.core.routing import ANY_LINK
from fleetgate.gateway.carrying import check_carried, options_of
from fleetgate.gateway.config import Config, ConfigError, Problem, load
from fleetgate.gateway.config_entries import Entry, SecretUnreadable
from fleetgate.gateway.config_files import irregular
from fleetgate.gateway.exposure import asks_nobody, is_encrypted, is_remote
from fleetgate.gateway.places import TcpPlace, UnixPlace, place_of
from fleetgate.protocols.api import Adapter
from fleetgate.protocols.carriage import Carriage
from fleetgate.transports.address import DEFAULT_PORTS, GRPC
from fleetgate.transports.api import AddressError, TlsFiles
from fleetgate.transports.open import check_address
from fleetgate.transports.unix import check_directory, check_path

if TYPE_CHECKING:
    from fleetgate.gateway.route_words import RouteWords


@attrs.frozen(slots=True)
class Findings:
    """What a check found. With problems the config cannot be served; warnings say what may
    not be meant."""

    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    routes: tuple[RouteWords, ...]


def load_usable(path: str | os.PathLike[str], adapters: Mapping[str, Adapter]) -> Config:
    """Read a config file, and everything that it names on this machine.

    Raises: `ConfigError`.
    """
    config = load(path, adapters)
    problems = tuple(_problems(config, adapters))
    if problems:
        raise ConfigError(config.path, sorted(problems, key=_line))
    return config


def check(config: Config, adapters: Mapping[str, Adapter]) -> Findings:
    """Look at everything, names in the network too."""
    # Imported here: `gateway serve` warns of nothing.
    from fleetgate.gateway.check_certificates import certificate_warnings
    from fleetgate.gateway.check_local import local_warnings
    from fleetgate.gateway.check_promise import promise_warnings
    from fleetgate.gateway.route_words import words_of

    problems = [*_problems(config, adapters), *_unresolved_listeners(config)]
    routes = tuple(words_of(config, route, adapters) for route in config.routes)
    warnings = [
        *promise_warnings(config, routes),
        *_unresolved_peers(config),
        *_odd_routes(config),
        *local_warnings(config),
        *_exposed(config),
        *certificate_warnings(config, time.time()),
    ]
    return Findings(
        tuple(sorted(problems, key=_line)),
        tuple(sorted(warnings, key=_line)),
        routes,
    )


def _line(problem: Problem) -> int:
    return problem.line


# --- problems

_ASKS_NOBODY: Final = (
    "whoever reaches this address could come in; set tokens, or client_ca in tls, or write "
    "insecure = true if that is meant"
)


def _problems(config: Config, adapters: Mapping[str, Adapter]) -> Iterator[Problem]:
    yield from _about_gateway(config)
    if config.local:
        from fleetgate.gateway.check_local import local_problems

        yield from local_problems(config)
    for entry in config.entries:
        try:
            _check_entry(entry, adapters[entry.protocol])
        except (AddressError, SecretUnreadable, ValueError) as error:
            yield _problem(config, f"{entry.facing}.{entry.name}", str(error))
        if asks_nobody(entry) and is_remote(entry) and not entry.insecure:
            yield _problem(config, f"{entry.facing}.{entry.name}.listen", _ASKS_NOBODY)
        yield from _about_tokens(config, entry)


def _about_tokens(config: Config, entry: Entry) -> Iterator[Problem]:
    known: dict[str, tuple[int, str]] = {}
    for at, grant in enumerate(entry.tokens, start=1):
        key = f"{entry.facing}.{entry.name}.tokens[{at}]"
        try:
            token = grant.token.read()
        except SecretUnreadable as error:
            yield _problem(config, key, str(error))
            continue
        first, id = known.setdefault(token, (at, grant.id))
        if id != grant.id:
            said = f"is the token of tokens[{first}], too: whoever shows it is {id}, and never"
            yield _problem(config, key, f"{said} {grant.id}; give each an own one")


def _about_gateway(config: Config) -> Iterator[Problem]:
    path = config.gateway.journal_path
    if path is not None and (said := _unfit(path.parent)):
        yield _problem(config, "gateway.journal", said)
    elif path is not None and (reason := irregular(str(path))):
        yield _problem(config, "gateway.journal", f"{path} cannot be opened: {reason}")
    place = place_of(config.gateway.admin)
    if isinstance(place, UnixPlace):
        try:
            check_path(place.path)
            check_directory(place.path)
        except AddressError as error:
            yield _problem(config, "gateway.admin", str(error))


def _unfit(directory: FilePath) -> str | None:
    """Why no journal can be made in a directory."""
    if not directory.exists():
        return f"the directory {directory} is not there; make it: mkdir -p {quote(str(directory))}"
    if not directory.is_dir():
        return f"{directory} is no directory; put the journal into one"
    if not os.access(directory, os.W_OK | os.X_OK):
        owner = directory.stat().st_uid
        said = f"the directory {directory}, which is user {owner}'s, cannot be written by user"
        return (
            f"{said} {os.geteuid()}, who asks; run this as the user who serves, or give it to them"
        )
    return None


def _check_entry(entry: Entry, adapter: Adapter) -> None:
    carriage = entry.side(adapter).carriage(entry.settings)
    check_carried(entry, carriage)
    _check_shown(entry, carriage)
    _check_files(entry.tls)
    address = check_address(entry.address, options_of(entry, carriage), entry.listens)
    if entry.listens and address.scheme == "unix":
        check_directory(address.path)


def _check_files(tls: TlsFiles | None) -> None:
    """OpenSSL opens what it is told to, and would wait at a named pipe."""
    if tls is None:
        return
    files = {"certificate": tls.certificate, "key": tls.key, "ca": tls.ca}
    for what, path in files.items():
        if path is not None and (reason := irregular(path)):
            raise AddressError(f"the TLS {what} {path} cannot be read: {reason}")


def _check_shown(entry: Entry, carriage: Carriage) -> None:
    scheme = entry.address.partition(":")[0]
    heads = scheme in (*DEFAULT_PORTS, *GRPC)
    if not heads and not carriage.in_band and (entry.token or entry.tokens):
        raise AddressError(f"tokens are shown in headers, of WebSocket or gRPC; {scheme}: has none")


def _problem(config: Config, key: str, message: str) -> Problem:
    return Problem(config.line(key), key, message)


# --- names in the network


def _unresolved_listeners(config: Config) -> Iterator[Problem]:
    for entry in config.entries:
        if entry.listens and (said := _unresolved(entry)):
            yield _problem(config, f"{entry.facing}.{entry.name}.listen", said)


def _unresolved_peers(config: Config) -> Iterator[Problem]:
    for entry in config.entries:
        if not entry.listens and (said := _unresolved(entry)):
            yield _problem(config, f"{entry.facing}.{entry.name}.connect", said)


def _unresolved(entry: Entry) -> str | None:
    place = place_of(entry.address)
    if not isinstance(place, TcpPlace):
        return None
    try:
        socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except OSError as error:
        return f"the host {place.host} is not known: {error.strerror}"
    return None


# --- what may not be meant


def _odd_routes(config: Config) -> Iterator[Problem]:
    for entry in config.north:
        if not any(route.from_ in (entry.name, ANY_LINK) for route in config.routes):
            key = f"north.{entry.name}"
            yield _problem(config, key, "no route leads from here; every run will be refused")
    for entry in config.south:
        if not any(route.to == entry.name for route in config.routes):
            yield _problem(config, f"south.{entry.name}", "no route leads here; it gets no runs")
    taken: dict[str, int] = {}
    for at, route in enumerate(config.routes, start=1):
        above = taken.get(route.from_, taken.get(ANY_LINK))
        if above is not None:
            said = f"is never reached: route[{above}] takes all runs before it"
            yield _problem(config, f"route[{at}]", said)
        elif not route.when:
            taken[route.from_] = at


def _exposed(config: Config) -> Iterator[Problem]:
    for entry in config.entries:
        if not is_remote(entry):
            continue
        key = f"{entry.facing}.{entry.name}"
        if asks_nobody(entry) and entry.insecure:
            yield _problem(config, key, "insecure: whoever reaches this address may come in")
        if not is_encrypted(entry):
            said = "nothing is encrypted on the way; use wss:, tls: or grpcs: between machines"
            yield _problem(config, key, said)
