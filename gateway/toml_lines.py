"""On which line of a TOML text a key stands, which tomllib does not tell."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Where a value is: keys, and 0-based positions in arrays (of tables, too)."""

_GAP: Final = re.compile(r"(?:[\s,]|#[^\n]*)*")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_STRING: Final = re.compile(
    r'"""(?:[^\\]|\\[\s\S])*?"{3,5}|' r"'''[\s\S]*?'{3,5}|" r'"(?:[^"\\]|\\.)*"|' r"'[^']*'"
)
_EQUALS: Final = re.compile(r"\s*=\s*")
_DOT: Final = re.compile(r"[ \t.]*")
_SCALAR: Final = re.compile(r"[^,\]}\n#]*")


def line_numbers(text: str) -> dict[Path, int]:
    """The line, from 1, of every key, table and array item of a text that tomllib accepts."""
    return _Scanner(text).lines


def line_of(lines: dict[Path, int], path: Path) -> int:
    """The line of `path`, or of the nearest thing around it that has one (1 at last)."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


class _Scanner:
    """One pass over the text. The text is known to be TOML, so nothing is checked here."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._items: dict[Path, int] = {}
        self._newlines = [at for at, char in enumerate(text) if char == "\n"]
        table: Path = ()
        self._skip()
        while self.at < len(text):
            if text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip()

    def _skip(self) -> None:
        self._take(_GAP)

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found.group()

    def _note(self, path: Path, at: int) -> None:
        self.lines.setdefault(path, bisect_left(self._newlines, at) + 1)

    def _header(self) -> Path:
        start = self.at
        array = self.text.startswith("[[", start)
        self.at += 2 if array else 1
        keys = self._keys()
        self.at += 2 if array else 1
        path = (*self._resolve(keys[:-1]), keys[-1])
        if array:
            self._note(path, start)
            self._items[path] = self._items.get(path, -1) + 1
        path = self._inside(path)
        self._note(path, start)
        return path

    def _pair(self, table: Path) -> None:
        start = self.at
        path = (*table, *self._keys())
        for length in range(len(table) + 1, len(path) + 1):
            self._note(path[:length], start)
        self._take(_EQUALS)
        self._value(path)

    def _keys(self) -> tuple[str, ...]:
        keys: list[str] = []
        while True:
            self._take(_DOT)
            if bare := self._take(_BARE):
                keys.append(bare)
            elif quoted := self._take(_STRING):
                import tomllib  # also who reads no TOML knows a `Path`

                keys.append(tomllib.loads(f"key = {quoted}")["key"])
            else:
                return tuple(keys)

    def _resolve(self, keys: tuple[str, ...]) -> Path:
        path: Path = ()
        for key in keys:
            path = self._inside((*path, key))
        return path

    def _inside(self, path: Path) -> Path:
        """Within an array of tables, its last table."""
        return (*path, self._items[path]) if path in self._items else path

    def _value(self, path: Path) -> None:
        if self.text[self.at] == "[":
            self._array(path)
        elif self.text[self.at] == "{":
            self._inline_table(path)
        elif not self._take(_STRING):
            self._take(_SCALAR)

    def _array(self, path: Path) -> None:
        self.at += 1
        index = 0
        self._skip()
        while self.text[self.at] != "]":
            self._note((*path, index), self.at)
            self._value((*path, index))
            index += 1
            self._skip()
        self.at += 1

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        self._skip()
        while self.text[self.at] != "}":
            self._pair(path)
            self._skip()
        self.at += 1
