from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.transports.address import FORMS, Address, check_reached, parse_address
from fleetgate.transports.api import AddressError

GOOD = [
    ("unix:/run/gw/s.sock", Address("unix", path="/run/gw/s.sock")),
    ("unix:/my files/s", Address("unix", path="/my files/s")),
    ("unix:s.sock", Address("unix", path="s.sock")),
    ("tcp://127.0.0.1:7000", Address("tcp", "127.0.0.1", 7000)),
    ("tcp://[::1]:0", Address("tcp", "::1", 0)),
    ("tls://gw.example:443", Address("tls", "gw.example", 443)),
    ("ws://h:8080", Address("ws", "h", 8080)),
    ("ws://h:8080/agent", Address("ws", "h", 8080, "/agent")),
    ("wss://[2001:db8::1]:8443/a/b", Address("wss", "2001:db8::1", 8443, "/a/b")),
    ("ws://h:1/a?x=1&y=2", Address("ws", "h", 1, "/a?x=1&y=2")),
    ("ws://h:1?x=1", Address("ws", "h", 1, "/?x=1")),
    ("grpc://[::1]:7443", Address("grpc", "::1", 7443)),
    ("grpcs://edge.example:7443", Address("grpcs", "edge.example", 7443)),
    ("stdio:", Address("stdio")),
    ("memory:edge-1", Address("memory", path="edge-1")),
]


@pytest.mark.parametrize(("text", "address"), GOOD)
def test_reads_every_form(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert parse_address(str(address)) == address


def test_a_port_is_needed_except_where_the_web_has_one() -> None:
    assert parse_address("ws://h/agent").port == 80
    assert parse_address("wss://h/agent").port == 443
    with pytest.raises(AddressError, match="port is missing"):
        parse_address("tcp://h")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is no address"),
        ("7000", "is no address"),
        ("http://h:1/", "is no address"),
        ("TCP://h:1", "is no address"),
        ("unix:", "one path follows"),
        ("unix:///run/s", "one path follows"),
        ("unix:/run/a\nb", "a control character"),
        ("ws://h/a b", "a space"),
        ("tcp:h:1", "host is missing"),
        ("tcp://:1", "host is missing"),
        ("tcp://h:99999", "wanted tcp://HOST:PORT"),
        ("tcp://h:x", "wanted tcp://HOST:PORT"),
        ("tcp://h:1/agent", "nothing follows the port"),
        ("grpc://h", "port is missing"),
        ("grpc://h:1/a.B/C", "nothing follows the port"),
        ("tcp://h:1?x", "nothing follows the port"),
        ("ws://h:1/a#b", "no fragment"),
        ("ws://h:1/é", "%XX"),
        ("tls://[::g]:1", "wanted tls://HOST:PORT"),
        ("tls://[v1.ab]:1", "brackets hold an IPv6 address"),
        ("stdio:x", "nothing follows the colon"),
        ("memory:", "a name is"),
        ("memory:a/b", "a name is"),
    ],
)
def test_says_what_is_wanted(text: str, part: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert part in str(caught.value)
    assert "wanted" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "ws://user:hunter2@h:1/agent",
        "tcp://user:hunter2@h:99999",
        "tcp://user:hunter2@h:x",
        "tcp://user:hunter2/@h",
        "tcp://user:hunter2@\u2100:1",
        "http://user:hunter2@h/agent",
        "ws://user:hunter2@h:1/a b",
        "wss://user:hunter2@h/#part",
        "user:hunter2@h",
        "tcp://user:hunter2@",
        "memory:user:hunter2@h",
    ],
)
def test_does_not_repeat_a_password(text: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert "hunter2" not in str(caught.value)


@given(st.sampled_from([*FORMS, "x"]), st.text(max_size=40))
def test_any_text_is_an_address_or_an_address_error(scheme: str, rest: str) -> None:
    for text in (rest, f"{scheme}:{rest}", f"{scheme}://{rest}"):
        try:
            address = parse_address(text)
        except AddressError:
            continue
        assert parse_address(str(address)) == address


@pytest.mark.parametrize("text", ["stdio:", "memory:a", "nothing"])
def test_where_no_other_process_is_met_is_no_address_there(text: str) -> None:
    with pytest.raises(AddressError, match=f"'{text}' is no address: wanted one of unix:.*PORT$"):
        check_reached(text)
    check_reached("unix:/run/s")
