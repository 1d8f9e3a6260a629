"""Write into the pages what is said elsewhere: files of examples/, and what commands take.

`python tools/pages.py` writes it anew, `--check` says which pages are not current.

Between `<!-- file PATH -->` and `<!-- end -->` stands that file, between `<!-- commands -->` and
`<!-- end -->` every command with its arguments and options, as `--help` has them. The schema of
scripts, docs/reference/script.schema.json, is written, too.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Final
from unittest.mock import patch

from fleetgate.gateway.cli import main as gateway
from fleetgate.gateway.cli import make_parser
from fleetgate.gateway.fakes.cli import FAKES
from fleetgate.gateway.local.script_schema import schema
from fleetgate.gateway.tck.kits import kits_of, protocols

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "docs" / "reference" / "script.schema.json"
FILE: Final = re.compile(r"<!-- file (\S+) -->\n.*?<!-- end -->\n", re.DOTALL)
COMMANDS: Final = re.compile(r"<!-- commands -->\n.*?<!-- end -->\n", re.DOTALL)
LANGUAGES: Final = {".go": "go", ".rs": "rust", ".mjs": "js", ".json": "json", ".sh": "sh"}
"""What a page calls them. TOML is not among them: on a page that is a gateway's configuration."""


def main(argv: Sequence[str]) -> int:
    """Write the pages, or with `--check` compare them."""
    stale = []
    pages = {path: rendered(path.read_text()) for path in sorted((ROOT / "docs").rglob("*.md"))}
    for path, new in (pages | {SCHEMA: script_schema()}).items():
        old = path.read_text() if path.exists() else ""
        if new != old and "--check" in argv:
            stale.append(str(path.relative_to(ROOT)))
        elif new != old:
            path.write_text(new)
    if stale:
        sys.stderr.write(f"{', '.join(stale)}: not current; run: python tools/pages.py\n")
    return 1 if stale else 0


def script_schema() -> str:
    """The schema of scripts, as its file has it."""
    return json.dumps(schema(), indent=2) + "\n"


def rendered(page: str) -> str:
    """The page as it should be."""
    page = FILE.sub(lambda found: _file(found[1]), page)
    return COMMANDS.sub(lambda _: f"<!-- commands -->\n{commands()}<!-- end -->\n", page)


def _file(name: str) -> str:
    text = (ROOT / name).read_text()
    language = LANGUAGES.get(Path(name).suffix, "text")
    return f"<!-- file {name} -->\n```{language}\n{text}```\n<!-- end -->\n"


# --- commands


def commands() -> str:
    """A section for each command."""
    return "\n".join(section(parser_of(words)) for words in lines())


def lines() -> Iterator[list[str]]:
    """Every command line that has a `--help` of its own."""
    for name in sorted(_choices(make_parser())):
        if name == "fake":
            yield from (["fake", fake] for fake in FAKES)
        elif name == "tck":
            yield from (["tck", each, side] for each in protocols() for side in kits_of(each))
        else:
            yield [name]


def parser_of(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser that answers `--help` there."""
    known = _choices(make_parser())[words[0]]
    if known.add_help:
        return known  # others have a command line of their own
    asked: list[argparse.ArgumentParser] = []
    with (
        redirect_stdout(StringIO()),
        patch.object(
            argparse.ArgumentParser, "print_help", lambda parser, _=None: asked.append(parser)
        ),
    ):
        gateway([*words, "--help"])
    (parser,) = asked
    return parser


def _choices(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (action,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def section(parser: argparse.ArgumentParser) -> str:
    """A command: what it does, and a row for each argument and option."""
    shown = [a for a in parser._actions if not isinstance(a, argparse._HelpAction)]
    positional = [a for a in shown if not a.option_strings]
    needed = [a for a in shown if a.option_strings and a.required]
    words = [parser.prog, *(f"{a.option_strings[0]} {_metavar(a)}" for a in needed)]
    words += ["[OPTION…]"] if any(a.option_strings for a in shown) else []
    words += [f"[{_metavar(a)}]" if a.nargs in ("?", "*") else _metavar(a) for a in positional]
    rows = [f"| {_name(a)} | {_words(parser, a)} |\n" for a in [*positional, *needed]]
    rows += [
        f"| {_name(a)} | {_words(parser, a)} |\n" for a in shown if a not in positional + needed
    ]
    table = "| | |\n|---|---|\n" + "".join(rows) if rows else ""
    said = " ".join((parser.description or "").split())
    return f"## `{parser.prog}`\n\n```text\n{' '.join(words)}\n```\n\n{_plain(said)}\n\n{table}"


def _metavar(action: argparse.Action) -> str:
    if action.metavar is not None:
        return str(action.metavar)
    return "|".join(map(str, action.choices)) if action.choices else action.dest.upper()


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_metavar(action)}`".replace("|", "\\|")
    value = "" if action.nargs == 0 else f" {_metavar(action)}"
    return ", ".join(f"`{name}{value}`" for name in action.option_strings).replace("|", "\\|")


def _words(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    text = action.help or ""
    named = {"default": action.default, "prog": parser.prog}
    said = _plain(" ".join((text % named if "%" in text else text).split()))
    given = action.default not in (None, "", False, argparse.SUPPRESS, [], ()) and action.nargs != 0
    if given and "default" not in said and action.option_strings:
        said += f" (default: {action.default})" if said else f"default: {action.default}"
    return said


def _plain(text: str) -> str:
    return re.sub(r"([|<>*])", r"\\\1", text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
