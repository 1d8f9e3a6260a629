"""Who is let in, and where a runner dials (cases 1 and 3)."""

import json

import pytest

from fleetgate.protocols.kodelet.upgrade import (
    BadServer,
    BadToken,
    canonical_server,
    check_token,
    refuse,
    shown_token,
    websocket_url,
)

OFFER = {"sec-websocket-protocol": "x, kodelet.runner.v1.jsonrpc"}


def test_case_1_the_subprotocol_is_required() -> None:
    denial = refuse({}, authenticated=True)
    assert denial is not None
    assert denial.status == 400
    assert denial.body == (
        b'{"error":"runner websocket subprotocol is required","status":400,"success":false}'
    )
    assert denial.headers == {"content-type": "application/json"}
    assert refuse(OFFER, authenticated=True) is None


@pytest.mark.parametrize("headers", [{}, OFFER])
def test_authentication_comes_first(headers: dict[str, str]) -> None:
    denial = refuse(headers, authenticated=False)
    assert denial is not None
    assert denial.status == 401
    assert json.loads(denial.body)["error"] == "runner authentication required"


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("", True),
        ("http://localhost:5173", True),
        ("http://127.0.0.1", True),
        ("http://[::1]:1", True),
        ("https://Kodelet.Example:8080", True),
        ("https://pages.example", True),
        ("https://kodelet.example", False),
        ("https://evil.example", False),
        ("http://localhost.evil.example", False),
        ("null", False),
        ("http://[", False),
    ],
)
def test_w_2_2_an_origin_is_near_or_allowed(origin: str, allowed: bool) -> None:
    headers = {**OFFER, "host": "kodelet.example:8080", **({"origin": origin} if origin else {})}
    denial = refuse(headers, True, ("https://pages.example",))
    assert (denial is None) == allowed
    assert denial is None or denial.status == 403


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ({"authorization": "Bearer  t "}, "t"),
        ({"authorization": "tOKEN t"}, "t"),
        ({"authorization": "t"}, "t"),
        ({"authorization": "Basic t"}, "Basic t"),
        ({"cookie": "a=b; kodelet_auth_token=t"}, "t"),
        ({"authorization": "x", "cookie": "kodelet_auth_token=t"}, "x"),
        ({"authorization": " ", "cookie": "kodelet_auth_token=t"}, "t"),
        ({"cookie": "other=t"}, None),
        ({}, None),
    ],
)
def test_how_a_token_is_shown(headers: dict[str, str], token: str | None) -> None:
    assert shown_token(headers) == token


@pytest.mark.parametrize(
    ("server", "url"),
    [
        (" http://localhost:8080/base/ ", "ws://localhost:8080/base/api/runner/v1/connect"),
        ("http://127.0.0.1:9090", "ws://127.0.0.1:9090/api/runner/v1/connect"),
        ("http://[::1]:80", "ws://[::1]/api/runner/v1/connect"),
        (
            "https://kodelet.example/control",
            "wss://kodelet.example/control/api/runner/v1/connect",
        ),
        (
            "HTTPS://Kodelet.Example.:443/a/../b/./%7ec/",
            "wss://kodelet.example/b/~c/api/runner/v1/connect",
        ),
    ],
)
def test_case_3_urls(server: str, url: str) -> None:
    assert websocket_url(server) == url
    assert canonical_server(canonical_server(server)) == canonical_server(server)


@pytest.mark.parametrize(
    "server",
    [
        "",
        "ftp://localhost",
        "http://kodelet.example",
        "http:///path",
        "https://user@kodelet.example",
        "https://kodelet.example?token=secret",
        "https://kodelet.example/#fragment",
        "https://kodelet.example:port",
    ],
)
def test_case_3_rejected(server: str) -> None:
    with pytest.raises(BadServer) as caught:
        websocket_url(server)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("token", ["bad token!", "", "a\n", "a=", "ä", "a/b"])
def test_w_2_3_a_token_has_an_alphabet(token: str) -> None:
    check_token("AZaz09-._~")
    with pytest.raises(BadToken) as caught:
        check_token(token)
    assert not token or repr(token) not in str(caught.value)
