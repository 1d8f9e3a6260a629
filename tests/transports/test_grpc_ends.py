"""How calls end, told from either end, over loopback sockets."""

from __future__ import annotations

import attrs
import pytest
import trio

from fleetgate.transports.api import (
    DialRefused,
    FrameRefused,
    GrpcMethod,
    GrpcOptions,
    Link,
    LinkBroken,
    LinkClosed,
    Options,
)
from fleetgate.transports.grpc_testing import (
    ASK,
    LISTEN,
    TALK,
    TELL,
    prefixed,
    raw_client,
    serving,
    talking,
)
from fleetgate.transports.open import open_dialer
from fleetgate.transports.testing import SETTLED, open_link_pair

HERE = "grpc://127.0.0.1:0"


async def end_of(link: Link) -> Exception:
    try:
        while True:
            await link.receive()
    except (trio.EndOfChannel, LinkBroken) as end:
        return end


@pytest.mark.parametrize("code", [*range(1, 17), 1001, 1008, 1011, 4002])
async def test_a_status_crosses(code: int) -> None:
    async with open_link_pair(HERE, talking(final=frozenset({16}))) as (near, far):
        assert near.speaks_status
        assert far.speaks_status
        await far.send(b"before")
        await far.close(code, "why: ü\n")
        assert await near.receive() == b"before"
        end = await end_of(near)
        assert isinstance(end, LinkBroken)
        expected = {1001: 14, 1008: 7, 1011: 13, 4002: 2}.get(code, code)
        assert (end.code, end.final, end.reason) == (expected, code == 16, "why: ü\n")
        assert str(end).endswith(f"({expected}): why: ü\n")
        with pytest.raises(LinkBroken):
            await near.send(b"after")


@pytest.mark.parametrize("code", [0, 1000, 1005])
async def test_ok_is_an_end_in_order(code: int) -> None:
    async with open_link_pair(HERE, talking()) as (near, far):
        await far.close(code, "nobody hears this")
        assert isinstance(await end_of(near), trio.EndOfChannel)
        with pytest.raises(LinkBroken):
            await near.send(b"after")


async def test_a_cut_is_cancelled_for_the_peer() -> None:
    for mine in (0, 1):
        async with open_link_pair(HERE, talking()) as ends:
            await ends[mine].close(None)
            end = await end_of(ends[1 - mine])
            assert isinstance(end, LinkBroken)
            assert end.code == 1


async def test_what_came_before_a_cut_is_read_first() -> None:
    async with open_link_pair(HERE, talking()) as (near, far):
        await far.send_some([b"1", b"2"])
        await far.close(None)
        assert [await near.receive(), await near.receive()] == [b"1", b"2"]
        assert isinstance(await end_of(near), LinkBroken)


async def test_cancelling_a_client_cancels_the_call() -> None:
    async with open_link_pair(HERE, talking()) as (near, far):

        async def use() -> None:
            try:
                await near.receive()
            finally:
                await near.close(None)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(use)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        end = await end_of(far)
        assert isinstance(end, LinkBroken)
        assert end.code == 1
        with pytest.raises(LinkClosed):
            await near.receive()


async def test_a_client_says_that_nothing_more_comes_and_hears_the_rest() -> None:
    async with open_link_pair(HERE, talking()) as (near, far):
        await near.send(b"all")
        assert await near.send_eof()
        assert await near.send_eof()
        with pytest.raises(FrameRefused, match="send_eof"):
            await near.send(b"more")
        assert await far.receive() == b"all"
        assert isinstance(await end_of(far), trio.EndOfChannel)
        assert not await far.send_eof()
        await far.send(b"the rest")
        await far.close(10, "replaced")
        assert await near.receive() == b"the rest"
        end = await end_of(near)
        assert isinstance(end, LinkBroken)
        assert (end.code, end.reason) == (10, "replaced")


async def test_a_client_has_no_status_to_send() -> None:
    async with open_link_pair(HERE, talking()) as (near, far), trio.open_nursery() as nursery:
        nursery.start_soon(near.close, 1011, "a fault here")
        assert isinstance(await end_of(far), trio.EndOfChannel)
        await far.send(b"it is not read any more")
        await far.close(0)


async def test_each_kind_of_call() -> None:
    async def handler(link: Link) -> None:
        got = [frame async for frame in link]
        many = link.opening.path in (TALK, LISTEN)
        await link.send_some([b"+".join(got)] * (3 if many else 1))
        await link.close(0)

    async with serving(handler) as url:
        for path, sent in ((ASK, 1), (LISTEN, 1), (TELL, 3), (TALK, 3)):
            async with open_dialer(url, talking(path)) as dialer:
                link = await dialer.dial()
                await link.send_some([b"x"] * sent)
                if path in (ASK, LISTEN):  # one message ends the request by itself
                    got = [frame async for frame in link]
                    assert got == [b"x"] * (1 if path == ASK else 3)
                await link.close(0)


