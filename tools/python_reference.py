"""Write the public names into docs/reference/python.md: what `__all__` has, and the plugin's
fixtures.

`python tools/python_reference.py` writes it anew, `--check` says whether it is current. The words
are those of the docstrings, so that there is one place to change them.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "python.md"
MODULES = ("fleetgate.gateway.fakes", "fleetgate.gateway.fakes.threads")
PLUGIN = "fleetgate.gateway.fakes.pytest_plugin"
INSIDE = ("ask", "heading", "lines", "title", "write")
"""Members for the modules beside, and not for people."""


def main(argv: Sequence[str]) -> int:
    """Write the lists, or with `--check` compare them."""
    old = PAGE.read_text()
    new = rendered(old)
    if "--check" not in argv:
        PAGE.write_text(new)
        return 0
    if new != old:
        sys.stderr.write(f"{PAGE} is not current; run: python tools/python_reference.py\n")
        return 1
    return 0


def rendered(page: str) -> str:
    """The page with every list as the code is now."""
    for name in (*MODULES, PLUGIN):
        begin, end = f"<!-- {name} -->\n", "<!-- end -->\n"
        found = re.compile(re.escape(begin) + r".*?" + re.escape(end), re.DOTALL)
        if not found.search(page):
            raise SystemExit(f"{PAGE} has no place for {name}: {begin}{end}")
        text = begin + "".join(fixtures() if name == PLUGIN else names(name)) + end
        page = found.sub(lambda _, text=text: text, page)
    return page


def names(module: str) -> Iterator[str]:
    """A row for each public name, and one for each public member of a class."""
    yield "| name | |\n|---|---|\n"
    public = importlib.import_module(module)
    for name in sorted(public.__all__):
        value = getattr(public, name)
        yield f"| **`{name}`**{_options(value)} | {words_of(value)} |\n"
        if inspect.isclass(value):
            for member in members(value):
                yield _member(member, inspect.getattr_static(value, member))


def members(kind: type) -> list[str]:
    """The public members that a class itself has."""
    return [name for name in vars(kind) if not name.startswith("_") and name not in INSIDE]


def fixtures() -> Iterator[str]:
    """A row for each fixture."""
    yield "| fixture | |\n|---|---|\n"
    plugin = importlib.import_module(PLUGIN)
    for name in vars(plugin):
        if name.startswith("fleetgate_"):
            made = getattr(plugin, name)._get_wrapped_function()
            yield f"| `{name}` | {words_of(made)} |\n"


def words_of(value: Any) -> str:
    """The first sentences of a docstring: its first paragraph."""
    text = inspect.getdoc(value) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|").removesuffix(": ...")


def _member(name: str, value: Any) -> str:
    if isinstance(value, property):
        return f"| `.{name}` | {words_of(value)} |\n"
    if not callable(value):
        return ""
    return f"| `.{name}({_parameters(value)})` | {words_of(value)} |\n"


def _options(value: Any) -> str:
    own = vars(value).get("__init__") if inspect.isclass(value) else None
    if own is None or issubclass(value, Exception) or not _is_ours(value):
        return ""
    return f"<br>`({_parameters(own)})`"


def _is_ours(value: type) -> bool:
    """Whether people make one: the eight, and no base of theirs."""
    parameters = inspect.signature(value).parameters.values()
    return any(each.kind is each.KEYWORD_ONLY for each in parameters)


def _parameters(function: Any) -> str:
    written: list[str] = []
    star = False
    for name, each in inspect.signature(function).parameters.items():
        if name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and not star:
            star = True
            written.append("*")
        prefix = "**" if each.kind is each.VAR_KEYWORD else ""
        default = "" if each.default is each.empty else f"={each.default!r}"
        star = star or each.kind is each.VAR_POSITIONAL
        prefix = "*" if each.kind is each.VAR_POSITIONAL else prefix
        written.append(f"{prefix}{name}{default}")
    return ", ".join(written)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
