"""Every conformance case has its test, and every test of a case has its case."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CASES: dict[str, dict[str, str]] = tomllib.loads((HERE / "cases.toml").read_text())
ALL = [(protocol, id) for protocol, cases in CASES.items() for id in cases]


def covered() -> set[str]:
    """The ids in the names of tests, anywhere: `test_case_ID_…`, or `test_case_ID_ID_…`."""
    found: set[str] = set()
    for path in HERE.parent.rglob("test_*.py"):
        for ids in re.findall(r"def test_case_((?:[a-g]?\d+_)+)", path.read_text()):
            found |= set(ids.rstrip("_").split("_"))
    return found


@pytest.mark.parametrize(("protocol", "id"), ALL, ids=[f"{name}-{id}" for name, id in ALL])
def test_a_case_has_its_test(protocol: str, id: str) -> None:
    assert id in covered(), f"{protocol} {id}: {CASES[protocol][id]}"


def test_a_test_of_a_case_has_its_case() -> None:
    assert covered() - {id for _, id in ALL} == set()


def test_no_case_has_left_the_list() -> None:
    assert {name: len(cases) for name, cases in CASES.items()} == {"kodelet": 33, "agency": 31}
