from __future__ import annotations

import pytest

from fleetgate.transports.api import DialFailed
from fleetgate.transports.grpc_metadata import decoded, is_grpc, metadata_of, request


def test_a_call_has_what_grpc_asks_for() -> None:
    headers = request("gw:1", "/a.B/C", "https", {"Authorization": "Bearer s3cret"})
    assert headers[:6] == [
        (":method", "POST"),
        (":scheme", "https"),
        (":path", "/a.B/C"),
        (":authority", "gw:1"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
    ]
    assert headers[-1] == ("authorization", "Bearer s3cret")


@pytest.mark.parametrize("name", ["", "a b", "grpc-timeout", "TE", ":path", "connection", "ä"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(DialFailed, match="no name for metadata"):
        request("gw:1", "/a.B/C", "http", {name: "x"})


@pytest.mark.parametrize("value", ["two\nlines", "ü", "\x00"])
def test_a_value_that_cannot_be_sent_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(DialFailed, match="the value of x-key is not printable") as caught:
        request("gw:1", "/a.B/C", "http", {"X-Key": "s3cret" + value})
    assert "s3cret" not in str(caught.value)


def test_who_serves_sees_text_and_none_of_the_machinery() -> None:
    headers = decoded(
        [
            (b":path", b"/a.B/C"),
            (b":authority", b"gw:1"),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc"),
            (b"grpc-timeout", b"1S"),
            (b"x-bin", b"AAEC"),
            (b"x-name", b"one"),
            (b"x-name", b"\xfctwo"),
            (b"user-agent", b"someone/1"),
        ]
    )
    assert metadata_of(headers) == {
        "host": "gw:1",
        "x-name": "one, ütwo",
        "user-agent": "someone/1",
    }


@pytest.mark.parametrize(
    ("kind", "yes"),
    [
        ("application/grpc", True),
        ("application/grpc+proto", True),
        ("application/grpc; charset=utf-8", True),
        ("APPLICATION/GRPC", True),
        ("application/grpc-web", False),
        ("application/json", False),
        ("", False),
    ],
)
def test_content_types(kind: str, yes: bool) -> None:
    assert is_grpc(kind) is yes
