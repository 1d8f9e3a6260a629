"""Make docs/reference/limits.md from the code.

    python tools/limits.py            write it
    python tools/limits.py --check    compare with what is there; 1 where they differ

A limit is a number with a name and a text behind it that begins with what it counts: a `Final` of
a module, or a member of a class of limits. The text is taken over as it stands, so that reason
and outcome are said once, beside the number.
"""

import argparse
import ast
import importlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "limits.md"
ROOMS = ("core", "protocols", "transports", "gateway")
APART = ("bench", "demo", "fakes", "fidelity", "tck", "testing", "samples", "checks")
"""Parts that no gateway at work has."""

CLASSES = {"core/limits.py": "Limits", "transports/api.py": "Options"}
SPANS = ("seconds", "milliseconds")
"""Units of what is no bound: a test that waits for it proves nothing but the clock."""

NANOS = 1_000_000_000

HEAD = """# Limits

Every bound of a gateway at work that is no key of an entry: those are in [config](config.md), with
their defaults. This page is made from the code (`just limits`), and a test compares the two.
Members of `Limits` are set in `[gateway]` where it has a key of that name; the others are fixed.

What is in seconds or milliseconds is a span of time. Every other one is a bound, and a test that is
marked `limit` with its name reaches it; where one has none, `tests/tools/test_limits.py` fails.

A number's text says what it counts, why it is as it is and, where that is not plain, what happens
at it. Where it does not say: what came too much is refused or waits, and its link ends where it
cannot wait.
"""


TITLES = "| limit | default | unit | what it bounds, why, and what happens at it |"


@dataclass(frozen=True)
class Limit:
    name: str
    value: float
    text: str

    @property
    def unit(self) -> str:
        """The word that its text begins with."""
        return re.split(r"\W", self.text, maxsplit=1)[0].lower()

    @property
    def is_bound(self) -> bool:
        """Whether it counts things, and not time."""
        return self.unit not in SPANS

    @property
    def row(self) -> str:
        text = re.sub(r"\s+", " ", self.text).replace("|", "\\|").strip()
        return f"| `{self.name}` | {shown(self.value, self.unit)} | {self.unit} | {text} |"


def shown(value: float, unit: str) -> str:
    """As people read it."""
    if isinstance(value, int) and unit in ("bytes", "characters") and value % 1024 == 0:
        return f"{value >> 20} Mi" if value % (1 << 20) == 0 else f"{value >> 10} Ki"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """The names that are assigned with an annotation and a text behind it."""
    for each, after in pairwise(body):
        if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            yield each.target.id, str(after.value.value)


COUNTS = re.compile(r"(?!Flags|Numbers|Cells|Looks|Objects)[A-Z][a-z]+s ")


def is_limit(value: Any, text: str) -> bool:
    """Whether it is a number that counts something."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return number and COUNTS.match(text) is not None


def of_module(path: Path) -> Iterator[Limit]:
    """The limits that one file states."""
    place = path.relative_to(ROOT)
    body = ast.parse(path.read_text()).body
    wanted = CLASSES.get(place.as_posix())
    for each in body:
        if isinstance(each, ast.ClassDef) and each.name == wanted:
            yield from of_class(module_of(place), each)
    named = [(name, text) for name, text in documented(body) if name.isupper()]
    if not any(COUNTS.match(text) for _, text in named):
        return
    module = module_of(place)
    for name, text in named:
        if is_limit(value := getattr(module, name), text):
            yield Limit(f"{place.with_suffix('').as_posix()}.{name}", value, text)


def module_of(place: Path) -> Any:
    """The module of a file."""
    return importlib.import_module("fleetgate." + ".".join(place.with_suffix("").parts))


def of_class(module: Any, found: ast.ClassDef) -> Iterator[Limit]:
    """The members of a class of limits. Spans of time are nanoseconds in `Limits`."""
    fields = attrs.fields_dict(getattr(module, found.name))
    for name, text in documented(found.body):
        value = fields[name].default
        if isinstance(value, int) and value >= NANOS:
            value, text = value / NANOS, f"Seconds: {text[0].lower()}{text[1:]}"
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield Limit(f"{found.name}.{name}", value, text)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for room in ROOMS:
        parts.append("\n".join((f"## {room}", "", TITLES, "|---|---|---|---|", *rows_of(room), "")))
    return "\n".join(parts)


def rows_of(room: str) -> Iterator[str]:
    """Those of one room, by file."""
    for limit in limits_of(room):
        yield limit.row


def limits_of(room: str) -> Iterator[Limit]:
    """The limits of one room, by file."""
    for path in sorted((ROOT / room).rglob("*.py")):
        names = path.relative_to(ROOT).with_suffix("").parts
        if any(part in name.split("_") for name in names for part in APART):
            continue
        yield from of_module(path)


def reached(tests: Path = ROOT / "tests") -> dict[str, list[str]]:
    """The tests that are marked with a limit, by its name."""
    found: dict[str, list[str]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for name in _marked(node):
                    found.setdefault(name, []).append(f"{path.relative_to(tests)}::{node.name}")
    return found


def _marked(test: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.limit":
            yield from (ast.literal_eval(name) for name in mark.args)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make docs/reference/limits.md from the code.")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    made = page()
    if not parser.parse_args().check:
        PAGE.write_text(made)
        return 0
    if PAGE.read_text() == made:
        return 0
    sys.stdout.write("docs/reference/limits.md is not what the code says: run tools/limits.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
