"""What a worker's process writes down as it goes, so that it outlives it: a line for each thing,
in one file for all lives of the worker. A line is there once it was written, whoever is killed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, TypeAlias

import attrs

What: TypeAlias = Literal["began", "got", "over", "said", "up", "down", "fault"]
"""A run was begun, was given an input, or came to its end, before anybody was told; a marked line
went out; a link came or went; our own code raised."""

TASKS: Final = "tasks"
"""The name of the file that tells workers which task has which pair."""


@attrs.frozen
class Line:
    """One thing: in which life, when (Unix nanoseconds), and of what: the id of a task, a mark of a
    line, or words. `data` is an input."""

    life: int
    at: int
    what: What
    of: str = ""
    data: str = ""


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


class Book:
    """Written by one life of a worker."""

    def __init__(self, path: Path, life: int) -> None:
        self._file = _open(path)
        self._life = life

    def write(self, what: What, of: str = "", data: bytes = b"") -> None:
        """Write a line."""
        line = [self._life, time.time_ns(), what, of, data.decode()]
        os.write(self._file, json.dumps(line).encode() + b"\n")


def read_book(path: Path) -> Iterator[Line]:
    """All lines, in the order in which they were written."""
    for line in path.read_text().splitlines() if path.exists() else ():
        yield Line(*json.loads(line))


class Tasks:
    """Which task has which pair. Written by who starts runs, before that; read by workers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pairs: dict[str, str] = {}

    def add(self, id: str, pair: str) -> None:
        """A run of it may come."""
        with self._path.open("a") as file:
            file.write(f"{id} {pair}\n")

    def pair(self, id: str) -> str:
        """Its pair."""
        if id not in self._pairs:
            self._pairs = dict(line.split() for line in self._path.read_text().splitlines())
        return self._pairs[id]
