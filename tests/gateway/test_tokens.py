"""Who a token speaks for, now; and what it takes to find that out among thousands."""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

import attrs
import pytest

from fleetgate.core.errors import Unavailable
from fleetgate.gateway.config_entries import Grant, Secret
from fleetgate.gateway.tokens import READ_BURST, READ_SHARE, Tokens, is_valid, valid_tokens


@attrs.define(slots=False)
class Work:
    """What was read, looked up and compared."""

    read: list[str] = attrs.field(factory=list[str])
    digests: list[bytes] = attrs.field(factory=list[bytes])
    compared: list[tuple[bytes, bytes]] = attrs.field(factory=list[tuple[bytes, bytes]])


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Counted from here on."""
    seen = Work()
    read, digest, compare = Secret.read, hashlib.blake2b, hmac.compare_digest

    def reading(secret: Secret) -> str:
        seen.read.append(secret.env or "")
        return read(secret)

    def digesting(token: bytes, *, key: bytes) -> object:
        found = digest(token, key=key)
        seen.digests.append(found.digest())
        return found

    def comparing(one: bytes, other: bytes) -> bool:
        seen.compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(Secret, "read", reading)
    monkeypatch.setattr(hashlib, "blake2b", digesting)
    monkeypatch.setattr(hmac, "compare_digest", comparing)
    return seen


def granted(monkeypatch: pytest.MonkeyPatch, many: int) -> tuple[Grant, ...]:
    """So many grants: of T3 the token is `token 3`, and it is host-3's."""
    for number in range(many):
        monkeypatch.setenv(f"T{number}", f"token {number}")
    return tuple(Grant(Secret(env=f"T{number}"), f"host-{number}") for number in range(many))


def test_a_token_among_thousands_is_found_by_one_read_and_one_comparison(
    monkeypatch: pytest.MonkeyPatch, work: Work
) -> None:
    known = Tokens(granted(monkeypatch, 2000))
    assert known.whose("token 7") == "host-7"
    assert len(work.read) == 2001, "nothing was known of them before"
    for shown, id in (("token 1999", "host-1999"), ("token 0", "host-0")):
        work.read.clear()
        work.compared.clear()
        assert known.whose(shown) == id
        assert len(work.read) == 1
        assert work.compared == [(shown.encode(), shown.encode())]


def test_what_is_looked_up_can_be_computed_by_nobody_else(
    monkeypatch: pytest.MonkeyPatch, work: Work
) -> None:
    """Else the time that a lookup takes could tell how far a guess is right."""
    grants = granted(monkeypatch, 3)
    seen: list[set[bytes]] = []
    for _ in range(2):
        work.digests.clear()
        assert Tokens(grants).whose("token 1") == "host-1"
        seen.append(set(work.digests))
    assert [len(each) for each in seen] == [3, 3]
    assert seen[0].isdisjoint(seen[1])


def test_a_wrong_token_has_none_of_those_that_stand_digested_again(
    monkeypatch: pytest.MonkeyPatch, work: Work
) -> None:
    known = Tokens(granted(monkeypatch, 100))
    assert known.whose("wrong") is None
    assert len(work.digests) == 101
    assert known.whose("wrong") is None
    assert len(work.digests) == 102
    monkeypatch.setenv("T50", "new")
    assert known.whose("new") == "host-50"
    assert known.whose("token 50") is None


def test_a_wrong_token_is_compared_with_none_and_every_token_is_read_once(
    monkeypatch: pytest.MonkeyPatch, work: Work
) -> None:
    """However near it is."""
    known = Tokens(granted(monkeypatch, 12))
    assert known.whose("token 1") == "host-1"
    for shown in ("token", "token 1 ", "token 12", "", "\N{SNOWMAN}", "\ud800"):
        work.read.clear()
        work.compared.clear()
        assert known.whose(shown) is None
        assert work.read == [f"T{number}" for number in range(12)]
        assert work.compared == []


