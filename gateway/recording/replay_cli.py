"""`gateway replay`: one side of a recording, played against a live peer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

import attrs

from fleetgate.gateway.command_line import Intermixed, seconds
from fleetgate.gateway.fakes.options import GivenToken, add_token
from fleetgate.gateway.printable import printable
from fleetgate.gateway.recording.comparing import Manner
from fleetgate.gateway.recording.live import Place, open_live
from fleetgate.gateway.recording.options import BAD, OK, add_tls, run_work, tls_of
from fleetgate.gateway.recording.playing import Wanted, play, read_part
from fleetgate.gateway.recording.replay import PATIENCE, Played
from fleetgate.gateway.render import encode
from fleetgate.transports.address import check_reached

DIFFERS: Final = 1
UNREACHABLE: Final = 3


def make_parser() -> argparse.ArgumentParser:
    """The parser of its command line."""
    parser = Intermixed(
        prog="gateway replay",
        description="Play one side of a recording against a live peer, and tell the first thing "
        "that it says otherwise. Names and times of then become those of now.",
        epilog="Exit codes: 0 all as recorded, 1 a difference, 2 the command line or the "
        "recording makes no sense, 3 the peer cannot be reached, or not be waited for there.",
    )
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "--as",
        required=True,
        dest="side",
        metavar="SIDE",
        help="controller or worker, or the protocol's own word, such as daemon or edge",
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--connect", metavar="URL", help="where the peer listens")
    where.add_argument("--listen", metavar="URL", help="where the peer dials")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--strict", action="store_true", help="signs of life, too, and all in order")
    how.add_argument("--match-shape", action="store_true", help="of a value only its kind counts")
    parser.add_argument("--link", type=int, action="append", default=[], metavar="N")
    parser.add_argument("--partial", action="store_true", help="of one that was cut off")
    add_token(parser, metavar="T", help="what is shown where a token was taken out")
    parser.add_argument(
        "--timeout", type=seconds, default=PATIENCE, metavar="SECONDS", help="for each message"
    )
    parser.add_argument("--json", action="store_true", help="JSON lines in place of text")
    add_tls(parser)
    return parser


def run(argv: Sequence[str]) -> int:
    """Run it; answers its exit code."""
    try:
        arguments = make_parser().parse_args(argv)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    return run_work("replay", partial(_play, arguments), UNREACHABLE)


async def _play(arguments: argparse.Namespace) -> int:
    manner: Manner = "values"
    if arguments.strict or arguments.match_shape:
        manner = "strict" if arguments.strict else "shape"
    wanted = Wanted(
        arguments.file,
        arguments.side,
        manner,
        frozenset(arguments.link),
        arguments.partial,
        arguments.timeout,
        arguments.token,
    )
    part = read_part(wanted)
    listens = arguments.listen is not None
    if part.dials == listens:
        does = "dialled" if part.dials else "was dialled by"
        option = "--connect" if part.dials else "--listen"
        sys.stderr.write(
            f"gateway replay: in {arguments.file} the {part.side} {does} its peer; say {option}\n"
        )
        return BAD
    address = arguments.listen if listens else arguments.connect
    check_reached(address)
    token = None if arguments.token is None or listens else GivenToken(value=arguments.token)
    place = Place(address, listens, tls_of(arguments, address), token)
    say = partial(_say, arguments.json)
    async with open_live(part.adapter, part.side, place, say) as open:
        played = await play(part, wanted, open)
    _tell(arguments, played)
    return OK if played.difference is None else DIFFERS


def _say(as_json: bool, address: str) -> None:
    line = encode({"event": "ready", "address": address}).decode()
    sys.stdout.write(line if as_json else f"listening at {address}\n")
    sys.stdout.flush()


def _tell(arguments: argparse.Namespace, played: Played) -> None:
    difference = played.difference
    if arguments.json:
        found = None if difference is None else attrs.asdict(difference)
        line = {"event": "played", "frames": played.frames, "difference": found}
        sys.stdout.write(encode(line).decode())
    elif difference is None:
        sys.stdout.write(f"{arguments.file}: {played.frames} frames, all as recorded\n")
    else:
        sys.stdout.write(printable(f"{arguments.file}: {difference}\n"))
    sys.stdout.flush()
