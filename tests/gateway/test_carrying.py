"""From an entry to a transport's options, and who a token speaks for."""

from __future__ import annotations

import attrs
import pytest
import trio

from fleetgate.core.errors import Unavailable
from fleetgate.gateway.carrying import Gatekeeper, gatekeeper_of, options_of
from fleetgate.gateway.config_entries import Entry, Grant, Secret, SecretUnreadable
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.tokens import Tokens
from fleetgate.protocols.carriage import Carriage, Denial, GrpcCall, GrpcUse, WebSocketUse
from fleetgate.transports.api import GrpcMethod, GrpcOptions, Opening, Rejection, TlsFiles
from fleetgate.transports.open import open_listener

USE = WebSocketUse(binary=True, path="/agent", subprotocols=("p",), ping_every=20, dead_after=60)


def test_options_join_the_entry_and_its_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T", "secret")
    entry = Entry("north", "n", "p", "ws://h:1/agent", False, None, token=Secret(env="T"))
    options = options_of(entry, Carriage("varint", 100, USE))
    assert (options.framing, options.limit, options.path) == ("varint", 100, "/agent")
    assert (options.ping_every, options.dead_after, options.binary) == (20, 60, True)
    assert (options.alive_by_pong, options.write_within) == (False, None)
    assert (options.any_text, options.drop_other) == (False, False)
    assert not options.unoffered_final
    use = attrs.evolve(
        USE, alive_by_pong=True, any_text=True, drop_other=True, unoffered_final=True
    )
    options = options_of(entry, Carriage("varint", 100, use, write_within=10))
    assert (options.alive_by_pong, options.write_within) == (True, 10)
    assert (options.any_text, options.drop_other) == (True, True)
    assert options.unoffered_final
    assert options.headers == {"authorization": "Bearer secret"}
    assert options.authorize is None
    assert "secret" not in repr(options)


def test_calls_of_grpc_come_over_in_the_words_of_the_transports() -> None:
    entry = Entry("north", "n", "p", "grpc://h:1", False, None)
    calls = {"/a.B/C": GrpcCall(False, True), "/a.B/D": GrpcCall(True, False)}
    use = GrpcUse(calls, "/a.B/C", (b"file",), frozenset({16}), None, 5.0)
    assert options_of(entry, Carriage(None, 100)).grpc is None
    assert options_of(entry, Carriage(None, 100, grpc=use)).grpc == GrpcOptions(
        {"/a.B/C": GrpcMethod(False, True), "/a.B/D": GrpcMethod(True, False)},
        "/a.B/C",
        (b"file",),
        frozenset({16}),
        None,
        5.0,
    )
    plain = options_of(entry, Carriage(None, 100, grpc=GrpcUse(calls, "/a.B/C"))).grpc
    assert plain == GrpcOptions(
        {
            path: GrpcMethod(call.client_streams, call.server_streams)
            for path, call in calls.items()
        },
        "/a.B/C",
    )


def test_a_missing_token_is_told_before_the_dial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("T", raising=False)
    entry = Entry("north", "n", "p", "ws://h:1/agent", False, None, token=Secret(env="T"))
    with pytest.raises(SecretUnreadable, match="T"):
        options_of(entry, Carriage("varint", 100, None))


def test_only_a_known_bearer_token_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T", "one")
    gate = Gatekeeper((Grant(Secret(env="T"), "host-1"),))
    for value in ("", "one", "Basic one", "Bearer", "Bearer ", "Bearer onee", "Bearer \N{SNOWMAN}"):
        assert gate.authorize(Opening(headers={"authorization": value})) == 401
    assert gate.authorize(Opening()) == 401
    assert gate.authorize(Opening(headers={"authorization": "Bearer one"})) is None


