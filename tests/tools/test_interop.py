"""The lanes: which run, when one counts as failed, and what the page says. No toolchain here."""

from __future__ import annotations

import json
import shutil
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from tool_loading import ROOT, load_tool

interop = load_tool("interop")
GOOD = {"what": "it holds", "count": 3, "outcome": "passed"}


def lane(name: str = "a", *commands: str, modules: tuple[str, ...] = ()) -> Any:
    return interop.Lane(name, Path(name), "agency", commands, modules)


def test_what_is_missing_is_named() -> None:
    assert lane("a", "sh", modules=("json",)).missing() == []
    assert lane("a", "no-such-command", modules=("nosuch.module", "nosuch")).missing() == [
        "the command no-such-command",
        "the module nosuch.module",
        "the module nosuch",
    ]


def test_every_lane_of_the_tree_is_found_and_has_tests_and_rows() -> None:
    lanes = interop.find_lanes(ROOT / "tests" / "interop")
    folders = {path.parent for path in (ROOT / "tests" / "interop").glob("*/lane_*.py")}
    assert {each.folder for each in lanes} == folders
    told = interop.told(interop.PAGE.read_text())
    assert set(told) == {each.name for each in lanes}
    assert all(each.commands or each.modules for each in lanes), "a lane needs something"


def test_a_lane_is_chosen_by_name() -> None:
    lanes = [lane("a"), lane("b")]
    assert interop.choose([], lanes) == lanes
    assert interop.choose(["b"], lanes) == [lanes[1]]
    with pytest.raises(SystemExit, match="no lane is called c; there are a, b"):
        interop.choose(["c"], lanes)


@pytest.mark.parametrize(
    ("cases", "peers", "code", "problem"),
    [
        ([GOOD], ["x 1"], 0, ""),
        ([], ["x 1"], 5, "ran nothing"),
        ([GOOD, GOOD | {"outcome": "skipped"}], ["x 1"], 0, "skipped: it holds"),
        ([GOOD | {"outcome": "failed"}], ["x 1"], 1, "failed: it holds"),
        ([GOOD], [], 0, "does not say whom it has met"),
        ([GOOD], ["x 1"], 2, "pytest ended with 2"),
    ],
)
def test_a_lane_that_is_here_runs_as_a_whole_or_has_failed(
    cases: list[dict[str, Any]], peers: list[str], code: int, problem: str
) -> None:
    assert interop.judge({"cases": cases, "peers": peers}, code).problem == problem


def played(result: Any, open_now: list[str] | None = None) -> Any:
    """A lane that is over at once, with this result."""
    there = [] if open_now is None else open_now

    class Played:
        output, seconds, over = "said", 1.0, True

        def __init__(self, each: Any) -> None:
            self.lane = each
            there.append(each.name)
            assert len(there) <= interop.AT_A_TIME

        def result(self) -> Any:
            if isinstance(result, BaseException):
                raise result
            return result

        def end(self) -> None:
            there.remove(self.lane.name)

    return Played


def test_some_lanes_are_played_at_a_time_and_each_is_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    open_now: list[str] = []
    lanes = [lane(str(number)) for number in range(3 * interop.AT_A_TIME)]
    monkeypatch.setattr(interop, "Playing", played(interop.Result(), open_now))
    assert list(interop.run(lanes)) == lanes
    assert "== 0\nsaid\n0: holds, 0 cases in 1 s" in capsys.readouterr().out
    monkeypatch.setattr(interop, "Playing", played(SystemExit(143), open_now))
    with pytest.raises(SystemExit):
        interop.run(lanes)
    assert open_now == []


def test_lanes_without_their_toolchain_are_skipped_with_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = interop.judge({"cases": [GOOD], "peers": ["x 1"]}, 0)
    monkeypatch.setattr(interop, "Playing", played(good))
    there, gone = lane("there", "sh"), lane("gone", "no-such-command")
    assert list(interop.run([there, gone])) == [there]
    said = capsys.readouterr().out
    assert "there: holds, 3 cases in" in said
    assert "skip gone: the command no-such-command is not here" in said


