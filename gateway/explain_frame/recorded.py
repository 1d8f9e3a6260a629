"""Frames out of a recording, with a word on all that is missing in it.

It reads on where `recording.reading` refuses: a replay needs the whole, and who explains frames may
have nothing but what is damaged.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence
from typing import Any, cast

import attrs

from fleetgate.gateway.recording import form
from fleetgate.protocols.explaining import SPEAKERS, Whence


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


def read_recorded(data: bytes, protocol: str, version: str) -> Sequence[Given] | None:
    """The frames of a recording's links of the protocol, and what stands where some are missing;
    None: it is no recording. Lines of one, without its header, will do. What another version of the
    protocol wrote is read as `version`, and the first of what comes back says so.

    Raises: `Unreadable`, for another form, and where there is no frame of the protocol.
    """
    lines = data.split(b"\n")
    first = _object(lines[0])
    headed = "recording" in first
    if not headed and not _is_item(first):
        if form.is_cut_header(lines[0]):
            raise Unreadable(
                "the recording is cut off within its first line: nothing is left of it"
            )
        return None
    found: list[Given] = []
    if headed:
        found.extend(_check_header(first, protocol, version))
    reader = _Reader(protocol)
    found.extend(reader.read(lines, headed=headed))
    if not reader.frames:
        there = ", ".join(sorted(set(reader.spoken.values()))) or "no link"
        raise Unreadable(f"the recording has no frame of {protocol}; it has {there}")
    return found


def _check_header(header: dict[str, Any], protocol: str, version: str) -> Iterator[Given]:
    if header["recording"] != form.FORMAT:
        raise Unreadable(
            f"expected a recording of form {form.FORMAT}, one of another form came: explain it "
            "with what wrote it"
        )
    spoken = header.get("protocols")
    theirs = cast("dict[str, Any]", spoken).get(protocol) if isinstance(spoken, dict) else None
    if isinstance(theirs, str) and theirs != version:
        yield Given(
            "line 1",
            None,
            f"it was recorded with {protocol} {theirs[:20]}; what follows is read as {protocol} "
            f"{version}, and may mean something else",
        )


class _Reader:
    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self._paths: dict[int, str] = {}
        self.spoken: dict[int, str] = {}
        self.frames = 0

    def read(self, lines: Sequence[bytes], *, headed: bool) -> Iterator[Given]:
        """The frames, and what stands where some are missing."""
        ended = not headed
        for number, line in enumerate(lines, 1):
            item = _object(line)
            if line.strip() and not item:
                self.frames += 1
                yield Given(f"line {number}", None, _broken(number, len(lines)))
                ended |= number == len(lines)
            elif item.get("event") == "lost":
                yield Given(f"line {number}", None, _gap(item))
            ended |= item.get("event") == "end"
            yield from self._frame(number, item)
        if not ended:
            fault = "the recording is cut off here: a last line with the event `end` is missing"
            yield Given("behind that", None, fault)

    def _frame(self, number: int, item: dict[str, Any]) -> Iterator[Given]:
        link = item.get("link")
        if not isinstance(link, int):
            return
        if item.get("event") == "link":
            self._paths[link] = str(item.get("path", ""))
            self.spoken[link] = str(item.get("protocol", ""))
        elif _is_item(item) and self.spoken.get(link, self._protocol) == self._protocol:
            self.frames += 1
            yield _kept(number, item, self._paths.get(link, ""), link)


def _broken(number: int, lines: int) -> str:
    if number == lines:
        return "the recording is cut off here"
    return "expected a JSON object, a line came that is none: it was cut off or changed"


def _gap(item: dict[str, Any]) -> str:
    items = item.get("items")
    count = f"{items} lines" if isinstance(items, int) else "lines"
    return f"{count} are missing here: nobody took them fast enough when it was recorded"


def _kept(number: int, item: dict[str, Any], path: str, link: int) -> Given:
    sender = item.get("from")
    whence = Whence(sender if sender in SPEAKERS else None, path)
    raw = item.get("raw")
    try:
        data = None if not isinstance(raw, str) else b64decode(raw, validate=True)
    except ValueError:  # binascii.Error is one, and so is what text beyond ASCII raises
        return Given(f"line {number}", None, "raw is no base64", whence, link)
    rule = item.get("rule")
    why = rule if isinstance(rule, str) and rule else "it was not kept when it was recorded"
    return Given(f"line {number}", data, "" if data is not None else why, whence, link)


def _is_item(item: dict[str, Any]) -> bool:
    return item.get("event") == "frame" and "link" in item


def _object(line: bytes) -> dict[str, Any]:
    return form.read_line(line) or {}
