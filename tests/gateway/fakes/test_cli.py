"""Which fake to play."""

from __future__ import annotations

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
    assert all(name in listed for name in FAKES)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["agency-clinet"], "did you mean agency-client?"),
        (["agency-client"], "--socket"),
        (["agency-client", "--socket", "x", "--set", "nothing=1"], "no setting"),
        (["rvbox-client", "--client-id", "h"], "required"),
    ],
)
def test_bad_arguments_are_exit_code_2(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(argv) == 2
    assert words in capsys.readouterr().err
