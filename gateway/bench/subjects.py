"""The things that are measured, each as a process of its own."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from enum import Enum, unique
from pathlib import Path
from typing import Any, Final, cast

import attrs

from fleetgate.gateway.bench.child import Child, open_child


@unique
class Kind(Enum):
    """Which one."""

    PLAIN = "plain relay"
    RELAY = "relay"
    BRIDGE = "bridge"


@attrs.frozen(slots=True)
class Subject:
    """A subject at work: its process, and where its two links are taken."""

    child: Child
    socket: Path
    url: str


HOSTS: Final = 'protocol = "rvbox"\nlisten = "ws://127.0.0.1:0/agent"'
"""Of the entry for workers: load hosts are listened for."""

EMIT: Final = 'adapt = { prompt = { argv = ["emit", "{prompt}"] } }'
"""Of a route to load hosts: a prompt is a task."""


@asynccontextmanager
async def open_subject(
    kind: Kind,
    sockets: Path,
    disk: Path,
    family: list[Child],
    source: Path | None = None,
    north: str = "",
) -> AsyncGenerator[Subject]:
    """Run a subject for the time of the block. `sockets` and `disk` are empty directories: for
    what must have a short path, and for the journal. `family` and `source`: as for `open_child`.
    `north`: as for `config_text`.

    Raises: `BenchFailed`.
    """
    socket = socket_in(sockets)
    if kind is not Kind.BRIDGE:
        relay = "fleetgate.gateway.bench.relay"
        async with open_child(kind.value, relay, str(socket), kind.value, family=family) as child:
            url = await child.line(lambda line: line if line.startswith("ws://") else None)
            yield Subject(child, socket, url)
        return
    config = disk / "gateway.toml"
    config.write_text(config_text(sockets, disk, north))
    async with open_child(
        "gateway", "fleetgate", "serve", "--config", str(config), family=family, source=source
    ) as child:
        url = await child.line(listening_at)
        await child.line(is_ready)
        yield Subject(child, socket, url)


def config_text(
    sockets: Path, disk: Path, north: str = "", south: str = HOSTS, adapt: str = EMIT
) -> str:
    """The config of a gateway with clients of agency: everything as it comes, but for names and
    places, and what is set of the entry for clients in `north`. `south` is what is set of the entry
    for workers, `adapt` of the route to them."""
    return _CONFIG.format(
        journal=_quoted(f"sqlite:{disk / 'journal.db'}"),
        admin=_quoted(f"unix:{sockets / 'admin.sock'}"),
        socket=_quoted(f"unix:{socket_in(sockets)}"),
        north=north,
        south=south,
        adapt=adapt,
    )


def socket_in(sockets: Path) -> Path:
    """Where such a gateway listens for clients."""
    return sockets / "agency.sock"


def _quoted(text: str) -> str:
    return json.dumps(text)  # JSON's strings are TOML's basic strings


_CONFIG: Final = """\
[gateway]
name = "bench"
journal = {journal}
admin = {admin}

[[south]]
name = "hosts"
{south}

[[north]]
name = "gui"
protocol = "agency"
listen = {socket}
{north}

[[route]]
from = "gui"
to = "hosts"
{adapt}
"""


def listening_at(line: str) -> str | None:
    """The address in the gateway's log line that says where hosts are listened for; None in any
    other line."""
    said = _said(line)
    if said.get("event") != "entry_listening" or said.get("entry") != "hosts":
        return None
    address = said.get("address")
    return address if isinstance(address, str) else None


def is_ready(line: str) -> bool | None:
    """True in the log line that says that every entry was started, else None."""
    return True if _said(line).get("event") == "gateway_ready" else None


def _said(line: str) -> dict[str, Any]:
    try:
        said: object = json.loads(line)
    except ValueError:
        return {}
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}
