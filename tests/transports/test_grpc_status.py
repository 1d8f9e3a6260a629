from __future__ import annotations

import pytest
from h2.errors import ErrorCodes
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.transports.grpc_status import (
    CLOSE_CODES,
    LAST,
    LONGEST_MESSAGE,
    name_of,
    read_status,
    read_timeout,
    status_of,
    status_of_http,
    status_of_reset,
    trailers_of,
)


def test_a_status_stays_what_it_is() -> None:
    assert [status_of(code) for code in range(LAST + 1)] == list(range(LAST + 1))


def test_close_codes_have_a_status() -> None:
    assert {code: status_of(code) for code in CLOSE_CODES} == dict(CLOSE_CODES)
    assert status_of(1000) == 0
    assert status_of(1008) == 7
    assert [status_of(code) for code in (17, 999, 1006, 4002, -1)] == [2] * 5


def test_answers_of_http_and_resets_have_a_status() -> None:
    answers = (200, 400, 401, 403, 404, 429, 500, 503)
    assert [status_of_http(code) for code in answers] == [2, 13, 16, 7, 12, 14, 2, 14]
    resets = (ErrorCodes.NO_ERROR, ErrorCodes.REFUSED_STREAM, ErrorCodes.CANCEL, 77)
    assert [status_of_reset(int(error)) for error in resets] == [13, 14, 1, 13]


def test_a_name_for_people() -> None:
    assert name_of(14) == "UNAVAILABLE (14)"
    assert name_of(77) == "status 77"


@given(st.integers(1, LAST), st.text(max_size=300))
def test_a_status_comes_as_it_was_said(status: int, message: str) -> None:
    said = message.encode("utf-8", "replace").decode()
    trailers = trailers_of(status, said)
    assert all(value.isascii() and value.isprintable() for _, value in trailers)
    got, text = read_status(dict(trailers))
    assert got == status
    assert text == said.encode()[:LONGEST_MESSAGE].decode("utf-8", "ignore")


@pytest.mark.limit("transports/grpc_status.LONGEST_MESSAGE")
def test_a_long_message_is_cut() -> None:
    (_, (_, value)) = trailers_of(2, "€" * 5000)
    assert len(value) <= 3 * LONGEST_MESSAGE
    assert len(read_status({"grpc-status": "2", "grpc-message": "x" * 9999})[1]) == LONGEST_MESSAGE


def test_ok_has_no_message() -> None:
    assert trailers_of(0, "all is well") == [("grpc-status", "0")]


@pytest.mark.parametrize("status", ["", "x", "-1", "1.0", "99999", "²"])
def test_what_is_no_status_is_unknown(status: str) -> None:
    assert read_status({"grpc-status": status})[0] == 2


def test_timeouts() -> None:
    assert [read_timeout(text) for text in ("1S", "90M", "2H", "5m", "99999999n")] == [
        1,
        5400,
        7200,
        pytest.approx(0.005),
        pytest.approx(0.09999999),
    ]
    for text in ("", "S", "1", "1 S", "1s", "999999999S", "-1S", "1.5S"):
        with pytest.raises(ValueError, match=r".+"):
            read_timeout(text)
