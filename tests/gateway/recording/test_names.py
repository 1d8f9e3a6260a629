"""Names and times of another day."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.recording.names import Names, Renewal, snake
from fleetgate.protocols.explaining import Explainer

SECOND = 10**9
THEN, NOW = 1_700_000_000 * SECOND, 1_800_000_000 * SECOND


class Known(Explainer):
    ids = frozenset({"run_id", "runId", "id"})
    times = frozenset({"at"})


def renewal(names: Names | None = None, token: str | None = None) -> Renewal:
    return Renewal(Known(), names or Names(), THEN, NOW, token)


def test_a_text_stands_for_the_same_everywhere_and_a_number_under_its_name() -> None:
    names = Names()
    assert names.meet("run_id", "run-a", "run-b")
    assert names.live("id", "run-a") == "run-b"
    assert names.meet("id", 1, 7)
    assert names.live("id", 1) == 7
    assert names.live("run_id", 1) == 1
    assert names.meet("generation", "3", "9")
    assert names.live("other", "3") == "3"
    assert names.live("Generation", "3") == "9"


def test_names_are_one_to_one() -> None:
    names = Names()
    assert names.meet("id", "a", "x")
    assert names.meet("id", "a", "x")
    assert not names.meet("id", "a", "y")
    assert not names.meet("id", "b", "x")
    assert names.meet("id", "b", "y")


@given(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3))))
def test_what_was_met_is_never_unlearned(pairs: list[tuple[str, str]]) -> None:
    names = Names()
    met = [(a, b) for a, b in pairs if names.meet("m", a, b)]
    assert all(names.live("m", a) == b for a, b in met)
    assert len(dict(met)) == len({b: a for a, b in met})


def test_one_spelling_of_a_member() -> None:
    assert snake("runId") == snake("run_id") == "run_id"


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
def test_an_instant_is_as_far_from_now_as_it_was_from_then(unit: int) -> None:
    number = (THEN + 5 * SECOND) // unit
    moved = (NOW + 5 * SECOND) // unit
    assert renewal().body({"at": number}) == {"at": moved}
    assert renewal().body({"at": str(number)}) == {"at": str(moved)}


def test_dates_move_and_keep_their_digits() -> None:
    moved = renewal().body({"at": "2023-11-14T22:13:25.000000007Z"})
    assert moved == {"at": "2027-01-15T08:00:05.000000007Z"}


@pytest.mark.parametrize("value", [0, 7, "0001-01-01T00:00:00Z", "soon", None, 1.5, True])
def test_what_is_no_instant_stays(value: object) -> None:
    assert renewal().body({"at": value}) == {"at": value}


def test_names_and_tokens_are_of_now_and_all_else_of_then() -> None:
    names = Names()
    names.meet("id", "old-name", "new-name")
    body = {"runId": "old-name", "text": "old-name", "list": [{"id": "old-name"}], "token": "t"}
    assert renewal(names).body(body) == {
        "runId": "new-name",
        "text": "old-name",
        "list": [{"id": "new-name"}],
        "token": "t",
    }
    secret = {"token": "[redacted]", "text": "[redacted]"}
    assert renewal(token="mine").body(secret) == {"token": "mine", "text": "[redacted]"}
    assert renewal().body(secret) == secret
