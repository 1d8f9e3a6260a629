"""`gateway check`: what it prints, and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetgate.gateway.cli import main
from fleetgate.gateway.promise import promise

GOOD = """\
[gateway]
journal = "sqlite:j.db"
[[south]]
name = "hosts"
protocol = "rvbox"
listen = "ws://127.0.0.1:8443"
[[north]]
name = "gui"
protocol = "agency"
listen = "unix:run/gui.sock"
[[route]]
from = "gui"
when = { input = "prompt" }
to = "hosts"
adapt.prompt = { argv = ["claude", "-p", "{prompt}"] }
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gw.toml"


def test_a_good_file_is_said_in_words(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_text(GOOD)
    assert main(["check", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "1. a run from gui whose input is prompt goes to hosts",
        "     prompt: the command claude -p {prompt}",
    ]
    promised = promise("rvbox", durable=True)
    assert f"     link lost, gateway restarted: {promised.link_lost}" in lines
    assert lines[-1] == f"{path}: can be served"
    assert list(path.parent.iterdir()) == [path]  # nothing was bound or made


def test_json(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_text(GOOD + '[[route]]\nfrom = "gui"\nto = "hosts"\n')
    assert main(["check", str(path), "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["ok"], line["problems"], line["warnings"]) == (True, [], [])
    first, second = line["routes"]
    assert (first["from"], first["to"], first["when"]) == ("gui", "hosts", {"input": ["prompt"]})
    assert first["inputs"] == {"prompt": "the command claude -p {prompt}"}
    assert first["promise"]["link_lost"] == promise("rvbox", durable=True).link_lost
    assert second["inputs"]["tool"] == "refused (no adapt)"


def test_a_file_that_cannot_be_read(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_text(GOOD.replace("listen =", "listn =", 1).replace('"hosts"\na', '"host"\na'))
    assert main(["check", str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{path}:3: south.hosts: needs exactly one of connect and listen",
        f"{path}:6: south.hosts.listn: unknown key; did you mean listen?",
        f"{path}:14: route[1].to: no [[south]] or [[local]] entry is named host; "
        "did you mean hosts?",
        f"{path}: cannot be served: 3 errors",
    ]
    assert main(["check", str(path), "--json"]) == 1
    line = json.loads(capsys.readouterr().out)
    assert line["ok"] is False
    assert line["problems"][1] == {
        "file": str(path),
        "line": 6,
        "key": "south.hosts.listn",
        "message": "unknown key; did you mean listen?",
    }


def test_problems_and_warnings_of_what_it_names(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_text(GOOD.replace("sqlite:j.db", "sqlite:none/j.db").replace("127.0.0.1", "0.0.0.0"))
    assert main(["check", str(path)]) == 1
    out = capsys.readouterr().out
    assert f"\n{path}:2: gateway.journal: the directory {path.parent}/none is not" in out
    assert f"{path}:6: south.hosts.listen: whoever reaches this address could come in" in out
    assert f"warning: {path}:3: south.hosts: nothing is encrypted on the way" in out
    assert out.endswith(f"\n{path}: cannot be served: 2 errors, 1 warning\n")


def test_what_is_wrong_stands_below_all_else(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spare = '[[south]]\nname = "spare"\nprotocol = "rvbox"\nlisten = "ws://127.0.0.1:8444"\n'
    path.write_text(GOOD.replace("j.db", "none/j.db") + spare)
    assert main(["check", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"warning: {path}:16: south.spare")
    assert lines[-2].startswith(f"{path}:2: gateway.journal: ")
    assert lines[-1] == f"{path}: cannot be served: 1 error, 1 warning"
