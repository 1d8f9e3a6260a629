"""What a worker writes down is there whoever is killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from chaos_book import Book, Line, Tasks, read_book


def test_lines_of_all_lives_are_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "book"
    assert list(read_book(path)) == []
    one = Book(path, 0)
    one.write("began", "t1")
    one.write("got", "t1", b"an input\n")
    Book(path, 1).write("up")
    lines = list(read_book(path))
    assert [(line.life, line.what, line.of, line.data) for line in lines] == [
        (0, "began", "t1", ""),
        (0, "got", "t1", "an input\n"),
        (1, "up", "", ""),
    ]
    assert 0 < lines[0].at <= lines[1].at <= lines[2].at
    assert isinstance(lines[0], Line)


def test_a_worker_finds_the_pair_of_a_task_that_came_since(tmp_path: Path) -> None:
    written, read = Tasks(tmp_path / "tasks"), Tasks(tmp_path / "tasks")
    written.add("t1", "agency-iop")
    assert read.pair("t1") == "agency-iop"
    written.add("t2", "iop-rvbox")
    assert read.pair("t2") == "iop-rvbox"
    with pytest.raises(KeyError):
        read.pair("t3")
