"""Which fake to play."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.fakes.cli import FAKES, run


@pytest.mark.parametrize("name", FAKES)
def test_every_fake_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert f"gateway fake {name}" in capsys.readouterr().out


def test_the_fakes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert run([]) == 2
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed and words in listed for name, words in FAKES.items())


WHERE = ("--server", "http://127.0.0.1:1", "--workspace", "w", "--state", "s")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["agency-clinet"], "did you mean agency-client?"),
        (["agency-client"], "--socket"),
        (["agency-client", "--socket", "x", "--set", "nothing=1"], "no setting"),
        (["rvbox-client", "--client-id", "h"], "required"),
        (["rvbox-server", "--listen", "ws://127.0.0.1:0/agent", "--token", "x"], "TOKEN=ID"),
        (["kodelet-runner", "--server", "ftp://h", "--workspace", "w", "--state", "s"], "http"),
        (["kodelet-control-plane", "--listen", "h:x"], "--listen: "),
        (["kodelet-control-plane", "--listen", "h:1", "--token", "bad token!"], "A-Z, a-z, 0-9"),
        (["kodelet-control-plane", "--listen", "h:1", "--token", ""], "one or more of A-Z"),
        (
            ["kodelet-runner", *WHERE, "--token", "bad token!"],
            "--token: a token of kodelet is one or more of A-Z, a-z, 0-9, '-', '.', '_' and '~'",
        ),
    ],
)
def test_bad_arguments_are_exit_code_2(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(argv) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "bad token!" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rvbox-client", "--connect", "http://x"], "--connect: 'http://x' is no address: wanted"),
        (["rvbox-client", "--connect", "ws://h:0/a"], "port 0 is for listening"),
        (["agency-client", "--socket", "s" * 200], "choose a shorter one"),
        (["agency-client", "--socket", "a\nb"], "a control character"),
    ],
)
def test_where_nobody_can_be_is_said_before_anything_is_done(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    more = ["--client-id", "h", "--exec"] if words[0] == "rvbox-client" else []
    assert run([*words, *more, "--state", str(state)]) == 2
    assert said in capsys.readouterr().err
    assert not state.exists()
