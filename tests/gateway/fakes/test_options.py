"""Options that all fakes have."""

from __future__ import annotations

import argparse
import os
import stat
from pathlib import Path
from typing import Literal

import attrs
import pytest

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.options import (
    BadOption,
    Parser,
    add_common,
    add_tls,
    add_token,
    around_of,
    given,
    grants_of,
    journal_of,
    milliseconds,
    settings_of,
    tls_of,
)
from fleetgate.gateway.fakes.running import Around
from fleetgate.protocols import agency
from fleetgate.transports.api import TlsFiles


@attrs.frozen(slots=True)
class Settings:
    hello_timeout: float = 10.0
    limit: int = 5
    strict: bool = False
    names: tuple[str, ...] = ("a", "b")
    manner: Literal["one", "two"] = "one"


def test_settings_are_assigned_by_name() -> None:
    made = settings_of(
        Settings, ["hello_timeout=0.5", "limit=7", "strict=true", "names=x,y", "manner=two"]
    )
    assert made == Settings(0.5, 7, True, ("x", "y"), "two")
    assert settings_of(Settings, [], limit=9) == Settings(limit=9)


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("limit", "NAME=VALUE"),
        ("limt=1", "did you mean limit?"),
        ("limit=x", "a number"),
        ("limit=1.5", "a number"),
        ("strict=yes", "true or false"),
        ("manner=three", "one, two"),
        ("hello_timeout=nan", "a finite number"),
    ],
)
def test_a_bad_assignment_is_refused_in_words(assignment: str, words: str) -> None:
    with pytest.raises(BadOption, match=words):
        settings_of(Settings, [assignment])


def test_help_lists_the_names_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_common(parser, Settings)
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    out = " ".join(capsys.readouterr().out.split())
    for words in ("hello_timeout=10.0", "strict=false", "names=a,b"):
        assert words in out


def test_tls_files_are_our_own_and_the_authority() -> None:
    parser = argparse.ArgumentParser()
    add_tls(parser)
    assert tls_of(parser.parse_args([])) is None
    files = tls_of(parser.parse_args(["--tls-cert", "c", "--tls-key", "k", "--tls-ca", "a"]))
    assert files == TlsFiles("c", "k", "a")


def test_without_a_state_directory_the_journal_is_in_memory(tmp_path: Path) -> None:
    assert journal_of(None) == "memory:"
    state = tmp_path / "state"
    assert journal_of(str(state)) == f"sqlite:{state}/journal.db"
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o700
    (tmp_path / "file").touch()
    journal_of(str(tmp_path / "file" / "s"))  # the journal's opening will say what is wrong


def test_a_table_cannot_be_written_on_a_command_line() -> None:
    @attrs.frozen
    class Tables:
        limit: int = 1
        rows: tuple[Settings, ...] = ()

    parser = argparse.ArgumentParser()
    add_common(parser, Tables)
    assert "rows" not in parser.format_help()
    with pytest.raises(BadOption, match="no setting has this name"):
        settings_of(Tables, ["rows=x"])


def test_what_was_not_given_is_left_to_the_default() -> None:
    assert settings_of(Settings, [], **given(limit=None, strict=True)) == Settings(strict=True)


def test_a_token_grants_one_identity() -> None:
    (grant,) = grants_of("--token", ["a=b=id"])
    assert (grant.token.read(), grant.id) == ("a=b", "id")
    assert "a=b" not in repr(grant)
    for word in ("hush", "=hush", "hush="):
        with pytest.raises(BadOption, match="TOKEN=ID") as refused:
            grants_of("--token", [word])
        assert "hush" not in str(refused.value)
    with pytest.raises(BadOption, match="given to a and to b") as refused:
        grants_of("--token", ["hush=a", "hush=b"])
    assert "hush" not in str(refused.value)


def test_an_unknown_option_is_told_the_nearest_and_its_value_is_not_repeated() -> None:
    parser = Parser()
    parser.add_argument("--script")
    for words in (["--scirpt", "hush"], ["--scirpt=hush"]):
        with pytest.raises(BadOption, match=r"^--scirpt: .*; did you mean --script\?$"):
            parser.parse_args(words)
    with pytest.raises(BadOption, match=r"a word that belongs to none$"):
        parser.parse_args(["hush"])


@pytest.mark.parametrize("repeated", [False, True])
def test_a_token_may_stay_off_the_command_line(tmp_path: Path, repeated: bool) -> None:
    path = tmp_path / "token"
    path.write_text("hush=id\n")
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_token(parser, metavar="T", help="x", repeated=repeated, required=True)
    expected = ["hush=id"] if repeated else "hush=id"
    for words in (["--token", "hush=id"], ["--token-file", str(path)]):
        assert parser.parse_args(words).token == expected
    with pytest.raises(argparse.ArgumentError, match="cannot be read"):
        parser.parse_args(["--token-file", str(tmp_path / "none")])


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "nan", "1" + "0" * 12 + "0", "9" * 400])
def test_milliseconds_are_some_that_a_clock_can_count(text: str) -> None:
    assert milliseconds("1500") == 1.5
    with pytest.raises(argparse.ArgumentTypeError, match="expected"):
        milliseconds(text)


def _around(*words: str) -> Around:
    parser = argparse.ArgumentParser()
    add_common(parser, agency.ADAPTER.southbound.settings)
    entry = Entry("south", "daemon", "agency", "memory:x", False, None)
    return around_of("fake", entry, "memory:", parser.parse_args(words))


def test_every_fake_takes_faults_a_seed_frames_and_a_file() -> None:
    around = _around("--fault", "corrupt=0.5", "--seed", "4", "--frames", "--record", "f")
    assert (around.frames, around.record) == (True, "f")
    assert _around().links.onlookers is None
    with pytest.raises(BadOption, match=r"--fault corupt: .*did you mean corrupt\?"):
        _around("--fault", "corupt=0.5")
