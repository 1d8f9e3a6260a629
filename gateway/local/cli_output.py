"""What a command-line agent writes, as text: formats, and where an answer ends. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, cast

from fleetgate.gateway.local.bodies import Decoder
from fleetgate.gateway.local.cli_profile import CliProfile, CompletionMarker
from fleetgate.gateway.local.patterns import searching

MAX_LINE: Final = 1 << 20
"""Characters of a line that are kept until its end comes: sixteen events' worth. Beyond it the line
is text as it comes, whatever the format: it is no marker and no object."""

MAX_DOCUMENT: Final = 4 << 20
"""Characters of one JSON document: the largest message of the protocol it may have to go into.
Beyond it the run fails."""


class TooLong(Exception):
    """A document has more than `MAX_DOCUMENT` characters."""


class Output:
    """One answer of a program. `feed` and `end` give text as it becomes known.

    `complete`: the marker has come; what is fed after it belongs to nobody. `left_out` counts
    the objects that held no text.
    """

    def __init__(self, profile: CliProfile) -> None:
        self.complete = False
        self.left_out = 0
        self._decoder = Decoder()
        self._marker = _Marker(profile.completion_marker) if profile.persistent else NO_MARKER
        self._format = profile.output_format or "text"
        self._parts: list[str] = []
        """A line whose end has not come."""
        self._length = 0
        self._torn = False
        """The start of this line was given out already."""
        self._document: list[str] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[str]:
        """Take what the program wrote.

        Raises: `TooLong`.
        """
        *lines, rest = self._decoder.feed(data).split("\n")
        for line in lines:
            if self.complete:
                return
            yield from self._whole(f"{self._kept()}{line}\n")
        if not self.complete and rest:
            yield from self._part(rest)

    def end(self) -> Iterator[str]:
        """No more comes.

        Raises: `TooLong`.
        """
        rest = self._kept() + self._decoder.end()
        if not self.complete and rest:
            yield from self._whole(rest)
        if self._format == "json" and self._document:
            yield document_text("".join(self._document))
            self._document = []

    def _kept(self) -> str:
        """What is kept of the line, which is then kept no more."""
        kept = "".join(self._parts)
        self._parts, self._length = [], 0
        return kept

    def _part(self, part: str) -> Iterator[str]:
        """A part of a line, kept until the rest comes, or given out where nothing can come of it
        but text."""
        self._parts.append(part)
        self._length += len(part)
        if self._torn or self._length > MAX_LINE or self._is_plain():
            self._torn = True
            yield from self._text(self._kept())

    def _is_plain(self) -> bool:
        return self._format == "text" and not self._marker.may_be("".join(self._parts))

    def _whole(self, line: str) -> Iterator[str]:
        torn, self._torn = self._torn, False
        if not torn and self._marker.is_(line.rstrip("\n").removesuffix("\r")):
            self.complete = True
        elif torn or self._format in ("text", "json"):
            yield from self._text(line)
        elif line.strip():
            yield from self._object(line)

    def _text(self, text: str) -> Iterator[str]:
        if self._format != "json":
            yield text
            return
        self._size += len(text)
        if self._size > MAX_DOCUMENT:
            raise TooLong(f"the answer is a document of more than {MAX_DOCUMENT} characters")
        self._document.append(text)

    def _object(self, line: str) -> Iterator[str]:
        value = parsed(line)
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
        self._line = marker.line
        self._found = searching(marker.regex) if marker.regex else None

    def is_(self, line: str) -> bool:
        """Whether the whole line is it."""
        if self._line and line == self._line:
            return True
        return self._found is not None and self._found(line)

    def may_be(self, start: str) -> bool:
        """Whether a line that begins so may become it."""
        if self._found is not None:
            return True
        return bool(self._line) and self._line.startswith(start.removesuffix("\r"))


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
