"""Reading a recording back, with an answer for each way in which it may not be one."""

from __future__ import annotations

import binascii
import os
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import attrs

from fleetgate.gateway.recording import form
from fleetgate.protocols.explaining import SPEAKERS, Speaker

MAX_FILE: Final = 256 << 20
"""Bytes of a recording that is read whole: a long test's conversation is some megabytes."""


class Unusable(Exception):
    """A recording cannot be played; the text says where and why, and repeats nothing of it."""


class CutOff(Unusable):
    """It ends in the middle, or has a gap."""


class OtherForm(Unusable):
    """It has another form, or was made with another version of its protocol."""


@attrs.frozen(slots=True)
class LinkUp:
    """A link comes up."""

    number: int
    time: int
    protocol: str
    entry: str
    path: str
    dialler: Speaker


@attrs.frozen(slots=True)
class Frame:
    """A frame crosses. `raw` is None where it could not be read."""

    link: int
    number: int
    time: int
    sender: Speaker
    name: str
    body: Any
    raw: bytes | None = attrs.field(repr=False)


@attrs.frozen(slots=True)
class End:
    """One end of a link is over."""

    link: int
    time: int
    sender: Speaker
    code: int | None
    broken: bool


Item: TypeAlias = LinkUp | Frame | End


@attrs.frozen(slots=True)
class Recording:
    """What a file holds. `protocols` are versions by name."""

    path: str
    started: int
    protocols: Mapping[str, str]
    items: tuple[Item, ...]

    def check_version(self, protocol: str, ours: str) -> None:
        """Raises: `OtherForm`, if the recording is of another version of the protocol."""
        theirs = self.protocols.get(protocol, "")
        if theirs != ours:
            raise OtherForm(
                f"{self.path} was made with {protocol} {theirs or 'of no version'}; "
                f"{protocol} {ours} is spoken here: record it again"
            )


def read_recording(path: str, *, partial: bool = False) -> Recording:
    """Read a recording. `partial`: of one that was cut off, what is whole.

    Raises: `Unusable`.
    """
    try:
        if os.path.getsize(path) > MAX_FILE:
            raise Unusable(f"{path} is larger than {MAX_FILE} bytes; record less at a time")
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror}") from None
    lines = data.split(b"\n")
    header = _header(path, lines[0])
    items: list[Item] = []
    try:
        items.extend(_items(path, lines))
    except _Cut as cut:
        if not partial:
            raise CutOff(f"{path} {cut.why}; --partial plays what is before that") from None
        items.extend(cut.items)
    return Recording(path, header["started"], header["protocols"], tuple(items))


class _Cut(Exception):
    """What follows is missing."""

    def __init__(self, why: str, items: list[Item]) -> None:
        super().__init__(why)
        self.why = why
        self.items = items


def _header(path: str, line: bytes) -> dict[str, Any]:
    wanted = f"{path} is no recording: expected a header in its first line"
    header = form.read_line(line)
    if header is None or "recording" not in header:
        if form.is_cut_header(line):
            raise CutOff(f"{path} is cut off within its first line: nothing of it can be played")
        raise Unusable(f"{wanted}, {_came(line)} came; `gateway record` and --record write one")
    if header["recording"] != form.FORMAT:
        raise OtherForm(
            f"{path} has another form than {form.FORMAT}, which is read here; "
            "play it with what wrote it"
        )
    if not isinstance(header.get("started"), int) or not isinstance(header.get("protocols"), dict):
        raise Unusable(f"{wanted} with `started` and `protocols`, one without came")
    return header


def _came(line: bytes) -> str:
    """A line that is no header, in words that repeat nothing of it."""
    if not line:
        return "nothing"
    if form.read_line(line) is not None:
        return "another JSON object"
    kind = "text that is no JSON object" if line.isascii() else "bytes that are no JSON object"
    return f"{kind} ({len(line)} bytes to the first newline)"


def _items(path: str, lines: list[bytes]) -> Iterator[Item]:
    found: list[Item] = []
    for number, line in enumerate(lines[1:], 2):
        last = number == len(lines)
        value = form.read_line(line)
        if last and not line:
            raise _Cut(f"is cut off behind line {number - 1}: it has no last line", found)
        if value is None:
            if last:
                raise _Cut(f"ends in the middle, at line {number}", found)
            raise Unusable(
                f"{path}, line {number}: expected a JSON object, a line of {len(line)} bytes came "
                "that is none: it was cut off or changed; record it again"
            )
        event = value.get("event")
        if event == "end":
            yield from found
            return
        if event == "lost":
            raise _Cut(f"has a gap at line {number}: what crossed there is missing", found)
        if last:
            raise _Cut(f"ends in the middle, at line {number}", found)
        item = _item(path, number, value)
        if item is not None:
            found.append(item)
    raise _Cut("is cut off behind line 1: it has no last line", found)


def _item(path: str, number: int, value: dict[str, Any]) -> Item | None:
    """An item; None for one that says nothing to a replay."""
    try:
        match value["event"]:
            case "link":
                made: Item = LinkUp(
                    _int(value["link"]),
                    _int(value["time"]),
                    str(value["protocol"]),
                    str(value["entry"]),
                    str(value["path"]),
                    _speaker(value["dialler"]),
                )
            case "frame":
                made = _frame(value)
            case "over":
                code = value["code"]
                made = End(
                    _int(value["link"]),
                    _int(value["time"]),
                    _speaker(value["from"]),
                    None if code is None else _int(code),
                    bool(value["broken"]),
                )
            case _:
                return None
    except KeyError as error:
        raise Unusable(f"{path}, line {number}: the member {error} is missing") from None
    except (ValueError, binascii.Error) as error:
        raise Unusable(f"{path}, line {number}: {error}") from None
    return made


def _frame(value: dict[str, Any]) -> Frame:
    raw = value["raw"]
    return Frame(
        _int(value["link"]),
        _int(value["number"]),
        _int(value["time"]),
        _speaker(value["from"]),
        str(value["name"]),
        value["message"],
        None if raw is None else b64decode(_text(raw), validate=True),
    )


def _int(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("expected a whole number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    return value


def _speaker(value: Any) -> Speaker:
    for speaker in SPEAKERS:
        if value == speaker:
            return speaker
    raise ValueError("expected controller or worker")
