"""Write what is made of the code, or of another page, into its place.

docs/reference/config.md: the tables of the protocols' own settings, in the words of their classes.
docs/reference/fakes.md: what events of runs say, with what operations are answered, and
with what codes they are refused.
docs/guarantees.md: the tables of what is promised, in the sentences that `gateway check` prints.
gateway/fidelity/measured.json: the table of docs/fidelity.md, for the installed program.

`python tools/reference.py` writes them anew, `--check` says whether they are current.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from fleetgate.core.errors import Refusal
from fleetgate.core.events import Event
from fleetgate.core.worker import AccountReport
from fleetgate.gateway.config_entries import Facing, side_of
from fleetgate.gateway.fidelity import kept
from fleetgate.gateway.fidelity.report import read_markdown
from fleetgate.gateway.local.cli_profile import CliProfile
from fleetgate.gateway.local.model_settings import OllamaSettings, VllmSettings
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.gateway.promise import FORGOTTEN, PROMISES, SHOWINGS
from fleetgate.gateway.registry import builtin
from fleetgate.gateway.render import run_line, worker_line

ROOT = Path(__file__).parents[1]
FACINGS: tuple[Facing, ...] = ("south", "north")


def main(argv: Sequence[str]) -> int:
    """Write all of it, or with `--check` compare."""
    stale = 0
    for name, make in MADE.items():
        old = (ROOT / name).read_text()
        new = make(old)
        if "--check" not in argv:
            (ROOT / name).write_text(new)
        elif new != old:
            stale = 1
            sys.stderr.write(f"{name} is not current; run: python tools/reference.py\n")
    return stale


def rendered(page: str, made: Iterable[tuple[str, str]]) -> str:
    """The page with each table between its two marks."""
    for name, table in made:
        begin, end = f"<!-- {name} -->\n", "<!-- end -->\n"
        found = re.compile(re.escape(begin) + r".*?" + re.escape(end), re.DOTALL)
        if not found.search(page):
            raise SystemExit(f"the page has no place for {name}: {begin}{end}")
        page = found.sub(lambda _, text=begin + table + end: text, page)
    return page


def settings_tables() -> Iterator[tuple[str, str]]:
    """Each table of settings: its name, and its text."""
    for name, settings in tables():
        yield name, make_table(settings)


def promise_tables() -> Iterator[tuple[str, str]]:
    """Each table of promises: its name, and its text."""
    fails = ("link_lost", "gateway_restarted")
    yield "workers fail", _promises("worker", PROMISES, (*fails, "worker_restarted"))
    yield "workers forget", _rows(["worker", "gateway restarted"], sorted(FORGOTTEN.items()))
    yield "controllers fail", _promises("controller", SHOWINGS, fails)
    yield "workers deliver", _promises("worker", PROMISES, ("start", "input", "events", "replay"))
    yield "controllers deliver", _promises("controller", SHOWINGS, ("delivery", "order", "replay"))


def _promises(what: str, promises: Mapping[str, Any], members: Sequence[str]) -> str:
    rows = ([name, *(getattr(promises[name], m) for m in members)] for name in sorted(promises))
    return _rows([what, *(member.replace("_", " ") for member in members)], rows)


def fakes_tables() -> Iterator[tuple[str, str]]:
    """What stands on the lines of fakes: each table's name, and its text."""
    heads = ["`type`", "members", ""]
    yield "events of runs", _rows(heads, map(_event_row, typing.get_args(Event)))
    account = _spans(attrs.fields_dict(AccountReport))
    answers = [
        ["`start`", "`run`"],
        ["`status`, `wait`", _spans(keys_of(run_line))],
        ["`runs`", "`runs`: of each what `status` is answered with"],
        ["`workers`", f"`workers`: of each {_spans(keys_of(worker_line))}"],
        ["`usage`", f"`accounts`: of each {account}"],
    ]
    yield "answers", _rows(["operation", "answered with"], answers)
    yield "codes", _rows(["`code`", ""], map(_code_row, Refusal.__subclasses__()))


def _code_row(kind: type[Refusal]) -> list[str]:
    return [
        f"`{kind.code}`",
        " ".join(inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].split()),
    ]


def _event_row(kind: type[Any]) -> list[str]:
    types = typing.get_type_hints(kind)
    members = list[str]()
    for name in attrs.fields_dict(kind):
        members += [f"{name}_base64", "text"] if types[name] is bytes else [name]
    said = " ".join((kind.__doc__ or "").partition("\n\n")[0].split())
    return [f"`{kind.__name__}`", _spans(members), said.replace("|", "\\|")]


def keys_of(function: Callable[..., Any]) -> list[str]:
    """The keys of the object that a function returns as it is written."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    (made,) = (node.value for node in ast.walk(tree) if isinstance(node, ast.Return))
    assert isinstance(made, ast.Dict)
    return [key.value for key in made.keys if isinstance(key, ast.Constant)]


def _spans(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _rows(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def measured(_: str) -> str:
    """The table of docs/fidelity.md, as data."""
    return kept.to_data(read_markdown((ROOT / "docs" / "fidelity.md").read_text()))


MADE: Mapping[str, Callable[[str], str]] = {
    "docs/reference/config.md": lambda page: rendered(page, settings_tables()),
    "docs/reference/fakes.md": lambda page: rendered(page, fakes_tables()),
    "docs/guarantees.md": lambda page: rendered(page, promise_tables()),
    f"gateway/fidelity/{kept.FILE}": measured,
}
"""What each file is, given what it was."""


def tables() -> Iterator[tuple[str, type[Any]]]:
    """What stands on the page of settings: each table's name, and the class that it shows."""
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
