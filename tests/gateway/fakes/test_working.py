"""What a fake that works does with its runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_worker_takes_no_start(fakes: Callable[..., Any], tmp_path: Path) -> None:
    daemon = fakes("agency-daemon", "--socket", str(tmp_path / "d" / "s"))
    daemon.tell(op="start", id="1", run="a", input={"prompt": "x"})
    assert daemon.until(id="1")["error"]["code"] == "invalid_argument"
    daemon.tell(op="runs", id="2")
    assert daemon.until(id="2")["runs"] == []


SCRIPT = """
[[when]]
match = "^slow"
do = [{ text = "ready" }, { read_input = true }, { drop = true }, { hang = true }]

[usage]
daily_limit = "12 %"
"""


def test_a_script_is_played_and_goes_on_with_what_is_emitted(
    fakes: Callable[..., Any], tmp_path: Path
) -> None:
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    words = ("--socket", str(tmp_path / "d" / "s"))
    daemon = fakes("agency-daemon", *words, "--script", str(script))
    daemon.until(event="ready")
    client = fakes("agency-client", *words)
    client.tell(op="start", id="1", run="a", input={"prompt": "slow one"}, interactive=True)
    client.tell(op="follow", id="2", run="a")
    client.until(type="TextProduced", text="ready")
    client.tell(op="send", id="3", run="a", text="go")
    client.until(event="link", state="down")
    client.until(event="link", state="up")
    daemon.tell(op="emit", id="1", run="none", steps=[{"text": "more"}])
    assert daemon.until(id="1")["error"] == {
        "code": "not_found",
        "message": "no scripted run none is open here; open: client/a",
    }
    daemon.tell(op="emit", id="2", run="a", steps=[{"text": "more"}, {"finish": {"exit": 3}}])
    assert daemon.until(id="2")["ok"]
    client.until(type="TextProduced", text="more")
    client.tell(op="wait", id="4", run="a")
    assert client.until(id="4")["state"] == "failed"


def test_a_script_that_cannot_be_read_is_exit_code_2(
    fakes: Callable[..., Any], tmp_path: Path
) -> None:
    script = tmp_path / "script.toml"
    script.write_text('[[when]]\nmatch = "x"\ndo = [{ txet = "y" }]\n')
    fake = fakes("agency-daemon", "--socket", str(tmp_path / "s"), "--script", str(script))
    code, said = fake.end()
    assert code == 2
    assert "did you mean text?" in said
