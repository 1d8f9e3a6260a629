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


def test_what_fits_nowhere_is_said(page: Path) -> None:
    with pytest.raises(BenchFailed, match="marks for none of targets, journal"):
        document.write(result(page, {"parts": {"journal": {"text": "y"}}}), page)
    with pytest.raises(BenchFailed, match="has no text"):
        document.write(result(page, {"parts": {"other": {}}}), page)
    assert page.read_text() == PAGE


LARGE = {"figures": [{"thing": "follower", "each": 9000.0, "over": None}]}
WORDS = "A follower takes what a task takes. " * 6


@pytest.mark.parametrize(
    ("said", "explained"),
    [
        ("", False),
        ("<!-- why: follower -->\n", False),
        ("<!-- why: follower -->\nToo few words.\n", False),
        (f"<!-- why: other -->\n{WORDS}\n", False),
        (f"<!-- why: follower -->\n## Other\n{WORDS}\n", False),
        (f"<!-- why: follower -->\n<!-- why: other -->\n{WORDS}\n", False),
        (f"<!-- why: follower -->\n{WORDS}", True),
        (f"<!-- why: follower -->\n{WORDS}\n## Other\n", True),
    ],
)
def test_a_target_that_is_missed_wants_an_explanation(
    said: str, explained: bool, page: Path
) -> None:
    given = result(page, {"parts": {"memory": {**LARGE, "text": "t"}}})
    page.write_text(said)
    assert document.unexplained(given, page) == ([] if explained else ["follower"])


def test_the_targets_are_a_table_of_the_page(page: Path) -> None:
    page.write_text("<!-- bench: targets -->\n<!-- end -->\n")
    given = result(page, {"parts": {"memory": {**LARGE, "text": "t"}}})
    assert document.write(given, page) == 1
    assert "| a follower, KiB | ≤ 4.0 | 8.8 | **not met** |  |" in page.read_text()


HERE = Path(__file__).parents[3] / document.PAGE


def test_the_page_of_this_repository_has_every_part_of_the_bench() -> None:
    from fleetgate.gateway.bench.cli import ALL

    marks = [name for _, name, _ in document.MARKED.findall(HERE.read_text())]
    assert marks == ["targets", *ALL]


def test_the_page_of_this_repository_is_that_of_its_result(tmp_path: Path) -> None:
    """`just bench --document docs/performance.json` makes it so."""
    copy = tmp_path / "page.md"
    copy.write_text(HERE.read_text())
    document.write(HERE.with_suffix(".json"), copy)
    assert copy.read_text() == HERE.read_text()


def test_each_target_that_is_missed_is_explained() -> None:
    assert document.unexplained(HERE.with_suffix(".json"), HERE) == []
