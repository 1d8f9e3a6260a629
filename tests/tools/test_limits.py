"""The page of limits is what the code says."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from fleetgate.core.limits import Limits
from fleetgate.transports.api import Options

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("limits_tool", ROOT / "tools" / "limits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["limits_tool"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


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