@pytest.mark.parametrize(("problem", "code"), [("", 0), ("ran nothing", 1)])
def test_the_command_fails_with_a_lane(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    problem: str,
    code: int,
) -> None:
    monkeypatch.setattr(interop, "find_lanes", lambda _: [lane("a")])
    monkeypatch.setattr(interop, "Playing", played(interop.Result(problem=problem)))
    assert interop.main([]) == code
    assert ("failed lanes: a" in capsys.readouterr().out) == bool(code)


def write_lane(folder: Path, body: str) -> Any:
    (folder / "lane.toml").write_text('protocol = "agency"\ncommands = ["sh"]\nat_a_time = 3\n')
    (folder / "lane_it.py").write_text(body)
    return interop.find_lanes(folder.parent)[0]


@pytest.mark.slow
def test_a_lane_is_played_and_says_what_it_did(tmp_path: Path) -> None:
    """One real run of pytest, as `just interop` has it."""
    folder = tmp_path / "small"
    folder.mkdir()
    shutil.copy(interop.LANES / "conftest.py", folder)
    small = write_lane(
        folder,
        "import os, pytest\n"
        "@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_sums(record_property, n):\n"
        "    '''Sums come\n    out right.\n\n    More.'''\n"
        "    record_property('peer', 'adder 1.0')\n"
        "    record_property('count', 20)\n"
        "    record_property('peer', 'beside ' + os.environ['PYTEST_XDIST_WORKER_COUNT'])\n"
        "def test_gone():\n"
        "    pytest.skip('no reason')\n",
    )
    result = interop.run([small])[small]
    assert result.peers == ("adder 1.0", "beside 3")
    assert [(case.what, case.count, case.outcome) for case in result.cases] == [
        ("Sums come out right", 40, "passed"),
        ("test_gone", 1, "skipped"),
    ]
    assert result.problem == "skipped: test_gone"


def test_rows_stand_in_the_order_of_the_files_whichever_test_ends_first(tmp_path: Path) -> None:
    """Or the page would be another after each run."""
    spec = spec_from_file_location("record", interop.LANES / "record.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    record = module.Record(tmp_path / "said")
    for file, line, what in (("b", 1, "third"), ("a", 30, "second"), ("a", 4, "first"),
                             ("a", 60, "first")):  # fmt: skip
        properties = [("what", what)]
        record.pytest_runtest_logreport(
            pytest.TestReport(what, (file, line, what), {}, "passed", None, "call",
                              user_properties=properties))  # fmt: skip
    record.pytest_sessionfinish()
    said = json.loads((tmp_path / "said").read_text())
    assert [case["what"] for case in said["cases"]] == ["first", "second", "third"]


PAGE = f"words\n{interop.BEGIN}{interop.END}after\n"


def test_the_page_keeps_the_rows_of_lanes_that_were_not_run() -> None:
    cases = [GOOD, GOOD | {"what": "it ends"}]
    good = interop.judge({"cases": cases, "peers": ["x 1", "y 2"]}, 0)
    first = interop.report(PAGE, {lane("b"): good, lane("a"): good})
    assert first.startswith("words\n")
    assert first.endswith("after\n")
    assert interop.told(first) == {
        "a": ["| a | x 1, y 2 | it holds | 3 | passed |\n", "| a |  | it ends | 3 | passed |\n"],
        "b": ["| b | x 1, y 2 | it holds | 3 | passed |\n", "| b |  | it ends | 3 | passed |\n"],
    }
    second = interop.report(first, {lane("a"): interop.Result(problem="took | long")})
    assert interop.told(second)["a"] == ["| a |  |  | 0 | took \\| long |\n"]
    assert interop.told(second)["b"] == interop.told(first)["b"]


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(SystemExit, match="no place for the table"):
        interop.report("words", {})
