"""What a command-line agent writes: formats, and where an answer ends. No I/O.

Lines, markers and documents are bytes in here. Text is made of what is UTF-8; anything else is
handed on as it came."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, cast

from fleetgate.gateway.local.bodies import characters, readable
from fleetgate.gateway.local.cli_profile import CliProfile, CompletionMarker
from fleetgate.gateway.local.patterns import searching

MAX_LINE: Final = 1 << 20
"""Bytes of a line that are kept until its end comes: sixteen events' worth. Beyond it the line
is text as it comes, whatever the format: it is no marker and no object."""

MAX_DOCUMENT: Final = 4 << 20
"""Bytes of one JSON document: the largest message of the protocol it may have to go into.
Beyond it the run fails."""


class TooLong(Exception):
    """A document has more than `MAX_DOCUMENT` bytes."""


class Output:
    """One answer of a program. `feed` and `end` give it as it becomes known: text, or bytes where
    it is no UTF-8.

    `complete`: the marker has come; what is fed after it belongs to nobody. `left_out` counts
    the objects that held no text.
    """

    def __init__(self, profile: CliProfile) -> None:
        self.complete = False
        self.left_out = 0
        self._marker = _Marker(profile.completion_marker) if profile.persistent else NO_MARKER
        self._format = profile.output_format or "text"
        self._parts: list[bytes] = []
        """A line whose end has not come."""
        self._length = 0
        self._torn = False
        """The start of this line was given out already."""
        self._document: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[str | bytes]:
        """Take what the program wrote.

        Raises: `TooLong`.
        """
        *lines, rest = data.split(b"\n")
        for line in lines:
            if self.complete:
                return
            yield from self._whole(self._kept() + line + b"\n")
        if not self.complete and rest:
            yield from self._part(rest)

    def end(self) -> Iterator[str | bytes]:
        """No more comes.

        Raises: `TooLong`.
        """
        rest = self._kept()
        if not self.complete and rest:
            yield from self._whole(rest)
        if self._format == "json" and self._document:
            document = readable(b"".join(self._document))
            yield document_text(document) if isinstance(document, str) else document
            self._document = []

    def _kept(self) -> bytes:
        """What is kept of the line, which is then kept no more."""
        kept = b"".join(self._parts)
        self._parts, self._length = [], 0
        return kept

    def _part(self, part: bytes) -> Iterator[str | bytes]:
        """A part of a line, kept until the rest comes, or given out where nothing can come of it
        but text."""
        self._parts.append(part)
        self._length += len(part)
        if self._torn or self._length > MAX_LINE or self._is_plain():
            self._torn = True
            whole, rest = characters(self._kept())
            self._parts, self._length = [rest], len(rest)
            yield from self._text(whole) if whole else ()

    def _is_plain(self) -> bool:
        return self._format == "text" and not self._marker.may_be(b"".join(self._parts))

    def _whole(self, line: bytes) -> Iterator[str | bytes]:
        torn, self._torn = self._torn, False
        if not torn and self._marker.is_(line.rstrip(b"\n").removesuffix(b"\r")):
            self.complete = True
        elif torn or self._format in ("text", "json"):
            yield from self._text(line)
        elif line.strip():
            yield from self._object(line)

    def _text(self, data: bytes) -> Iterator[str | bytes]:
        if self._format != "json":
            yield readable(data)
            return
        self._size += len(data)
        if self._size > MAX_DOCUMENT:
            raise TooLong(f"the answer is a document of more than {MAX_DOCUMENT} bytes")
        self._document.append(data)

    def _object(self, data: bytes) -> Iterator[str | bytes]:
        line = readable(data)
        value = parsed(line) if isinstance(line, str) else None
        if not isinstance(value, Mapping):
            yield line
            return
        text = member_text(cast(Mapping[str, object], value), ("text", "delta", "content"))
        if text is None:
            self.left_out += 1
        else:
            yield text


class _Marker:
    def __init__(self, marker: CompletionMarker) -> None:
        self._line = marker.line.encode(errors="replace")
        self._found = searching(marker.regex) if marker.regex else None

    def is_(self, line: bytes) -> bool:
        """Whether the whole line is it."""
        if self._line and line == self._line:
            return True
        return self._found is not None and self._found(line.decode(errors="replace"))

    def may_be(self, start: bytes) -> bool:
        """Whether a line that begins so may become it."""
        if self._found is not None:
            return True
        return bool(self._line) and self._line.startswith(start.removesuffix(b"\r"))


NO_MARKER: Final = _Marker(CompletionMarker())


def parsed(text: str) -> object:
    """The JSON value of a text; of what is none, the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def member_text(value: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    """The first of these members that is a string."""
    for name in names:
        member = value.get(name)
        if isinstance(member, str):
            return member
    return None


def document_text(text: str) -> str:
    """What a document says: its member `text` or `content`, else the document as it is."""
    value = parsed(text)
    if isinstance(value, Mapping):
        said = member_text(cast(Mapping[str, object], value), ("text", "content"))
        return text if said is None else said
    return text
