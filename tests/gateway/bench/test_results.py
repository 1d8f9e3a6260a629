"""The file of results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetgate.gateway.bench import results
from fleetgate.gateway.bench.results import Results, parts_of
from fleetgate.gateway.bench.task import BenchFailed

PART = {"machine": {"commit": "abc"}}


@pytest.fixture(autouse=True)
def commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "commit_of", lambda: "abc")


def test_the_file_is_whole_after_each_part(tmp_path: Path) -> None:
    kept = Results.new(tmp_path / "deep" / "result.json")
    assert (kept.commit, kept.parts, kept.path.exists()) == ("abc", {}, False)
    kept.add("one", PART)
    assert parts_of(kept.path) == {"one": PART}
    kept.add("two", PART)
    assert parts_of(kept.path) == {"one": PART, "two": PART}
    assert list(kept.path.parent.iterdir()) == [kept.path]


def test_it_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "result.json"
    Results.new(path).add("one", PART)
    again = Results.resumed(path)
    again.add("two", PART)
    assert list(parts_of(path)) == ["one", "two"]
    monkeypatch.setattr(results, "commit_of", lambda: None)
    with pytest.raises(BenchFailed, match="has results of abc, and this is None"):
        Results.resumed(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"parts": []}', '{"parts": {}}', "5"])
def test_what_is_no_result_is_said(text: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(text)
    with pytest.raises(BenchFailed, match="no result of this bench"):
        parts_of(path)


def test_the_committed_result_is_one() -> None:
    page = Path(__file__).parents[3] / "docs" / "performance.json"
    assert json.loads(page.read_text())["format"] <= results.FORMAT
    assert parts_of(page)
