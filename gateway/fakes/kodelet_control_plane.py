"""`gateway fake kodelet-control-plane`: what `kodelet serve` is to its runners."""

from __future__ import annotations

import argparse
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import attrs

from fleetgate.gateway.config_entries import Entry, Grant
from fleetgate.gateway.fakes.kodelet_by_hand import ByHand
from fleetgate.gateway.fakes.kodelet_operations import KNOWN
from fleetgate.gateway.fakes.kodelet_plane import Plane
from fleetgate.gateway.fakes.lines import Writer
from fleetgate.gateway.fakes.options import (
    BadOption,
    Parser,
    add_common,
    add_tls,
    add_token,
    around_of,
    check_entry,
    given,
    milliseconds,
    settings_of,
    tls_of,
    token_of,
)
from fleetgate.gateway.fakes.performing import Performer
from fleetgate.gateway.fakes.running import Peer
from fleetgate.gateway.fakes.small import Small
from fleetgate.protocols import kodelet
from fleetgate.protocols.kodelet.upgrade import check_token

NAME = "kodelet-control-plane"


def make_parser() -> Parser:
    """The parser of its command line."""
    parser = Parser(
        prog=f"gateway fake {NAME}",
        description="Plays the control plane of kodelet runners; operations are JSON lines.",
    )
    parser.add_argument("--listen", required=True, metavar="HOST:PORT", help="or a whole URL")
    add_token(parser, metavar="T", help="what runners must show; without it, nothing")
    parser.add_argument("--heartbeat-ms", type=milliseconds, metavar="N")
    parser.add_argument("--heartbeat-timeout-ms", type=milliseconds, metavar="N")
    parser.add_argument(
        "--lease-grace-ms",
        type=milliseconds,
        metavar="N",
        help="how long a run may stay open whose `open` was aborted, before it is closed",
    )
    parser.add_argument(
        "--no-ui", action="store_true", help="nobody is there for what runs that were opened ask"
    )
    add_tls(parser)
    add_common(parser, kodelet.ADAPTER.southbound.settings)
    return parser


def make(arguments: argparse.Namespace) -> Peer:
    """The fake that its options describe.

    Raises: `BadOption`.
    """
    settings = settings_of(
        kodelet.ADAPTER.southbound.settings,
        arguments.settings,
        **given(
            heartbeat_interval=arguments.heartbeat_ms,
            heartbeat_timeout=arguments.heartbeat_timeout_ms,
            lease_grace=arguments.lease_grace_ms,
        ),
    )
    tls = tls_of(arguments)
    address = _address(arguments.listen, settings.path, encrypted=tls is not None)
    token = token_of(arguments.token, check_token)
    grants = () if token is None else (Grant(token, "runner"),)
    entry = Entry("south", "runners", "kodelet", address, True, settings, tls, tokens=grants)
    check_entry("--listen", entry)
    plane = Plane(attended=not arguments.no_ui)
    around = attrs.evolve(around_of(NAME, entry, "memory:", arguments), connect=plane.connect)

    @asynccontextmanager
    async def open(small: Small, writer: Writer) -> AsyncGenerator[Performer, None]:
        own, suffer = ByHand(plane, small, writer).own, around.links.suffer
        async with plane.telling(writer):
            yield Performer(small, writer, suffer=suffer, own=own, takes=around.taken)

    return Peer(around, KNOWN, open)


def _address(listen: str, path: str, *, encrypted: bool) -> str:
    if "://" in listen:
        return listen
    if not listen.rpartition(":")[2].isdecimal():  # a URL would have the port 80 or 443 without it
        raise BadOption(f"--listen: expected HOST:PORT or a URL, got {listen!r}")
    return f"{'wss' if encrypted else 'ws'}://{listen}{path}"
