"""`gateway journal`: verify, export and compact, in text and JSON, with their exit codes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import attrs
import pytest
import trio

from fleetgate.core.commands import Prompt
from fleetgate.core.events import Recorded, RunAssigned, RunState
from fleetgate.core.ids import Epoch, Seq, WorkerId
from fleetgate.core.journal.api import Append, PutNote, PutOrder, PutRun
from fleetgate.core.journal.lock import locked
from fleetgate.core.journal.samples import make_events, make_order, make_run
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.gateway.cli import main


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "j.db"
    trio.run(fill, path)
    return path


async def fill(path: Path, name: str = "a") -> None:
    async with open_sqlite_journal(path) as journal:
        run = make_run(name)
        spec = attrs.evolve(run.spec, input=Prompt("hunter2"), environment={"KEY": "hunter2"})
        run = attrs.evolve(run, spec=spec, notes={"n": "hunter2"})
        await journal.commit([PutRun(run), PutOrder(make_order(run.id, 1))])
        at_work = attrs.evolve(
            run, state=RunState.RUNNING, last_seq=Seq(3), worker=WorkerId("h/w"), epoch=Epoch(1)
        )
        first = Recorded(run.id, Seq(1), 1_000, RunAssigned(WorkerId("h/w"), Epoch(1)))
        events = (first, *make_events(run.id, 2, 2))
        await journal.commit([Append(run.id, events, 3, at_work)])
        await journal.commit([PutNote("remembered", "gui", b"hunter2")])


Captured = pytest.CaptureFixture[str]


def test_a_whole_journal(path: Path, capsys: Captured) -> None:
    assert main(["journal", "verify", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: whole; 1 runs, 3 events read\n"
    assert main(["journal", "verify", f"sqlite:{path}", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"ok": True, "runs": 1, "events": 3, "first": None, "more": 0}


def test_a_damaged_one(path: Path, capsys: Captured) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM events WHERE place & 3 = 2")
        connection.execute("INSERT INTO keys VALUES (9, 'k', 1)")
    assert main(["journal", "verify", str(path)]) == 1
    said = capsys.readouterr().out
    assert "damaged: run gui/a, event 2: event 2 is missing; 3 comes next (and 1 more)" in said
    assert main(["journal", "verify", str(path), "--json"]) == 1
    first = json.loads(capsys.readouterr().out)["first"]
    assert (first["run"], first["seq"]) == ("gui/a", 2)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE records SET record = x'ff'")
    assert main(["journal", "export", str(path)]) == 1
    assert f"1 runs of {path} are not there" in capsys.readouterr().err


def test_an_export_has_runs_and_events_and_nothing_that_was_given(
    path: Path, capsys: Captured
) -> None:
    assert main(["journal", "export", str(path)]) == 0
    out = capsys.readouterr().out
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["record"] for line in lines] == ["journal", "run", "event", "event", "event"]
    assert lines[0]["schema"] == 1
    assert (lines[1]["run"], lines[1]["last_seq"]) == ("gui/a", 3)
    assert [(line["run"], line["seq"]) for line in lines[2:]] == [("gui/a", n) for n in (1, 2, 3)]
    assert lines[3]["type"] == "TextProduced"
    assert "hunter2" not in out


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM events WHERE place & 3 = 3",
        "DELETE FROM events",
        "DELETE FROM specs",
        "UPDATE runs SET last_seq = 4",
    ],
)
def test_an_export_says_that_it_is_not_whole(path: Path, capsys: Captured, damage: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(damage)
    assert main(["journal", "export", str(path)]) == 1
    said = capsys.readouterr()
    assert f"1 runs of {path} are not there, or not whole; verify says which" in said.err
    assert json.loads(said.out.splitlines()[0])["record"] == "journal"
    assert main(["journal", "verify", str(path)]) == 1


def test_an_export_gives_no_event_the_number_of_another(path: Path, capsys: Captured) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM events WHERE place & 3 = 2")
    assert main(["journal", "export", str(path)]) == 1
    said = capsys.readouterr()
    assert f"1 runs of {path} are not there, or not whole; verify says which" in said.err
    assert all(json.loads(line)["record"] != "event" for line in said.out.splitlines())


@pytest.mark.parametrize("table", ["specs", "events"])
def test_an_export_has_what_can_be_read_beside_a_damaged_run(
    path: Path, capsys: Captured, table: str
) -> None:
    trio.run(fill, path, "z")
    row = "SELECT min(run) FROM runs" if table == "specs" else "SELECT min(run) << 32 | 2 FROM runs"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        key = "run" if table == "specs" else "place"
        connection.execute(f"UPDATE {table} SET record = x'ffff' WHERE {key} = ({row})")
    assert main(["journal", "export", str(path)]) == 1
    said = capsys.readouterr()
    assert f"1 runs of {path} are not there, or not whole; verify says which" in said.err
    lines = [json.loads(line) for line in said.out.splitlines()]
    events = [(line["run"], line["seq"]) for line in lines if line["record"] == "event"]
    assert events == [("gui/z", n) for n in (1, 2, 3)]


def test_by_a_symbolic_link(path: Path, capsys: Captured) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    with locked(path):
        assert main(["journal", "verify", str(link)]) == 1
    assert "in use by process" in capsys.readouterr().err
    assert main(["journal", "verify", str(link)]) == 0
    assert main(["journal", "compact", str(link), "--json"]) == 0


def test_compacting(path: Path, capsys: Captured) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE large AS SELECT zeroblob(1000000)")
        connection.execute("DROP TABLE large")
    assert main(["journal", "compact", str(path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["before"] > 1_000_000 > said["after"] == path.stat().st_size
    assert main(["journal", "compact", str(path)]) == 0
    assert "bytes before" in capsys.readouterr().out


def test_one_that_is_in_use_is_left_alone(path: Path, capsys: Captured) -> None:
    with locked(path):
        assert main(["journal", "compact", str(path)]) == 1
    said = capsys.readouterr().err
    assert "in use by process" in said
    assert "that no gateway has open" in said


def test_which_journal(path: Path, capsys: Captured) -> None:
    config = path.with_name("gw.toml")
    config.write_text('[gateway]\njournal = "sqlite:j.db"\n')
    assert main(["journal", "verify", "--config", str(config)]) == 0
    config.write_text('[gateway]\njournal = "memory:"\n')
    assert main(["journal", "verify", "--config", str(config)]) == 2
    assert "in memory" in capsys.readouterr().err
    assert main(["journal", "verify"]) == 2
    assert main(["journal", "verify", str(path), "--config", str(config)]) == 2
    assert main(["journal", "verify", f"{path}.not"]) == 1
    assert "there is no journal at" in capsys.readouterr().err
    assert main(["journal", "verify", "--config", f"{path}.not"]) == 2
