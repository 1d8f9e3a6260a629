"""The page of limits is what the code says."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from tool_loading import load_tool

from fleetgate.core.limits import Limits
from fleetgate.transports.api import Options


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_tool("limits")


def test_the_page_is_what_the_code_says(tool: ModuleType) -> None:
    assert tool.PAGE.read_text() == tool.page(), "run `just limits`"


def test_it_holds_what_a_deployment_asks_for(tool: ModuleType) -> None:
    page = tool.page()
    for name, value in (
        ("Options.max_handshakes_each", Options().max_handshakes_each),
        ("Options.max_links", Options().max_links),
        ("Limits.open_runs", Limits().open_runs),
        ("Limits.run_keys", Limits().run_keys),
        ("gateway/followers.MAX_FOLLOWED", 16_384),
    ):
        assert re.search(rf"^\| `{re.escape(name)}` \| {value:,} \| \w+ \| .+ \|$", page, re.M), (
            name
        )
    assert "| `Limits.ask_within` | 20 | seconds |" in page


def test_every_bound_has_a_test_that_reaches_it(tool: ModuleType) -> None:
    limits = [limit for room in tool.ROOMS for limit in tool.limits_of(room)]
    reached = set(tool.reached())
    bounds = {limit.name for limit in limits if limit.is_bound}
    assert len(bounds) > 100
    assert sorted(bounds - reached) == [], "write the test, and mark it `limit` with the name"
    assert sorted(reached - {limit.name for limit in limits}) == [], "there is no such limit"


def test_marks_are_found_on_tests_and_nowhere_else(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import pytest\n"
        '@pytest.mark.limit("a.ONE", "a.TWO")\nasync def test_x(): ...\n'
        '@pytest.mark.slow\n@pytest.mark.limit("a.ONE")\ndef test_y(): ...\n'
        "text = 'pytest.mark.limit(\"a.THREE\")'\n"
    )
    assert tool.reached(tmp_path) == {
        "a.ONE": ["test_a.py::test_x", "test_a.py::test_y"],
        "a.TWO": ["test_a.py::test_x"],
    }


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (1 << 20, "bytes", "1 Mi"),
        (1536, "bytes", "1,536"),
        (3 << 10, "bytes", "3 Ki"),
        (8192, "links", "8,192"),
        (0.05, "seconds", "0.05"),
    ],
)
def test_numbers_as_people_read_them(
    value: float, unit: str, expected: str, tool: ModuleType
) -> None:
    assert tool.shown(value, unit) == expected


@pytest.mark.parametrize(
    ("value", "text", "is_one"),
    [
        (5, "Seconds that it takes.", True),
        (5, "Of gRPC.", False),
        (True, "Seconds that it takes.", False),
        ("x", "Bytes of it.", False),
    ],
)
def test_what_is_a_limit(value: object, text: str, is_one: bool, tool: ModuleType) -> None:
    assert tool.is_limit(value, text) is is_one
