"""Write the tables of the protocols' own settings into docs/reference/config.md.

`python tools/reference.py` writes them anew, `--check` says whether they are current. The
words are those of the settings classes, so that there is one place to change them.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from fleetgate.gateway.config_entries import Facing, side_of
from fleetgate.gateway.local.cli_profile import CliProfile
from fleetgate.gateway.local.model_settings import OllamaSettings, VllmSettings
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.gateway.registry import builtin

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "config.md"
FACINGS: tuple[Facing, ...] = ("south", "north")


def main(argv: Sequence[str]) -> int:
    """Write the tables, or with `--check` compare them."""
    old = PAGE.read_text()
    new = rendered(old)
    if "--check" not in argv:
        PAGE.write_text(new)
        return 0
    if new != old:
        sys.stderr.write(f"{PAGE} is not current; run: python tools/reference.py\n")
        return 1
    return 0


def rendered(page: str) -> str:
    """The page with every table as the settings are now."""
    for name, settings in tables():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->\n"
        table = make_table(settings)
        found = re.compile(re.escape(begin) + r".*?" + re.escape(end), re.DOTALL)
        if not found.search(page):
            raise SystemExit(f"{PAGE} has no place for {name}: {begin}{end}")
        page = found.sub(lambda _, text=begin + table + end: text, page)
    return page


def tables() -> Iterator[tuple[str, type[Any]]]:
    """What stands on the page: each table's name, and the class that it shows."""
    for adapter in builtin():
        for facing in FACINGS:
            yield f"{adapter.name} {facing}", side_of(adapter, facing).settings
    yield "local", LocalPool
    yield "local.cli", CliProfile
    yield "local.ollama", OllamaSettings
    yield "local.vllm", VllmSettings


def make_table(settings: type[Any]) -> str:
    """One row for each setting: key, default, what its class says of it."""
    words = words_of(settings)
    needed = [each.name for each in attrs.fields(settings) if each.default is attrs.NOTHING]
    with attrs.validators.disabled():
        made = settings(**dict.fromkeys(needed, ""))
    rows = ["| key | default | |\n|---|---|---|\n"]
    for name in attrs.fields_dict(settings):
        default = "needed" if name in needed else as_toml(getattr(made, name))
        rows.append(f"| `{name}` | {default} | {words.get(name, '')} |\n")
    return "".join(rows)


def words_of(settings: type[Any]) -> dict[str, str]:
    """The strings under the members of a class, and of those that it stands on."""
    words: dict[str, str] = {}
    for kind in reversed(settings.__mro__):
        if attrs.has(kind):
            words |= _own_words(kind)
    return words


def _own_words(settings: type[Any]) -> dict[str, str]:
    body = ast.parse(inspect.getsource(settings)).body[0]
    assert isinstance(body, ast.ClassDef)
    words: dict[str, str] = {}
    name = ""
    for node in body.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)):
                continue
            case ast.Expr(value=ast.Constant(value=str(text))) if name:
                words[name] = " ".join(text.split())
            case _:
                continue
    return words


def as_toml(value: object) -> str:
    """A default as one would write it."""
    match value:
        case bool():
            return f"`{str(value).lower()}`"
        case str():
            return f'`"{value}"`'
        case tuple():
            items = cast(tuple[object, ...], value)
            return "`[" + ", ".join(as_toml(item).strip("`") for item in items) + "]`"
        case float():
            return f"`{value:g}`"
        case None:
            return ""
        case Mapping():
            return "`{}`"
        case _ if attrs.has(type(value)) and not hasattr(value, "name"):
            return "`{}`"
        case _ if attrs.has(type(value)):
            return f'`{{ name = "{getattr(value, "name", "")}", … }}`'
        case _:
            return f"`{value}`"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
