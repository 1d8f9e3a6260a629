"""`gateway explain-frame`: frames for people, with the rule that refuses a bad one."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from fleetgate.gateway.command_line import Intermixed
from fleetgate.gateway.config_reader import nearest
from fleetgate.gateway.explain_frame.given import MOST, frames_in, from_hex, wrong_with
from fleetgate.gateway.explain_frame.recorded import Given, Unreadable
from fleetgate.gateway.printable import printable
from fleetgate.gateway.registry import adapters
from fleetgate.protocols.api import Adapter
from fleetgate.protocols.explaining import SPEAKERS, Explained, Explainer, Speaker, Whence

OK: Final = 0
REFUSED: Final = 1
"""A frame is one that the protocol refuses, or something is missing."""
USAGE: Final = 2

DUMPED: Final = 64
"""Bytes of a frame that cannot be read which are shown: where it goes wrong is near its beginning,
and the rule says the place."""


def run(argv: Sequence[str]) -> int:
    """Explain frames; answers the exit code."""
    parser = make_parser()
    try:
        given = parser.parse_args(argv)
        known = adapters(())
        if given.protocol not in known:
            parser.error(f"no protocol is named {given.protocol}; {nearest(given.protocol, known)}")
        adapter = known[given.protocol]
        given.sender = _sender(parser, adapter, given.sender)
        frames = _frames(adapter, given)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    except Unreadable as error:
        sys.stderr.write(f"gateway explain-frame: {error}\n")
        return USAGE
    return _explain(adapter, frames, given)


def make_parser() -> argparse.ArgumentParser:
    """The parser of its command line."""
    parser = Intermixed(
        prog="gateway explain-frame",
        description="Decodes frames. Of one that the protocol refuses, says by which rule, and "
        "where that is written. Secrets are not shown. `gateway explain` is another thing: what a "
        "running gateway has done with an event.",
        epilog="Exit codes: 0 all are frames, 1 the protocol refuses one, or "
        "something is missing, 2 nothing to explain.",
    )
    parser.add_argument("protocol", metavar="PROTOCOL", help=", ".join(adapters(())))
    parser.add_argument(
        "given",
        nargs="?",
        default="-",
        metavar="HEX|FILE|-",
        help="hexadecimal digits; or a file (or - for standard input) with digits, raw bytes as "
        "they cross a stream or a message, or a recording",
    )
    parser.add_argument(
        "--from",
        metavar="SIDE",
        dest="sender",
        help="who has sent it: controller or worker, or the protocol's own word",
    )
    parser.add_argument("--path", default="", metavar="PATH", help="the path of its link")
    parser.add_argument("--json", action="store_true", help="one JSON object for each frame")
    return parser


def _sender(parser: argparse.ArgumentParser, adapter: Adapter, word: str | None) -> Speaker | None:
    if word is None:
        return None
    speaker = adapter.showing.side(word)
    if speaker is None:
        known = ", ".join((*SPEAKERS, *adapter.showing.sides))
        parser.error(f"--from {word}: expected one of {known}")
    return speaker


def _frames(adapter: Adapter, given: argparse.Namespace) -> Sequence[Given]:
    explainer = adapter.showing.explainer()
    whence = Whence(given.sender, given.path)

    def takes(frame: bytes) -> bool:
        explained = explainer.explain(frame, whence)
        return explained.readable and not explained.rule

    side = adapter.northbound
    carriage = side.carriage(side.settings())
    return frames_in(_read(given.given), adapter.name, adapter.showing.version, carriage, takes)


def _read(word: str) -> bytes:
    """What is given.

    Raises: `Unreadable`.
    """
    if word == "-":
        return _bounded(sys.stdin.buffer.read(MOST + 1))
    try:
        if os.path.exists(word):
            with open(word, "rb") as file:
                return _bounded(file.read(MOST + 1))
    except OSError as error:
        raise Unreadable(f"{word} cannot be read: {error.strerror}") from None
    digits = os.fsencode(word)
    if from_hex(digits) is None:
        raise Unreadable(
            f"{word[:60]!r} is neither hexadecimal digits nor a file that is there: "
            f"{wrong_with(digits)}"
        )
    return digits


def _bounded(data: bytes) -> bytes:
    if len(data) > MOST:
        raise Unreadable(f"more than {MOST} bytes came; give fewer frames at a time")
    return data


def _explain(adapter: Adapter, frames: Sequence[Given], given: argparse.Namespace) -> int:
    explainers: dict[int, Explainer] = {}
    refused = False
    for each in frames:
        explainer = explainers.setdefault(each.link, adapter.showing.explainer())
        whence = each.whence if each.link else Whence(given.sender, given.path)
        explained = Explained(rule=each.fault, sender=whence.sender)
        if each.data is not None:
            explained = explainer.explain(each.data, whence)
        refused |= bool(explained.rule)
        section = adapter.showing.section(explained.rule) if explained.rule else ""
        if given.json:
            lines: Iterator[str] = iter([json.dumps(_line(each, explained, section))])
        else:
            lines = _text(adapter.name, each, explained, section)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return REFUSED if refused else OK


def _line(given: Given, explained: Explained, section: str) -> dict[str, Any]:
    return {
        "where": given.where,
        "size": None if given.data is None else len(given.data),
        "from": explained.sender,
        "name": explained.name,
        "message": explained.body,
        "redacted": explained.redacted,
        "rule": explained.rule,
        "section": section,
    }


def _text(protocol: str, given: Given, explained: Explained, section: str) -> Iterator[str]:
    size = "" if given.data is None else _bytes(len(given.data))
    sender = "" if explained.sender is None else f"from the {explained.sender}"
    said = ", ".join(filter(None, (printable(explained.name or "", newlines=False), size, sender)))
    yield f"{given.where}: {said}".rstrip()
    if explained.rule:
        yield f"  refused: {printable(explained.rule, newlines=False)}"
    if section:
        yield f"  section: {protocol}, {section}"
    if given.data is not None and not explained.readable:
        yield from _dump(given.data)
    if explained.readable:
        body = json.dumps(explained.body, ensure_ascii=False, indent=2)
        yield from (f"  {line}" for line in printable(body).splitlines())
    if explained.redacted:
        yield f"  ({explained.redacted} secrets are not shown)"


def _bytes(count: int) -> str:
    return f"{count} byte{'' if count == 1 else 's'}"


def _dump(data: bytes) -> Iterator[str]:
    """The first bytes, as digits only: what cannot be read may hold anything."""
    for at in range(0, min(len(data), DUMPED), 16):
        yield f"  {at:04x}  {data[at : min(at + 16, DUMPED)].hex(' ')}"
    if len(data) > DUMPED:
        yield f"  … and {len(data) - DUMPED} more"
