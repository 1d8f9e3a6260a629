"""Frames out of whatever somebody has: hexadecimal digits, raw bytes, lines of a recording."""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import attrs

from fleetgate.protocols.carriage import Carriage
from fleetgate.protocols.explaining import SPEAKERS, Whence
from fleetgate.transports.framing import Framer, FramingError, make_framer

MOST: Final = 64 << 20
"""Bytes that are read: a frame of any protocol, and a long recording."""

_HEX: Final = re.compile(rb"(?:0x)?[0-9A-Fa-f]{2}(?:[\s:,]*(?:0x)?[0-9A-Fa-f]{2})*")


class Unreadable(Exception):
    """What was given is no frame in any form; the text says what was expected."""


@attrs.frozen(slots=True)
class Given:
    """One frame, or what stands where one should. `data` is None where it was not kept; `fault`
    says why the bytes are no frame; `where` names the place, `link` the recorded link."""

    where: str
    data: bytes | None
    fault: str = ""
    whence: Whence = Whence()
    link: int = 0


def from_hex(text: bytes) -> bytes | None:
    """The bytes of hexadecimal digits, with spaces, colons, commas or 0x between them; None where
    it is something else."""
    text = text.strip()
    if not _HEX.fullmatch(text):
        return None
    return binascii.unhexlify(re.sub(rb"0x|[\s:,]", b"", text))


def frames_in(
    data: bytes, protocol: str, carriage: Carriage, takes: Callable[[bytes], bool]
) -> Sequence[Given]:
    """The frames in what was read. `takes` says whether the protocol takes a frame: it decides
    whether bytes are one frame, or a stream with lengths in it.

    Raises: `Unreadable`.
    """
    if not data.strip():
        raise Unreadable("nothing came: expected hexadecimal digits, raw bytes or a recording")
    recorded = _recorded(data, protocol)
    if recorded is not None:
        return recorded
    digits = [from_hex(line) for line in data.splitlines() if line.strip()]
    if len(digits) > 1 and None not in digits:
        lines = [each for each in digits if each is not None]
        return [
            attrs.evolve(given, where=f"line {number}")
            for number, line in enumerate(lines, 1)
            for given in _streamed(line, carriage, takes)
        ]
    whole = from_hex(data)
    return _streamed(data if whole is None else whole, carriage, takes)


def _streamed(data: bytes, carriage: Carriage, takes: Callable[[bytes], bool]) -> Sequence[Given]:
    if takes(data) or carriage.stream is None:
        return [Given("the frame", data)]
    framer = make_framer(carriage.stream, carriage.limit)
    frames, fault = _split(framer, data)
    if not frames and (not fault or not _is_stream(data)):
        return [Given("the frame", data)]
    if fault and not all(takes(frame) for frame in frames):
        return [Given("the frame", data)]
    found = [Given(f"frame {number}", frame) for number, frame in enumerate(frames, 1)]
    where = "behind that" if found else "the stream"
    return [*found, Given(where, None, fault)] if fault else found


def _split(framer: Framer, data: bytes) -> tuple[Sequence[bytes], str]:
    """The frames of a stream, and what is wrong behind them."""
    frames: list[bytes] = []
    try:
        frames += framer.feed(data)
        framer.eof()
    except FramingError as error:
        return (*frames, *error.frames), str(error)
    return frames, ""


def _is_stream(data: bytes) -> bool:
    """Whether bytes that hold no frame begin as a stream's length does: with a zero."""
    return data[:1] == b"\0" and len(data) > 4 and data[:3] != b'\0{"'


def _recorded(data: bytes, protocol: str) -> Sequence[Given] | None:
    """The frames of a recording's links of the protocol; None: it is no recording."""
    lines = data.split(b"\n")
    if _object(lines[0]).get("recording") is None and not _is_item(_object(lines[0])):
        return None
    paths: dict[int, str] = {}
    spoken: dict[int, str] = {}
    found: list[Given] = []
    for number, line in enumerate(lines, 1):
        item = _object(line)
        link = item.get("link")
        if not isinstance(link, int):
            if line.strip() and not item:
                found.append(Given(f"line {number}", None, "the recording is cut off here"))
            continue
        if item.get("event") == "link":
            paths[link], spoken[link] = str(item.get("path", "")), str(item.get("protocol", ""))
        elif _is_item(item) and spoken.get(link, protocol) == protocol:
            found.append(_kept(number, item, paths.get(link, ""), link))
    if not found:
        there = ", ".join(sorted(set(spoken.values()))) or "no link"
        raise Unreadable(f"the recording has no frame of {protocol}; it has {there}")
    return found


def _kept(number: int, item: dict[str, Any], path: str, link: int) -> Given:
    sender = item.get("from")
    whence = Whence(sender if sender in SPEAKERS else None, path)
    raw = item.get("raw")
    try:
        data = None if not isinstance(raw, str) else b64decode(raw, validate=True)
    except binascii.Error:
        return Given(f"line {number}", None, "raw is no base64", whence, link)
    rule = item.get("rule")
    why = rule if isinstance(rule, str) and rule else "it was not kept when it was recorded"
    return Given(f"line {number}", data, "" if data is not None else why, whence, link)


def _is_item(item: dict[str, Any]) -> bool:
    return item.get("event") == "frame" and "link" in item


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
