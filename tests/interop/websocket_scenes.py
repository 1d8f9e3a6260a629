"""Our two ends of a WebSocket, a genuine peer at the other. The same scenes in each lane."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
from peers import Line, Peer, Start
from staging import Papers, tls

from fleetgate.transports.api import Link, LinkBroken, LinkError, Opening, Options, TlsFiles
from fleetgate.transports.open import open_dialer, open_listener

LIMIT = 4 << 20
SIZES = (0, 1, 125, 126, 65_535, 65_536, 1 << 20, LIMIT)
OPTIONS = Options(limit=LIMIT, path="/echo", subprotocols=("echo",))


async def until(peer: Peer, **members: object) -> Line:
    return await trio.to_thread.run_sync(lambda: peer.until(**members))


async def started(genuine: Start, *words: str) -> Peer:
    return await trio.to_thread.run_sync(lambda: genuine(*words))


@asynccontextmanager
async def listening(
    options: Options = OPTIONS, handler: Callable[[Link], Any] | None = None
) -> AsyncIterator[str]:
    """A server of ours that echoes, and its URL."""
    scheme = "wss" if options.tls else "ws"
    async with (
        open_listener(f"{scheme}://127.0.0.1:0/echo", options) as listener,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(listener.serve, handler or echo)
        yield listener.addresses[0]
        nursery.cancel_scope.cancel()


async def echo(link: Link) -> None:
    async for frame in link:
        await link.send(frame)


def tell(peer: Peer, op: str, data: bytes = b"", **members: object) -> None:
    peer.tell(op, data=base64.b64encode(data).decode(), **members)


async def heard(peer: Peer, kind: str) -> bytes:
    return base64.b64decode((await until(peer, event="message", kind=kind))["data"])


@pytest.mark.parametrize("words", [(), ("--compress",)], ids=["plain", "offering compression"])
async def test_a_client_of_theirs(genuine: Start, words: tuple[str, ...]) -> None:
    """A client of theirs: messages of each size, whole and in fragments, and pings."""
    async with listening() as url:
        client = await started(genuine, "client", "--at", url, *words)
        assert (await until(client, event="ready"))["subprotocol"] == "echo"
        for size in SIZES:
            tell(client, "send", b"\xe9" * size, kind="binary")
            assert await heard(client, "binary") == b"\xe9" * size
        tell(client, "pieces", bytes(range(256)) * 100)
        assert await heard(client, "binary") == bytes(range(256)) * 100
        tell(client, "ping")
        await until(client, event="pong")


async def test_texts_of_a_client_of_theirs(genuine: Start) -> None:
    """Text messages, where the link is of text."""
    async with listening(attrs.evolve(OPTIONS, binary=False)) as url:
        client = await started(genuine, "client", "--at", url)
        for text in ("", "é€𝄞\0", "x" * 70_000):
            tell(client, "send", text.encode(), kind="text")
            assert (await heard(client, "text")).decode() == text


@pytest.mark.parametrize(
    ("kind", "data", "code"), [("text", b"x", 1003), ("binary", bytes(LIMIT + 1), 1009)]
)
async def test_what_we_do_not_take_of_them(
    genuine: Start, kind: str, data: bytes, code: int
) -> None:
    """A text on a binary link is 1003, a message above the limit 1009: they hear that code."""
    async with listening() as url:
        client = await started(genuine, "client", "--at", url)
        await until(client, event="ready")
        tell(client, "send", data, kind=kind)
        assert (await until(client, event="down"))["code"] == code


@pytest.mark.parametrize("code", [1000, 1001, 3000, 4001])
async def test_who_closes(genuine: Start, code: int) -> None:
    """A close of theirs is heard with its code, and one of ours by them."""
    ends: list[int | None] = []
    done = trio.Event()

    async def note(link: Link) -> None:
        first = await link.receive()
        if first == b"you":
            await link.close(code, "bye é")
            return
        try:
            await link.receive()
        except trio.EndOfChannel:
            ends.append(None)
        except LinkBroken as error:
            ends.append(error.code)
        done.set()

    async with listening(handler=note) as url:
        client = await started(genuine, "client", "--at", url)
        tell(client, "send", b"I", kind="binary")
        tell(client, "close", code=code, text="bye é")
        await done.wait()
        other = await started(genuine, "client", "--at", url)
        tell(other, "send", b"you", kind="binary")
        assert (await until(other, event="down"))["code"] == code
    assert ends == [None if code < 3000 else code]


async def test_who_is_not_let_in(genuine: Start) -> None:
    """A client of theirs that is refused hears the status."""

    def authorize(opening: Opening) -> int | None:
        return None if opening.headers.get("authorization") == "Bearer other" else 401

    async with listening(attrs.evolve(OPTIONS, authorize=authorize)) as url:
        client = await started(genuine, "client", "--at", url)
        assert (await until(client, event="refused"))["status"] == 401
        client = await started(genuine, "client", "--at", url.replace("/echo", "/none"))
        assert (await until(client, event="refused"))["status"] == 404


@asynccontextmanager
async def dialled(genuine: Start, *words: str, **options: Any) -> AsyncIterator[tuple[Peer, Link]]:
    """A link of ours to a server of theirs."""
    server = await started(genuine, "server", *words)
    address = (await until(server, event="ready"))["address"]
    headers = {"authorization": "Bearer s3cret"}
    wanted = attrs.evolve(OPTIONS, headers=headers, **options)
    async with open_dialer(f"{address}/echo", wanted) as dialer:
        link = await dialer.dial()
        yield server, link
        await link.close(1000)


@pytest.mark.parametrize("words", [(), ("--compress",)], ids=["plain", "with compression"])
async def test_a_server_of_theirs(genuine: Start, words: tuple[str, ...]) -> None:
    """A server of theirs: messages of each size, and its pings."""
    async with dialled(genuine, *words) as (server, link):
        up = await until(server, event="up")
        assert (up["subprotocol"], up["authorization"]) == ("echo", "Bearer s3cret")
        assert link.opening.subprotocol == "echo"
        for size in SIZES:
            await link.send(b"\xe9" * size)
            assert await link.receive() == b"\xe9" * size
        await link.send_some([b"%d" % number for number in range(2000)])
        got: list[bytes] = []
        while len(got) < 2000:
            got += await link.receive_some()
        assert got == [b"%d" % number for number in range(2000)]
        await link.send(b"ping me")
        assert await link.receive() == b"ping me"
        await until(server, event="pongs")


async def test_a_server_of_theirs_answers_our_pings(genuine: Start) -> None:
    """Our pings are answered, and keep the link up."""
    async with dialled(genuine, ping_every=0.05, dead_after=30.0) as (_, link):
        while link.statistics().bytes_in < 40:  # noqa: ASYNC110 - pongs are told to nobody
            await trio.sleep(0.01)
        await link.send(b"still here")
        assert await link.receive() == b"still here"


async def test_a_server_of_theirs_closes(genuine: Start) -> None:
    """A close of theirs is heard with code and reason; ours by them."""
    async with dialled(genuine) as (server, link):
        await link.send(b"close me")
        with pytest.raises(LinkBroken, match="as you wish") as caught:
            await link.receive()
        assert caught.value.code == 4321
    async with dialled(genuine) as (server, link):
        await link.close(4002, "replaced")
        assert (await until(server, event="down"))["code"] == 4002


async def test_a_server_of_theirs_takes_no_more_than_its_limit(genuine: Start) -> None:
    """What is above their limit ends the link, with their 1009 where that still comes through."""

    async def ask() -> None:
        await link.send(bytes(LIMIT + 1))
        await link.receive()

    async with dialled(genuine, limit=LIMIT * 2) as (_, link):
        with pytest.raises(LinkBroken) as caught:
            await ask()
        assert caught.value.code in (1009, 1006, None)


MUTUAL = pytest.mark.parametrize("mutual", [False, True], ids=["tls", "mtls"])


@MUTUAL
async def test_a_client_of_theirs_over_tls(genuine: Start, papers: Papers, mutual: bool) -> None:
    """A client of theirs over TLS; where we want a certificate, none or a strange one is out."""
    files = TlsFiles(*papers.server, ca=papers.ca if mutual else None)
    pair = papers.client if mutual else None
    async with listening(attrs.evolve(OPTIONS, tls=files)) as url:
        client = await started(genuine, "client", "--at", url, *tls(papers.ca, pair, "--"))
        tell(client, "send", b"secret", kind="binary")
        assert await heard(client, "binary") == b"secret"
        for wrong in (None, papers.stranger) if mutual else ():
            words = tls(papers.ca, wrong, "--")
            client = await started(genuine, "client", "--at", url, *words)
            assert (await until(client, event="refused"))["status"] == 0


@pytest.mark.parametrize("wrong", ["client", "stranger"], ids=["another host", "of strangers"])
async def test_a_client_of_theirs_that_does_not_trust_us(
    genuine: Start, papers: Papers, wrong: str
) -> None:
    """A client of theirs does not talk to us under another host's certificate, or a stranger's."""
    files = TlsFiles(*getattr(papers, wrong))
    async with listening(attrs.evolve(OPTIONS, tls=files)) as url:
        client = await started(genuine, "client", "--at", url, *tls(papers.ca, prefix="--"))
        assert "certificate" in (await until(client, event="refused"))["why"]


async def refusal(genuine: Start, files: TlsFiles, *words: str) -> str:
    """Why there is no link of ours to a server of theirs."""
    server = await started(genuine, "server", *words)
    address = (await until(server, event="ready"))["address"]
    async with open_dialer(f"{address}/echo", attrs.evolve(OPTIONS, tls=files)) as dialer:
        with pytest.raises(LinkError) as caught:
            await dialer.dial()
    return str(caught.value)


@MUTUAL
async def test_a_server_of_theirs_over_tls(genuine: Start, papers: Papers, mutual: bool) -> None:
    """A server of theirs over TLS; where it wants a certificate, ours is shown, and without it
    there is no link."""
    own = ["--cert", papers.server[0], "--key", papers.server[1]]
    words = [*own, *(["--ca", papers.ca] if mutual else [])]
    pair = papers.client if mutual else (None, None)
    async with dialled(genuine, *words, tls=TlsFiles(*pair, ca=papers.ca)) as (_, link):
        await link.send(b"secret")
        assert await link.receive() == b"secret"
    for wrong in ((None, None), papers.stranger) if mutual else ():
        assert await refusal(genuine, TlsFiles(*wrong, ca=papers.ca), *words)


@pytest.mark.parametrize("wrong", ["client", "stranger"], ids=["another host", "of strangers"])
async def test_a_server_of_theirs_that_we_do_not_trust(
    genuine: Start, papers: Papers, wrong: str
) -> None:
    """A server of theirs under another host's certificate, or a stranger's, is not talked to."""
    cert, key = getattr(papers, wrong)
    why = await refusal(genuine, TlsFiles(ca=papers.ca), "--cert", cert, "--key", key)
    assert "certificate" in why
