"""Who is let in at a control plane: section 2."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.tck.kodelet.plane import PlaneAttempt, Runner, registration
from fleetgate.gateway.tck.kodelet.talk import PATH, SUBPROTOCOL, expect_equal
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.transports.address import parse_address

TOPIC: Final = Topic("upgrade")

BAD_REQUEST: Final = 400
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403

NO_SUBPROTOCOL: Final = (
    b'{"error":"runner websocket subprotocol is required","status":400,"success":false}'
)
NO_TOKEN: Final = b'{"error":"runner authentication required","status":401,"success":false}'

_NEW: Final = "a runner that dials"
_GUARDED: Final = "a control plane that asks for a token (--token)"


async def _expect(kit: PlaneAttempt, status: int, what: str, **changes: object) -> None:
    came = await kit.status(**changes)
    if came != status:
        raise Unmet(f"HTTP {status} for {what}", f"it was {came}")


async def _expect_let_in(kit: PlaneAttempt, **changes: object) -> Runner:
    runner = await kit.peer(Runner, **changes)
    await runner.register(**registration(kit.instance()))
    return runner


@TOPIC.must(
    "KODELET-C-101",
    given=_NEW,
    when=f"the upgrade offers {SUBPROTOCOL}, alone or among others",
    expect="that it is let in, and the subprotocol in the answer",
    source="kodelet 2.1",
)
async def let_in(kit: PlaneAttempt) -> None:
    for offered in ((SUBPROTOCOL,), ("tck.other", SUBPROTOCOL)):
        runner = await _expect_let_in(kit, subprotocols=offered)
        expect_equal(runner.link.opening.subprotocol, SUBPROTOCOL, "the subprotocol")


@TOPIC.must(
    "KODELET-C-102",
    given=_NEW,
    when="the upgrade offers no subprotocol, or another one",
    expect=f"HTTP {BAD_REQUEST}",
    source="kodelet 2.2; case 1",
)
async def no_subprotocol(kit: PlaneAttempt) -> None:
    for offered in ((), ("tck.other",)):
        await _expect(kit, BAD_REQUEST, f"the subprotocols {offered}", subprotocols=offered)


@TOPIC.must(
    "KODELET-C-103",
    given=_NEW,
    when="the upgrade offers no subprotocol",
    expect=f"the very body {NO_SUBPROTOCOL.decode()}, as application/json",
    source="kodelet 2.2; case 1",
)
async def body(kit: PlaneAttempt) -> None:
    await _expect_body(kit, BAD_REQUEST, NO_SUBPROTOCOL, _shown(kit))


def _shown(kit: PlaneAttempt) -> str:
    return f"Authorization: Bearer {kit.given.token}\r\n" if kit.given.token else ""


async def _expect_body(kit: PlaneAttempt, status: int, body: bytes, more: str) -> None:
    address = parse_address(kit.target.address)
    raw = await kit.raw()
    path = address.path if address.path.strip("/") else PATH
    await raw.send(
        f"GET {path} HTTP/1.1\r\nHost: {address.host}:{address.port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n".encode()
    )
    came = await raw.through(b"}")
    head, _, rest = came.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    if not lines[0].startswith(f"http/1.1 {status}"):
        raise Unmet(f"HTTP {status}", f"it was {lines[0]}")
    if not any(line.startswith("content-type: application/json") for line in lines):
        raise Unmet("the content type application/json", f"the headers are {lines[1:]}")
    if rest.strip() != body:
        raise Unmet(body.decode(), f"the body is {rest!r:.300}")


def _token(kit: PlaneAttempt) -> str:
    if not kit.given.token:
        raise Skipped("it needs a control plane with a token: give --token")
    return kit.given.token


@TOPIC.must(
    "KODELET-C-104",
    given=_GUARDED,
    when="the upgrade shows none, a wrong one, or the right one with the scheme Basic; with the "
    "subprotocol, and without it",
    expect=f"HTTP {UNAUTHORIZED}: this is looked at first",
    source="kodelet 2.2, 2.3",
)
async def refused(kit: PlaneAttempt) -> None:
    for shown in ("", "Bearer tck", f"Basic {_token(kit)}"):
        headers = {"authorization": shown} if shown else {}
        await _expect(kit, UNAUTHORIZED, "a wrong token", headers=headers)
        what = "a wrong token and no subprotocol"
        await _expect(kit, UNAUTHORIZED, what, headers=headers, subprotocols=())


@TOPIC.must(
    "KODELET-C-105",
    given=_GUARDED,
    when="the upgrade shows none",
    expect=f"the very body {NO_TOKEN.decode()}, as application/json",
    source="kodelet 2.2",
)
async def refused_body(kit: PlaneAttempt) -> None:
    _token(kit)
    offered = f"Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n"
    await _expect_body(kit, UNAUTHORIZED, NO_TOKEN, offered)


@TOPIC.must(
    "KODELET-C-106",
    given=_GUARDED,
    when="the upgrade shows it as Bearer or Token, in any case, with more than one space, or bare",
    expect="that it is let in",
    source="kodelet 2.3",
)
async def forms(kit: PlaneAttempt) -> None:
    token = _token(kit)
    for shown in (f"Bearer {token}", f"bearer {token}", f"TOKEN  {token}", token):
        await _expect_let_in(kit, headers={"authorization": shown})


@TOPIC.should(
    "KODELET-C-107",
    given=_GUARDED,
    when="the upgrade shows it as the cookie kodelet_auth_token, without and with a wrong "
    "Authorization beside it",
    expect=f"that it is let in, and HTTP {UNAUTHORIZED}",
    source="kodelet 2.3; 14.3 takes the cookie away",
)
async def cookie(kit: PlaneAttempt) -> None:
    headers = {"cookie": f"a=b; kodelet_auth_token={_token(kit)}"}
    await _expect_let_in(kit, headers=headers)
    headers = {**headers, "authorization": "Bearer tck"}
    await _expect(kit, UNAUTHORIZED, "a wrong token beside the cookie", headers=headers)


@TOPIC.must(
    "KODELET-C-108",
    given=_NEW,
    when="the upgrade has an Origin of somebody else's page, or of a page on loopback",
    expect=f"HTTP {FORBIDDEN}, and that it is let in",
    source="kodelet 2.2",
)
async def origins(kit: PlaneAttempt) -> None:
    token = kit.given.token
    shown = {"authorization": f"Bearer {token}"} if token else {}
    headers = {**shown, "origin": "https://tck.invalid"}
    await _expect(kit, FORBIDDEN, "a foreign Origin", headers=headers)
    await _expect_let_in(kit, headers={**shown, "origin": "http://localhost:3000"})
