"""Sessions that are found again, also by the next process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetgate.gateway.local.known_sessions import KnownSessions


def test_a_session_is_known_once_it_was_added_and_to_the_next_process(tmp_path: Path) -> None:
    known = KnownSessions(tmp_path / "a" / "s")
    odd = ("profile", "../\n\ud800")
    assert odd not in known
    known.add(odd)
    assert odd in known
    again = KnownSessions(tmp_path / "a" / "s")
    assert odd in again
    assert ("other", odd[1]) not in again


@pytest.mark.limit("gateway/local/known_sessions.MAX_KNOWN")
def test_the_one_that_was_used_longest_ago_is_forgotten_first(tmp_path: Path) -> None:
    known = KnownSessions(tmp_path, most=2)
    for session in ("a", "b", "a", "c"):
        known.add(("p", session))
    found = [name for name in "abc" if ("p", name) in known]
    assert found == ["a", "c"]
    assert len(os.listdir(tmp_path)) == 2


def test_their_order_outlives_the_process(tmp_path: Path) -> None:
    known = KnownSessions(tmp_path)
    known.add(("p", "a"))
    (first,) = os.listdir(tmp_path)
    known.add(("p", "b"))
    (second,) = set(os.listdir(tmp_path)) - {first}
    os.utime(tmp_path / first, ns=(2, 2))
    os.utime(tmp_path / second, ns=(1, 1))
    again = KnownSessions(tmp_path, most=2)
    again.add(("p", "c"))
    assert [name for name in "abc" if ("p", name) in again] == ["a", "c"]


def test_a_session_is_forgotten_at_every_profile_and_no_other_is(tmp_path: Path) -> None:
    known = KnownSessions(tmp_path)
    for session in (("p", "a"), ("q", "a"), ("p", "b"), ("a", "p")):
        known.add(session)
    KnownSessions(tmp_path).forget("a")
    again = KnownSessions(tmp_path)
    again.forget("none")
    found = [each for each in (("p", "a"), ("q", "a"), ("p", "b"), ("a", "p")) if each in again]
    assert found == [("p", "b"), ("a", "p")]


def test_what_the_disk_does_not_let_go_of_is_forgotten_all_the_same(tmp_path: Path) -> None:
    known = KnownSessions(tmp_path)
    known.add(("p", "a"))
    (file,) = tmp_path.iterdir()
    file.unlink()
    file.mkdir()
    with pytest.raises(OSError, match=r"directory|permitted"):
        known.forget("a")
    assert ("p", "a") not in known
