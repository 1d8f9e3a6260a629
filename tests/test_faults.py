"""Each fault of docs/reference/faults.md has a test that carries its number."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference" / "faults.md").read_text()
TOLD = [int(number) for number in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)]


def tried() -> dict[int, set[str]]:
    """The tests that carry each number and look for something."""
    found: dict[int, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for number in re.findall(r"^test_(?:\w*_)?fault_(\d+)_", node.name):
                    found[int(number)].add(f"{path.relative_to(ROOT)}::{node.name}")
    return found


def test_the_page_tells_all_thirty() -> None:
    assert list(range(1, 31)) == TOLD


def test_every_fault_is_made_by_a_test_of_its_number() -> None:
    by_number = tried()
    assert [number for number in TOLD if not by_number.get(number)] == []
    assert set(by_number) <= set(TOLD), "a number that the page does not tell"
