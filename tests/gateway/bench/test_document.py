"""The page of a result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetgate.gateway.bench import document
from fleetgate.gateway.bench.task import BenchFailed

PAGE = """\
before
<!-- bench: bridge -->
old
<!-- end -->
between
<!-- bench: other -->
kept
<!-- end -->
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def result(page: Path, value: object) -> Path:
    path = page.with_name("result.json")
    path.write_text(json.dumps(value))
    return path


def test_parts_go_between_their_marks_and_nothing_else_changes(page: Path) -> None:
    given = result(page, {"parts": {"bridge": {"text": "new\n"}, "unmarked": {"text": "x"}}})
    assert document.write(given, page) == 1
    assert page.read_text() == PAGE.replace("old", "new")
    assert document.write(given, page) == 1, "and again"


def test_a_result_of_one_part_will_do(page: Path) -> None:
    assert document.write(result(page, {"part": "other", "text": "y"}), page) == 1
    assert page.read_text() == PAGE.replace("kept", "y")


def test_what_fits_nowhere_is_said(page: Path) -> None:
    with pytest.raises(BenchFailed, match="marks for none of journal"):
        document.write(result(page, {"part": "journal", "text": "y"}), page)
    with pytest.raises(BenchFailed, match="has no text"):
        document.write(result(page, {"part": "other"}), page)
    assert page.read_text() == PAGE


def test_the_page_of_this_repository_has_every_part_of_the_bench() -> None:
    from fleetgate.gateway.bench.cli import ALL

    text = (Path(__file__).parents[3] / document.PAGE).read_text()
    assert [name for _, name, _ in document.MARKED.findall(text)] == list(ALL)
