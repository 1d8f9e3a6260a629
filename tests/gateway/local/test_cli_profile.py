"""Profiles as they are read, and the one that a run gets."""

from __future__ import annotations

from typing import Any

import pytest

from fleetgate.gateway.config_reader import Flawed
from fleetgate.gateway.local.cli_profile import (
    CliProfile,
    CompletionMarker,
    contradictions,
    profile_for,
    read_profile,
)
from fleetgate.gateway.local.work import Declined

WHOLE: dict[str, Any] = {
    "command": "agent",
    "args": ["-p"],
    "env": ["A=1", "B=x=y", "C="],
    "persistent": True,
    "terminal": True,
    "response_idle_timeout_ms": 100,
    "startup_idle_timeout_ms": 50,
    "output_format": "stream-json",
    "completion_marker": {"line": "END", "regex": "^done"},
    "mode": "resume",
    "resume_args": ["--resume", "{session_id}"],
}


def test_every_member_is_read() -> None:
    assert read_profile(WHOLE, ()) == CliProfile(
        "agent",
        ("-p",),
        ("A=1", "B=x=y", "C="),
        True,
        True,
        100,
        50,
        "stream-json",
        CompletionMarker("END", "^done"),
        "resume",
        ("--resume", "{session_id}"),
    )


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"command": ""}, "command", "expected a program"),
        ({"env": ["A"]}, "env", "expected KEY=VALUE"),
        ({"env": ["=A"]}, "env", "expected KEY=VALUE"),
        ({"args": "x"}, "args", "expected an array, got a string"),
        ({"response_idle_timeout_ms": -1}, "response_idle_timeout_ms", "expected milliseconds"),
        ({"startup_idle_timeout_ms": 10**9}, "startup_idle_timeout_ms", "0 to 86400000"),
        ({"output_format": "xml"}, "output_format", "expected one of"),
        ({"mode": "argument"}, "mode", "gets its prompts on standard input"),
        ({"mode": "args"}, "mode", "expected one of"),
        ({"resume_args": []}, "mode", "needs resume_args"),
        ({"commnd": "x"}, "commnd", "did you mean command?"),
        (
            {"completion_marker": {}, "response_idle_timeout_ms": 0},
            "persistent",
            "nothing says when an answer is complete",
        ),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(Flawed) as caught:
        read_profile({**WHOLE, **changes}, ("p",))
    (flaw,) = caught.value.flaws
    assert flaw.path == ("p", key)
    assert words in flaw.message


def test_a_marker_s_regex_is_one() -> None:
    with pytest.raises(Flawed) as caught:
        read_profile({"command": "a", "completion_marker": {"regex": "("}}, ())
    assert caught.value.flaws[0].path == ("completion_marker", "regex")


@pytest.mark.parametrize(
    "profile",
    [
        CliProfile("a", persistent=True, response_idle_timeout_ms=1),
        CliProfile("a", persistent=True, completion_marker=CompletionMarker(regex="x")),
        CliProfile("a", mode="argument"),
    ],
)
def test_what_goes_together(profile: CliProfile) -> None:
    assert contradictions(profile) == {}


OWN = {"one": CliProfile("one"), "two": CliProfile("two")}


def test_the_profile_that_is_named_or_the_only_one() -> None:
    assert profile_for("two", {}, OWN) == ("two", CliProfile("two"))
    assert profile_for("", {}, {"one": CliProfile("one")}) == ("one", CliProfile("one"))


def test_what_is_pushed_stands_in_place_of_our_own() -> None:
    pushed = {"profiles": {"three": {"command": "three"}}}
    assert profile_for("", pushed, OWN) == ("three", CliProfile("three"))
    with pytest.raises(Declined, match="no profile is named one; known: three"):
        profile_for("one", pushed, OWN)


def test_where_none_is_known_the_place_for_them_is_named() -> None:
    with pytest.raises(Declined, match=r"names no profile; none is known here: .*cli\.profiles"):
        profile_for("", {}, {})


@pytest.mark.parametrize(
    ("target", "pushed", "words"),
    [
        ("", {}, "invalid_argument: the run names no profile; known: one, two"),
        ("tow", {}, "no profile is named tow; did you mean two?"),
        ("a", {"profiles": 3}, "profiles is to be a table"),
        ("a", {"profiles": {"a": {}}}, "invalid_argument: profiles.a.command: is missing"),
        ("a", {"profiles": {"a": {"command": "x", "mod": 1}}}, "profiles.a.mod: unknown key"),
    ],
)
def test_no_profile(target: str, pushed: dict[str, Any], words: str) -> None:
    with pytest.raises(Declined) as caught:
        profile_for(target, pushed, OWN)
    assert words in str(caught.value)
