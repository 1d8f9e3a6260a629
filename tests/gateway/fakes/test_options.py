"""Options that all fakes have."""

from __future__ import annotations

import argparse
from typing import Literal

import attrs
import pytest

from fleetgate.gateway.fakes.options import (
    BadOption,
    add_common,
    add_tls,
    settings_of,
    tls_of,
)
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