@pytest.mark.parametrize("refuses", [False, True])
def test_a_token_that_cannot_be_judged_now_may_come_again(
    refuses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whose(tokens: Tokens, token: str) -> str | None:
        raise Unavailable("try again")

    monkeypatch.setattr(Tokens, "whose", whose)
    denial = Denial(401, b"no", {})
    use = attrs.evolve(USE, refuse=lambda headers, known: denial) if refuses else USE
    grants = (Grant(Secret(env="T"), "host-1"),)
    entry = Entry("south", "n", "p", "ws://h:1/agent", True, None, tokens=grants)
    judge = options_of(entry, Carriage(None, 100, use)).authorize
    assert judge is not None
    assert judge(Opening(headers={"authorization": "Bearer one"})) == 503
    assert judge(Opening()) == (Rejection(401, b"no", {}) if refuses else 401)


def test_a_protocol_may_know_other_forms_of_a_token_and_other_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("T", "one")
    use = attrs.evolve(
        USE,
        shown_token=lambda headers: headers.get("x-token"),
        refuse=lambda headers, known: None if known else Denial(403, b"no", {"a": "b"}),
    )
    open_ = Entry("south", "n", "p", "ws://h:1/agent", True, None)
    guarded = attrs.evolve(open_, tokens=(Grant(Secret(env="T"), "host-1"),))
    for entry, headers, answer in (
        (open_, {}, None),
        (guarded, {"x-token": "one"}, None),
        (guarded, {"authorization": "Bearer one"}, Rejection(403, b"no", {"a": "b"})),
    ):
        judge = options_of(entry, Carriage(None, 100, use)).authorize
        assert judge is not None
        assert judge(Opening(headers=headers)) == answer


def judged(entry: Entry, use: WebSocketUse, origin: str | None, host: str) -> int | None:
    """The status that a page of `origin` gets, if it is refused."""
    judge = options_of(entry, Carriage("varint", 100, use)).authorize
    headers = {"host": host} if origin is None else {"host": host, "origin": origin}
    answer = None if judge is None else judge(Opening(headers=headers))
    return answer.status if isinstance(answer, Rejection) else answer


@pytest.mark.parametrize(
    ("origin", "host", "plain", "tls"),
    [
        (None, "gw.example", None, None),
        ("https://evil.example", "127.0.0.1:1", 403, 403),
        ("null", "127.0.0.1:1", 403, 403),
        ("", "127.0.0.1:1", 403, 403),
        ("http://localhost:3000", "localhost:1", 403, 403),
        ("http://[::1", "[::1", 403, 403),
        ("http://127.0.0.1:1", "127.0.0.1:1", None, None),
        ("http://[::1]:1", "[::1]:1", None, None),
        ("http://localhost:1", "LocalHost:1", None, None),
        ("http://10.0.0.7", "10.0.0.7", None, None),
        ("http://evil.example:1", "evil.example:1", 403, None),
        ("http://evil.example", "evil.example", 403, None),
    ],
)
def test_web_pages_become_no_workers(
    origin: str | None, host: str, plain: int | None, tls: int | None
) -> None:
    """A browser lets any page open a WebSocket to a loopback port that asks nobody."""
    entry = Entry("south", "n", "p", "ws://h:1/agent", True, None)
    assert judged(entry, USE, origin, host) == plain
    verified = attrs.evolve(entry, address="wss://h:1/agent", tls=TlsFiles("c", "k"))
    assert judged(verified, USE, origin, host) == tls
    assert judged(entry, attrs.evolve(USE, pages=True), origin, host) is None
    dialled = attrs.evolve(entry, listens=False)
    assert judged(dialled, USE, origin, host) is None


def test_a_page_s_token_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T", "one")
    entry = Entry("south", "n", "p", "ws://h:1/agent", True, None)
    guarded = attrs.evolve(entry, tokens=(Grant(Secret(env="T"), "host-1"),))
    judge = options_of(guarded, Carriage("varint", 100, USE)).authorize
    assert judge is not None
    known = {"authorization": "Bearer one", "host": "127.0.0.1:1"}
    assert judge(Opening(headers=known)) is None
    assert judge(Opening(headers={})) == 401
    page = judge(Opening(headers={**known, "origin": "https://evil.example"}))
    assert isinstance(page, Rejection)
    assert page.status == 403


def test_whose_pages_are_let_in_is_the_protocol_s_own_word() -> None:
    """MCP's clients show a key, and kodelet has a rule of its own; all others have none."""
    for name, adapter in adapters(()).items():
        for side in (adapter.northbound, adapter.southbound):
            use = side.carriage(side.settings()).websocket
            if use is not None:
                assert use.pages == (name in ("agency", "kodelet")), name
                assert not use.pages or use.shown_token is not None


UPGRADE = (
    "GET /api/runner/v1/connect HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{}\r\n"
)
OFFER = "Sec-WebSocket-Protocol: kodelet.runner.v1.jsonrpc\r\n"


@pytest.mark.parametrize(
    ("headers", "first", "body"),
    [
        ("", "401", '{"error":"runner authentication required","status":401,"success":false}'),
        (
            "Authorization: Token one\r\n",
            "400",
            '{"error":"runner websocket subprotocol is required","status":400,"success":false}',
        ),
        (f"Authorization: one\r\n{OFFER}", "101", ""),
        (f"Cookie: kodelet_auth_token=one\r\n{OFFER}", "101", ""),
    ],
)
async def test_kodelet_upgrades_on_a_socket(
    headers: str, first: str, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T", "one")
    side = adapters(())["kodelet"].southbound
    settings = side.settings()
    entry = Entry("south", "n", "kodelet", "ws://127.0.0.1:0", True, settings)
    entry = attrs.evolve(entry, tokens=(Grant(Secret(env="T"), "host-1"),))
    options = attrs.evolve(
        options_of(entry, side.carriage(settings)), report=lambda what, error: None
    )
    async with open_listener(entry.address, options) as listener, trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, lambda link: link.close(None))
        port = int(listener.addresses[0].split("/")[2].rpartition(":")[2])
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        async with stream:
            await stream.send_all(UPGRADE.format(headers).encode())
            answer = b"".join([chunk async for chunk in stream]).decode("latin-1")
        nursery.cancel_scope.cancel()
    assert answer.startswith(f"HTTP/1.1 {first}")
    assert body in answer
    if first == "101":
        assert "sec-websocket-protocol: kodelet.runner.v1.jsonrpc" in answer.lower()


def test_where_tokens_stand_in_messages_the_carriage_lets_everybody_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("T", "one")
    entry = Entry(
        "south", "n", "p", "ws://h:1/x", True, None, tokens=(Grant(Secret(env="T"), "a"),)
    )
    judge = options_of(entry, Carriage(None, 100, USE, in_band=True)).authorize
    assert judge is not None
    assert judge(Opening()) is None
    keeper = gatekeeper_of(entry, USE)
    assert (keeper.whose("one"), keeper.whose("two"), keeper.whose("")) == ("a", None, None)


def test_where_nothing_is_granted_no_token_proves_anything() -> None:
    keeper = Gatekeeper(())
    assert keeper.whose("any") is None
    assert keeper.identify({"authorization": "Bearer any"}) is None