@attrs.define
class Clock:
    """Each read of a token takes a millisecond of it."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The one that reading takes its time from."""
    made, read = Clock(), Secret.read

    def reading(secret: Secret) -> str:
        made.now += 0.001
        return read(secret)

    monkeypatch.setattr(Secret, "read", reading)
    return made


def until_busy(known: Tokens) -> int:
    """How many wrong tokens are judged until one is not."""
    for judged in range(10_000):
        try:
            assert known.whose(f"wrong {judged}") is None
        except Unavailable:
            return judged
    raise AssertionError("all were judged")


@pytest.mark.limit("gateway/tokens.READ_SHARE")
def test_wrong_tokens_keep_the_loop_busy_for_a_share_of_its_time_and_no_more(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    grants = granted(monkeypatch, 100)  # a tenth of a second for all of them
    known = Tokens(grants, clock)
    assert 0 <= until_busy(known) * 0.1 - READ_BURST < 0.2
    began = clock.now
    spent = 0
    while clock.now < began + 60:
        clock.now += 0.01  # a hundred attackers a second
        spent += until_busy(known)
    share = spent * 0.1 / (clock.now - began)
    assert share <= READ_SHARE / 100 * 1.1
    assert share >= READ_SHARE / 100 * 0.9


def test_who_shows_the_right_token_waits_for_no_wrong_one(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    known = Tokens(granted(monkeypatch, 100), clock)
    until_busy(known)
    assert known.whose("token 50") == "host-50"


def test_a_token_is_never_called_wrong_that_was_written_since_all_were_read(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    known = Tokens(granted(monkeypatch, 100), clock)
    until_busy(known)
    monkeypatch.setenv("T50", "new")
    with pytest.raises(Unavailable, match="try again"):
        known.whose("new")
    with pytest.raises(Unavailable):
        known.whose("token 50")
    clock.now += 0.1 * 100 / READ_SHARE
    assert known.whose("new") == "host-50"
    clock.now += 0.1 * 100 / READ_SHARE
    assert known.whose("token 50") is None


def test_fault_16_a_token_is_read_anew_at_each_try(tmp_path: Path) -> None:
    file = tmp_path / "token"
    known = Tokens((Grant(Secret(file=str(file)), "host-1"),))
    assert known.whose("one") is None
    file.write_text("one\n")
    assert known.whose("one") == "host-1"
    file.write_text("two\n")
    assert known.whose("one") is None
    assert known.whose("two") == "host-1"
    file.unlink()
    assert known.whose("two") is None


def test_a_token_that_was_given_to_another_is_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Tokens(granted(monkeypatch, 2))
    assert known.whose("token 0") == "host-0"
    monkeypatch.setenv("T0", "another")
    monkeypatch.setenv("T1", "token 0")
    assert known.whose("token 0") == "host-1"
    assert known.whose("another") == "host-0"


def test_of_two_that_have_the_same_the_first_is_who_it_speaks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = Tokens(granted(monkeypatch, 3))
    monkeypatch.setenv("T2", "token 1")
    assert known.whose("token 1") == "host-1"
    del os.environ["T1"]
    assert known.whose("token 1") == "host-2"


def test_a_token_that_cannot_be_read_is_nobodys(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("one\n")
    there, gone = Secret(file=str(path)), Secret(file=str(tmp_path / "no"))
    grants = (Grant(there, "a"), Grant(gone, "b"), Grant(there, "a"))
    assert valid_tokens(grants) == {"a": (b"one", b"one")}


def test_whether_a_token_holds_is_compared_with_its_owners_only(
    monkeypatch: pytest.MonkeyPatch, work: Work
) -> None:
    """A look at a fleet of so many links is that many comparisons, and not their square."""
    valid = valid_tokens(granted(monkeypatch, 50))
    assert is_valid("host-3", b"token 3", valid)
    assert not is_valid("host-3", b"token 4", valid)
    assert not is_valid("nobody", b"token 4", valid)
    assert work.compared == [(b"token 3", b"token 3"), (b"token 4", b"token 3")]
