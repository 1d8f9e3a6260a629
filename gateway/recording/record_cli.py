"""`gateway record`: between two peers, every frame written down."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

import trio

from fleetgate.gateway.clock import Clock
from fleetgate.gateway.command_line import Intermixed
from fleetgate.gateway.config_reader import nearest
from fleetgate.gateway.recording.live import Place
from fleetgate.gateway.recording.onlookers import Onlookers
from fleetgate.gateway.recording.options import BAD, OK, add_tls, run_work, tls_of
from fleetgate.gateway.recording.record import Between
from fleetgate.gateway.recording.recorder import open_recorder
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.render import encode
from fleetgate.transports.address import check_reached

CANNOT_RECORD: Final = 1
"""It could not start, or what it should have written is incomplete."""


def make_parser() -> argparse.ArgumentParser:
    """The parser of its command line."""
    parser = Intermixed(
        prog="gateway record",
        description="Stand between two peers and write down what crosses, without secrets, until "
        "a signal ends it.",
        epilog="Exit codes: 0 a signal ended it, 1 it could not start, or not write all of the "
        "recording, 2 the command line makes no sense.",
    )
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--listen", required=True, metavar="URL", help="where one peer dials")
    parser.add_argument("--connect", required=True, metavar="URL", help="where the other listens")
    parser.add_argument("--protocol", required=True, metavar="NAME", help="what they speak")
    parser.add_argument("--json", action="store_true", help="JSON lines in place of text")
    add_tls(parser)
    return parser


def run(argv: Sequence[str]) -> int:
    """Run it; answers its exit code."""
    try:
        arguments = make_parser().parse_args(argv)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    known = adapters()
    if arguments.protocol not in known:
        hint = nearest(arguments.protocol, known)
        sys.stderr.write(f"gateway record: no protocol is named {arguments.protocol}; {hint}\n")
        return BAD
    return run_work("record", partial(_record, arguments), CANNOT_RECORD)


async def _record(arguments: argparse.Namespace) -> int:
    check_reached(arguments.listen)
    check_reached(arguments.connect)
    known, clock = adapters(), Clock()
    adapter = known[arguments.protocol]
    versions = {adapter.name: adapter.showing.version}
    here = Place(arguments.listen, True, tls_of(arguments, arguments.listen))
    there = Place(arguments.connect, False, tls_of(arguments, arguments.connect))

    failures: list[str] = []

    def failed(reason: str) -> None:
        failures.append(reason)
        sys.stderr.write(f"gateway record: {arguments.file}: {reason}\n")

    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with (
            open_recorder(arguments.file, clock, versions, failed) as recorder,
            trio.open_nursery() as nursery,
        ):
            between = Between(adapter, Onlookers(known, clock, recorder.put), there)
            nursery.start_soon(between.serve, here, partial(_bound, arguments))
            async for _ in signals:
                break
            nursery.cancel_scope.cancel()
    return CANNOT_RECORD if failures else OK


def _bound(arguments: argparse.Namespace, address: str) -> None:
    line = encode({"event": "ready", "address": address}).decode()
    sys.stdout.write(line if arguments.json else f"recording at {address}\n")
    sys.stdout.flush()