async def test_an_answer_that_must_be_one_message() -> None:
    async with open_link_pair(HERE, talking(ASK)) as (near, far):
        await far.close(0)
        end = await end_of(near)
        assert isinstance(end, LinkBroken)
        assert end.code == 13
    async with open_link_pair(HERE, talking(ASK)) as (near, far):
        await far.close(5, "nothing here")
        end = await end_of(near)
        assert isinstance(end, LinkBroken)
        assert end.code == 5


async def test_a_client_counts_the_answers() -> None:
    """The server thinks that the call streams; the client was told otherwise."""
    dialling = Options(grpc=GrpcOptions({TALK: GrpcMethod(True, False)}, TALK))
    for answers in ((), (b"1", b"2")):
        async with open_link_pair(HERE, talking(), dialling) as (near, far):
            await far.send_some(answers)
            await far.close(0)
            end = await end_of(near)
            assert isinstance(end, LinkBroken)
            assert end.code == 12


async def test_a_server_counts_the_requests() -> None:
    async def handler(link: Link) -> None:
        await end_of(link)

    async with serving(handler) as url, raw_client(url) as raw:
        for messages in (0, 2):
            call = raw.request(ASK)
            raw.h2.send_data(call, prefixed(b"x") * messages, end_stream=True)
            await raw.flush()
            assert (await raw.outcome(call))["grpc-status"] == "12"


async def test_the_answer_to_what_is_no_message_is_given_when_the_link_closes() -> None:
    ends: list[tuple[bytes, Exception]] = []

    async def handler(link: Link) -> None:
        first = await link.receive()
        ends.append((first, await end_of(link)))
        await link.send(b"still to be said")

    async with serving(handler) as url, raw_client(url) as raw:
        call = raw.request(TALK)
        raw.h2.send_data(call, prefixed(b"good") + prefixed(b"bad", flag=7))
        await raw.flush()
        outcome = await raw.outcome(call)
        assert outcome["grpc-status"] == "13"
    ((first, end),) = ends
    assert first == b"good"
    assert isinstance(end, LinkBroken)
    assert end.code == 13


async def test_a_deadline_ends_the_call() -> None:
    ends: list[Exception] = []
    done = trio.Event()

    async def handler(link: Link) -> None:
        ends.append(await end_of(link))
        done.set()

    async with serving(handler) as url, raw_client(url) as raw:
        call = raw.request(TALK, {"grpc-timeout": "1m"})
        await raw.flush()
        assert (await raw.outcome(call))["grpc-status"] == "4"
        await done.wait()
    assert isinstance(ends[0], LinkBroken)
    assert ends[0].code == 4


async def test_a_call_that_is_done_in_time_has_no_deadline() -> None:
    async def handler(link: Link) -> None:
        await link.close(0)

    async with serving(handler) as url, raw_client(url) as raw:
        call = raw.request(TALK, {"grpc-timeout": "1H"})
        await raw.flush()
        assert (await raw.outcome(call))["grpc-status"] == "0"


async def test_a_client_that_does_not_read_hears_why_it_ends_all_the_same() -> None:
    closed = trio.Event()

    async def handler(link: Link) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fill, link)
            await trio.testing.wait_all_tasks_blocked(SETTLED)
            await link.close(1001, "the gateway stops")
            closed.set()

    async def fill(link: Link) -> None:
        with pytest.raises((LinkClosed, LinkBroken)):
            await link.send_some([bytes(100_000)] * 1000)

    short = attrs.evolve(talking(), close_timeout=0.2)  # it is waited for in vain
    async with serving(handler, short) as url, raw_client(url) as raw:
        call = raw.request(TALK)
        await raw.flush()
        await closed.wait()
        outcome = await raw.outcome(call)
        assert (outcome["grpc-status"], outcome["grpc-message"]) == ("14", "the gateway stops")


async def test_a_dial_that_is_refused() -> None:
    options = attrs.evolve(talking(final=frozenset({12})))
    async with serving(end_of) as url:  # type: ignore[arg-type]
        assert options.grpc is not None
        elsewhere = attrs.evolve(options, grpc=attrs.evolve(options.grpc, dial="/test.Talk/None"))
        async with open_dialer(url, elsewhere) as dialer:
            with pytest.raises(DialRefused, match="UNIMPLEMENTED") as caught:
                await dialer.dial()
        assert (caught.value.status, caught.value.final) == (12, True)
