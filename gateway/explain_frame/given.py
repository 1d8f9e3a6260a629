"""Frames out of whatever somebody has: hexadecimal digits, raw bytes, a recording."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from fleetgate.gateway.explain_frame.recorded import Given, Unreadable, read_recorded
from fleetgate.protocols.carriage import Carriage
from fleetgate.transports.framing import Framer, FramingError, make_framer

MOST: Final = 64 << 20
"""Bytes that are read: a frame of any protocol, and a long recording."""

_HEX: Final = re.compile(rb"(?:0x)?[0-9A-Fa-f]{2}(?:[\s:,]*(?:0x)?[0-9A-Fa-f]{2})*")
_DIGITS: Final = re.compile(rb"(?:0x)?[0-9A-Fa-f]+(?:[\s:,]+(?:0x)?[0-9A-Fa-f]+)*")
_TEXT: Final = re.compile(rb"[\t\n\r -~]+")
AS_BYTES: Final = "the frame (as bytes: these are no hexadecimal digits)"


def from_hex(text: bytes) -> bytes | None:
    """The bytes of hexadecimal digits, with spaces, colons, commas or 0x between them; None where
    it is something else."""
    text = text.strip()
    if not _HEX.fullmatch(text):
        return None
    return binascii.unhexlify(re.sub(rb"0x|[\s:,]", b"", text))


def wrong_with(text: bytes) -> str:
    """Why text is no hexadecimal digits, for whoever meant it to be."""
    if not _DIGITS.fullmatch(text.strip()):
        return "expected hexadecimal digits, two for each byte; other characters came"
    count = len(re.sub(rb"0x|[\s:,]", b"", text))
    return (
        f"expected two hexadecimal digits for each byte; one is alone among the {count} that came"
    )


def frames_in(
    data: bytes,
    protocol: str,
    version: str,
    carriage: Carriage,
    takes: Callable[[bytes], bool],
) -> Sequence[Given]:
    """The frames in what was read. `version` is the protocol's that is spoken here, for recordings.
    `takes` says whether the protocol takes a frame: it decides whether bytes are one frame, or a
    stream with lengths in it.

    Raises: `Unreadable`.
    """
    if not data.strip():
        raise Unreadable("nothing came: expected hexadecimal digits, raw bytes or a recording")
    recorded = read_recorded(data, protocol, version)
    if recorded is not None:
        return recorded
    whole = from_hex(data)
    lines = [line for line in data.splitlines() if line.strip()]
    if len(lines) > 1 and _TEXT.fullmatch(data) and any(from_hex(line) for line in lines):
        return [
            given
            for number, line in enumerate(lines, 1)
            for given in _of_line(number, line, carriage, takes)
        ]
    found = _streamed(data if whole is None else whole, carriage, takes)
    if whole is None and len(found) == 1 and not takes(found[0].data or b""):
        lined = _streamed(data + b"\n", carriage, takes)  # a line that was copied without its end
        if all(takes(each.data or b"") for each in lined):
            return lined
        return [_no_digits(data, found[0])]
    return found


def _of_line(
    number: int, line: bytes, carriage: Carriage, takes: Callable[[bytes], bool]
) -> Sequence[Given]:
    where, digits = f"line {number}", from_hex(line)
    if digits is None:
        return [Given(where, None, wrong_with(line))]
    return [attrs.evolve(given, where=where) for given in _streamed(digits, carriage, takes)]


def _no_digits(data: bytes, found: Given) -> Given:
    """Text that is no frame either: it may have been meant as digits.

    Raises: `Unreadable`, where it can be nothing else.
    """
    if _DIGITS.fullmatch(data.strip()):
        raise Unreadable(wrong_with(data))
    if _TEXT.fullmatch(data) and data.lstrip()[:1] not in b"{[":
        return attrs.evolve(found, where=AS_BYTES)
    return found


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
    """Whether bytes that hold no frame begin as a stream's length does: with a zero. A length of 0
    may stand alone: nothing follows it."""
    return data == bytes(4) or (data[:1] == b"\0" and len(data) > 4 and data[:3] != b'\0{"')
