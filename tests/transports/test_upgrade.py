from __future__ import annotations

import pytest

from fleetgate.transports.api import Opening, Options, Rejection
from fleetgate.transports.upgrade import choose_subprotocol, is_final, offered_headers, refusal


@pytest.mark.parametrize(
    ("offered", "supported", "agreed"),
    [
        ((), (), None),
        (("a",), (), None),
        ((), ("a",), None),
        (("a", "b"), ("b", "a"), "a"),
        (("x", "b"), ("a", "b"), "b"),
        (("x",), ("a",), None),
        (("x", "y"), ("*",), "x"),
        ((), ("*",), None),
    ],
)
def test_the_first_offered_that_we_support(
    offered: tuple[str, ...], supported: tuple[str, ...], agreed: str | None
) -> None:
    assert choose_subprotocol(offered, supported) == agreed


def test_a_bare_status_and_a_whole_answer_are_both_a_refusal() -> None:
    answer = Rejection(401, b"{}", {"content-type": "application/json"})
    assert refusal(Options(), Opening()) is None
    assert refusal(Options(authorize=lambda _opening: None), Opening()) is None
    assert refusal(Options(authorize=lambda _opening: 403), Opening()) == Rejection(403)
    assert refusal(Options(authorize=lambda _opening: answer), Opening()) is answer


def test_headers_as_the_other_end_sees_them() -> None:
    options = Options(headers={"Authorization": "Bearer x"}, subprotocols=("a", "b"))
    assert offered_headers(options) == {
        "authorization": "Bearer x",
        "sec-websocket-protocol": "a, b",
    }
    assert offered_headers(Options()) == {}


def test_only_refused_credentials_are_final() -> None:
    assert [is_final(status) for status in (400, 401, 403, 404, 503)] == [
        False,
        True,
        True,
        False,
        False,
    ]
