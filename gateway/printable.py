"""Text of others, fit for a terminal: no escape sequence in it acts."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from typing import Final

_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""C0 but tab and newline, DEL, C1, the marks that reorder text, and halves of surrogates."""


def printable(text: str, *, newlines: bool = True) -> str:
    """`text` with every control character made visible: `^[` for ESC, `<202e>` for others.
    A carriage return becomes a newline, so that no line can be written over. Without
    `newlines` these are made visible, too."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _CONTROLS.sub(_visible, text)
    return text if newlines else text.replace("\n", "^J")


def escaped(line: str) -> str:
    """A JSON text without any of these characters: it says the same, by `\\u` and digits. For the
    writers of JSON that escape no more than they must, which is C0 alone."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", line)


def _visible(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"^{chr(code ^ 0x40)}" if code < 0x80 else f"<{code:02x}>"


class PrintableStream:
    """A byte stream of others as text for a terminal; characters may be split anywhere."""

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")(errors="backslashreplace")
        self._held = ""

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """The text of `data`, as far as it is whole. `final`: nothing follows."""
        text = self._held + self._decoder.decode(data, final)
        self._held = ""
        if text.endswith("\r") and not final:  # perhaps half of a line end
            text, self._held = text[:-1], "\r"
        return printable(text)
