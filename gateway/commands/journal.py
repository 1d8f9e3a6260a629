"""`gateway journal`: a journal's file, while no gateway has it open."""

from __future__ import annotations

import sqlite3
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import attrs

from fleetgate.core.journal.api import JournalError, JournalLocked
from fleetgate.core.journal.offline import (
    Damage,
    Seen,
    compact,
    count_runs,
    events_of,
    opened,
    runs_in,
    verify,
)
from fleetgate.core.journal.records import Damaged
from fleetgate.gateway.commands import exits
from fleetgate.gateway.commands.asking import UsageError, complain
from fleetgate.gateway.commands.output import say, write_json
from fleetgate.gateway.render import Line, event_line, run_line

SCHEMA: Final = 1
"""Of the lines that `export` writes. A new member keeps it, a changed one does not."""


def run(arguments: Namespace) -> int:
    """`gateway journal verify | export | compact`."""
    does = {"verify": _verify, "export": _export, "compact": _compact}[arguments.action]
    try:
        path = _path_of(arguments)
        with opened(path) as connection:
            return does(connection, path, arguments.json)
    except UsageError as error:
        complain(str(error))
        return exits.USAGE
    except JournalLocked as error:
        complain(f"{error} (`gateway journal` works on a journal that no gateway has open)")
        return exits.FAILED
    except JournalError as error:
        complain(str(error))
        return exits.FAILED


def _path_of(arguments: Namespace) -> Path:
    if bool(arguments.file) == bool(arguments.config):
        raise UsageError("say which journal: its FILE, or --config FILE of its gateway")
    if arguments.file:
        return Path(arguments.file.removeprefix("sqlite:"))
    # Imported here: whoever names the journal needs no TOML.
    from fleetgate.gateway.config import ConfigError, read_gateway

    try:
        path = read_gateway(arguments.config).journal_path
    except ConfigError as error:
        raise UsageError(str(error)) from None
    if path is None:
        raise UsageError(f"the journal of {arguments.config} is in memory; it has no file")
    return path


def _verify(connection: sqlite3.Connection, path: Path, json: bool) -> int:
    seen = Seen()
    found = verify(connection, seen)
    first = next(found, None)
    more = 0 if first is None else sum(1 for _ in found)
    if json:
        line: Line = {"ok": first is None, "runs": seen.runs, "events": seen.events}
        write_json({**line, "first": None if first is None else attrs.asdict(first), "more": more})
    else:
        counted = f"{seen.runs} runs, {seen.events} events"
        said = "whole" if first is None else f"damaged: {_place(first)}"
        say(f"{path}: {said}{f' (and {more} more)' if more else ''}; {counted} read")
    return exits.OK if first is None else exits.FAILED


def _place(damage: Damage) -> str:
    if damage.run is None:
        return damage.what
    event = "" if damage.seq is None else f", event {damage.seq}"
    return f"run {damage.run}{event}: {damage.what}"


def _export(connection: sqlite3.Connection, path: Path, json: bool) -> int:
    whole = 0
    for line, good in lines_of(connection):
        write_json(line)
        whole += good
    if missing := count_runs(connection) - whole:
        complain(f"{missing} runs of {path} are not there, or not whole; verify says which")
        return exits.FAILED
    return exits.OK


def lines_of(connection: sqlite3.Connection) -> Iterator[tuple[Line, bool]]:
    """The journal as JSON lines: what it is, then each run and, behind it, its events. No input,
    environment, order or note is in them. Beside each: whether it ends a run that is whole."""
    yield {"record": "journal", "schema": SCHEMA}, False
    for each in runs_in(connection):
        yield {"record": "run", **run_line(each)}, not each.last_seq
        with suppress(Damaged):  # the run is not whole then; those behind it may be
            for recorded in events_of(connection, each.id):
                yield {"record": "event", **event_line(recorded)}, recorded.seq == each.last_seq


def _compact(connection: sqlite3.Connection, path: Path, json: bool) -> int:
    before = _size_of(path)
    compact(connection)
    after = _size_of(path)
    if json:
        write_json({"before": before, "after": after})
    else:
        say(f"{path}: {before} bytes before, {after} now")
    return exits.OK


def _size_of(path: Path) -> int:
    """Bytes of the file, and of the log beside it."""
    log = Path(f"{path.resolve()}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)
