"""Patterns that somebody else wrote."""

from __future__ import annotations

import sys

import pytest

from fleetgate.gateway.local.patterns import searching


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^done in \d+", "done in 12 s", True),
        (r"^done", "not done", False),
        ("é$", "fini, né", True),
        ("", "anything", True),
    ],
)
def test_it_is_searched_for(pattern: str, text: str, found: bool) -> None:
    assert searching(pattern)(text) is found


def test_no_pattern_holds_up_the_process() -> None:
    """Python's own engine needs some hours for this one."""
    assert not searching(r"^(a+)+$")("a" * 4096 + "!")


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a{99999}"])
def test_what_re2_does_not_know_is_refused(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no regular expression of RE2's: "):
        searching(pattern)
    assert capfd.readouterr() == ("", "")


def test_without_re2_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ValueError, match=r"fleetgate\[patterns\]"):
        searching("a")
