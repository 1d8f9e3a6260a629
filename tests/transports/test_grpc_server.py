"""What a stranger may send to a listener: each thing has its answer, and ends its own call or
connection only."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from contextlib import suppress
from weakref import WeakSet

import attrs
import pytest
import trio
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, PingAckReceived
from h2.settings import SettingCodes
from trio.testing import MockClock

from fleetgate.transports import grpc_link, grpc_server
from fleetgate.transports.address import parse_address
from fleetgate.transports.api import (
    DialFailed,
    DialRefused,
    Link,
    LinkBroken,
    Opening,
    Options,
    Rejection,
)
from fleetgate.transports.grpc_http2 import CONNECTION_WINDOW
from fleetgate.transports.grpc_link import GrpcLink
from fleetgate.transports.grpc_server import QUIET, ServerConnection
from fleetgate.transports.grpc_services import WATCH
from fleetgate.transports.grpc_testing import (
    ASK,
    TALK,
    RawHttp2,
    echo,
    prefixed,
    raw_client,
    serving,
    talking,
)
from fleetgate.transports.open import open_dialer, open_listener
from fleetgate.transports.tcp import connect

MESSAGE = prefixed(b"hello")
PING = b"\0\0\x08\x06\0\0\0\0\0" + b"12345678"


class Reports:
    """What a listener reports. A peer may see an end before it is reported, so it is waited for."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str]] = []
        self._came = trio.Event()

    def __call__(self, what: str, why: BaseException | None) -> None:
        self.all.append((what, str(why)))
        self._came.set()

    async def wait(self, count: int) -> list[tuple[str, str]]:
        """All of them, once there are so many."""
        while len(self.all) < count:
            self._came = trio.Event()
            await self._came.wait()
        return self.all


def noted(options: Options | None = None) -> tuple[Options, Reports]:
    """Options, and what their listener reports."""
    reports = Reports()
    return attrs.evolve(options or talking(), report=reports), reports


async def echoes(url: str, options: Options | None = None) -> bool:
    """Whether the listener still serves."""
    async with open_dialer(url, options or talking()) as dialer:
        link = await dialer.dial()
        await link.send(b"still here?")
        answer = await link.receive()
        await link.close(None)
        return answer == b"still here?"


async def say(url: str, data: bytes) -> bytes:
    """Everything that a bare TCP client gets for these bytes."""
    got = b""
    async with await connect(parse_address(url)) as stream:
        await stream.send_all(data)
        with suppress(trio.BrokenResourceError):
            while piece := await stream.receive_some():
                got += piece
    return got


# --- one call


@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        ({":path": "/test.Talk/None"}, {"grpc-status": "12", ":status": "200"}),
        ({":path": ""}, {"reset": "1"}),
        ({":method": "GET"}, {":status": "405"}),
        ({"content-type": "application/json"}, {":status": "415"}),
        ({"grpc-timeout": "soon"}, {"grpc-status": "13"}),
    ],
)
async def test_a_call_that_is_none(headers: dict[str, str], answer: dict[str, str]) -> None:
    async with serving(echo) as url, raw_client(url) as raw:
        call = raw.request(TALK, headers)
        raw.h2.send_data(call, MESSAGE)
        await raw.flush()
        outcome = await raw.outcome(call)
        assert answer.items() <= outcome.items()
        good = raw.request(TALK, end=True)
        await raw.flush()
        assert (await raw.outcome(good))["grpc-status"] == "0"


@pytest.mark.parametrize(
    ("data", "headers", "status"),
    [
        (b"\xff\xff\xff\xff\xff\xff", {}, "13"),
        (prefixed(b"packed", flag=1), {}, "13"),
        (prefixed(b"packed", flag=1), {"grpc-encoding": "gzip"}, "12"),
        (prefixed(b"whole") + b"\0\0\0", {}, "13"),
        (b"\0\x7f\xff\xff\xff", {}, "8"),
        (prefixed(bytes(1 << 20)) + prefixed(bytes(1 << 20) + b"x")[:100], {}, "8"),
    ],
)
async def test_bytes_that_are_no_message(data: bytes, headers: dict[str, str], status: str) -> None:
    async with serving(echo) as url, raw_client(url) as raw:
        call, beside = raw.request(TALK, headers), raw.request(TALK)
        while data:
            room = min(raw.h2.local_flow_control_window(call), 16384, len(data))
            if room:
                raw.h2.send_data(call, data[:room])
                data = data[room:]
                await raw.flush()
            else:
                await raw.next()
        raw.h2.end_stream(call)
        await raw.flush()
        raw.h2.increment_flow_control_window(1 << 21)
        raw.h2.increment_flow_control_window(1 << 21, call)
        await raw.flush()
        assert (await raw.outcome(call))["grpc-status"] == status
        raw.h2.send_data(beside, MESSAGE, end_stream=True)
        await raw.flush()
        assert (await raw.outcome(beside))["grpc-status"] == "0"


async def test_a_message_above_the_limit_is_not_taken_in() -> None:
    held: list[int] = []

    async def handler(link: Link) -> None:
        assert isinstance(link, GrpcLink)
        with suppress(LinkBroken):
            await link.receive()
        held.append(link.statistics().bytes_in)

    async with serving(handler) as url, raw_client(url) as raw:
        call = raw.request(TALK)
        raw.h2.send_data(call, b"\0\xff\xff\xff\xff" + bytes(16000))
        await raw.flush()
        outcome = await raw.outcome(call)
        assert outcome["grpc-status"] == "8"
        assert "limit is 1048576" in outcome["grpc-message"]
    assert held[0] <= 16005


@pytest.mark.parametrize(
    ("verdict", "status"),
    [(401, "16"), (Rejection(403, b"not you"), "7"), (503, "14"), (404, "12"), (500, "2")],
)
async def test_who_is_not_let_in(verdict: int | Rejection, status: str) -> None:
    seen: list[Opening] = []

    def authorize(opening: Opening) -> int | Rejection | None:
        seen.append(opening)
        return verdict

    options = attrs.evolve(
        talking(final=frozenset({16})), authorize=authorize, headers={"Authorization": "Bearer x"}
    )
    async with serving(echo, options) as url, open_dialer(url, options) as dialer:
        with pytest.raises(DialRefused) as caught:
            await dialer.dial()
        assert caught.value.status == int(status)
        assert caught.value.final is (status == "16")
        if isinstance(verdict, Rejection):
            assert str(caught.value).endswith("not you")
    assert seen[0].headers["authorization"] == "Bearer x"
    assert seen[0].headers["host"] == url.partition("//")[2]
    assert seen[0].path == TALK
    assert seen[0].peer.startswith("127.0.0.1:")


# --- floods


async def window_is_whole(raw: RawHttp2) -> bool:
    """Whether all that was sent on a connection has come back, without a call to wait for."""
    raw.h2.ping(b"settled?")
    await raw.flush()
    await raw.until(PingAckReceived)
    return raw.h2.outbound_flow_control_window == CONNECTION_WINDOW


async def test_fault_8_calls_that_are_opened_and_cut() -> None:
    """A thousand, in one breath, with data that nobody reads."""
    started = 0

    async def handler(link: Link) -> None:
        nonlocal started
        started += 1
        await echo(link)

    options, reports = noted()
    async with serving(handler, options) as url, raw_client(url) as raw:
        for number in range(1000):
            call = raw.request(TALK)
            raw.h2.send_data(call, MESSAGE * 10)
            raw.h2.reset_stream(call, ErrorCodes.CANCEL)
            if number % 50 == 49:
                await raw.flush()
        assert await window_is_whole(raw)
        assert await echoes(url)
    assert started < 1000
    assert reports.all == []


FLOOD = int(os.environ.get("FLEETGATE_FLOOD", "500"))
"""Calls of the flood below; `just flood` has 20,000."""


async def test_fault_7_calls_whose_handler_raises() -> None:
    """With data unread, and the window is whole again."""
    options, reports = noted()

    async def handler(link: Link) -> None:
        raise RuntimeError("a bug")

    async with serving(handler, options) as url, raw_client(url) as raw:
        done = 0
        while done < FLOOD:
            batch = min(50, FLOOD - done)
            calls: list[int] = []
            for _ in range(batch):
                calls.append(raw.request(TALK))
                raw.h2.send_data(calls[-1], MESSAGE * 10)
            await raw.flush()
            for call in calls:
                assert (await raw.outcome(call))["grpc-status"] == "13"
            done += batch
            raw.seen.clear()
        assert await window_is_whole(raw)
    assert reports.all == [("handler_failed", "a bug")] * FLOOD


async def test_calls_that_are_cut_while_their_handlers_are_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a peer has at work here is bounded by handlers, not by calls that still live."""
    monkeypatch.setattr(grpc_server, "CALLS", 3)
    busy = trio.Event()

    async def handler(link: Link) -> None:
        await busy.wait()

    async with serving(handler) as url, raw_client(url) as raw:
        for _ in range(3):
            call = raw.request(TALK)
            await raw.flush()
            raw.h2.ping(b"started?")
            await raw.flush()
            await raw.until(PingAckReceived)
            raw.h2.reset_stream(call, ErrorCodes.CANCEL)
        refused = raw.request(TALK)
        await raw.flush()
        assert await raw.outcome(refused) == {"reset": str(int(ErrorCodes.REFUSED_STREAM))}
        async with raw_client(url) as other:
            call = other.request(TALK)
            await other.flush()
            busy.set()
            assert (await other.outcome(call))["grpc-status"] == "0"


@pytest.mark.limit("transports/grpc_connection.HELD")
async def test_one_connection_holds_so_much_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_link, "HELD", 300_000)
    busy = trio.Event()

    async def handler(link: Link) -> None:
        await busy.wait()
        await echo(link)

    async with serving(handler) as url, raw_client(url) as raw:
        calls: list[int] = []
        for _ in range(4):
            calls.append(raw.request(TALK))
            for _ in range(10):
                raw.h2.send_data(calls[-1], prefixed(bytes(10_000)))
            await raw.flush()
        raw.h2.ping(b"received")
        await raw.flush()
        await raw.until(PingAckReceived)
        busy.set()
        raw.h2.increment_flow_control_window(1 << 20)
        for call in calls[:3]:
            raw.h2.reset_stream(call)
        await raw.flush()
        assert (await raw.outcome(calls[3]))["grpc-status"] == "8"
        assert await window_is_whole(raw)


async def test_more_calls_than_there_may_be() -> None:
    options, reports = noted(attrs.evolve(talking(), max_links=2))
    async with serving(echo, options) as url, raw_client(url) as raw:
        first, _second, third = [raw.request(TALK) for _ in range(3)]
        await raw.flush()
        assert await raw.outcome(third) == {"reset": str(int(ErrorCodes.REFUSED_STREAM))}
        raw.h2.end_stream(first)
        await raw.flush()
        assert (await raw.outcome(first))["grpc-status"] == "0"
        fourth = raw.request(TALK, end=True)
        await raw.flush()
        assert (await raw.outcome(fourth))["grpc-status"] == "0"
    assert reports.all == [("links_full", "None")]


async def test_too_many_pings() -> None:
    async with serving(echo) as url, raw_client(url) as raw:
        raw.request(TALK)
        await raw.flush()
        for number in range(4):
            raw.h2.ping(b"%08d" % number)
        await raw.flush()
        told = await raw.until(ConnectionTerminated)
        assert told.error_code == ErrorCodes.ENHANCE_YOUR_CALM
        assert told.additional_data == b"too_many_pings"
        await raw.ended()
        assert await echoes(url)


async def test_pings_between_messages_are_welcome() -> None:
    async with serving(echo, talking(pings_allowed_every=1000.0)) as url, raw_client(url) as raw:
        call = raw.request(TALK)
        for number in range(20):
            raw.h2.send_data(call, MESSAGE)
            await raw.flush()
            raw.h2.ping(b"%08d" % number)
            await raw.flush()
            await raw.until(PingAckReceived)
            while sum(len(getattr(event, "data", b"")) for event in raw.seen) < len(MESSAGE):
                await raw.next()
            raw.seen.clear()


# --- connections


async def test_clients_that_vanish() -> None:
    ends: list[int | None] = []
    all_ended = trio.Event()

    async def handler(link: Link) -> None:
        try:
            async for frame in link:
                await link.send(frame)
        except LinkBroken as error:
            ends.append(error.code)
            if len(ends) == 20:
                all_ended.set()

    async with serving(handler) as url:
        for number in range(20):
            async with raw_client(url) as raw:
                call = raw.request(TALK)
                raw.h2.send_data(call, (MESSAGE * 3)[: 5 + number])
                raw.h2.ping(b"received")
                await raw.flush()
                await raw.until(PingAckReceived)
        assert await echoes(url)
        await all_ended.wait()
    assert set(ends) == {1}


async def test_a_browser_is_told() -> None:
    options, reports = noted()
    async with serving(echo, options) as url:
        got = await say(url, b"GET /test.Talk/Both HTTP/1.1\r\nHost: gw\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 505 ")
        assert got.endswith(b"speaks gRPC, over HTTP/2\n")
        assert await echoes(url)
        await reports.wait(1)
    assert reports.all == [("handshake_failed", "the peer does not speak HTTP/2")]


@pytest.mark.parametrize("data", [b"\x16\x03\x01\x00\xa5\x01", b"\0" * 64, b"\xff" * 64])
async def test_noise(data: bytes) -> None:
    options, reports = noted()
    async with serving(echo, options) as url:
        assert await say(url, data) == b""
        assert await echoes(url)
        await reports.wait(1)
    assert len(reports.all) == 1


async def test_a_slow_preface_is_given_up() -> None:
    options, reports = noted(attrs.evolve(talking(), handshake_timeout=0.05))
    async with serving(echo, options) as url:
        assert await say(url, b"PRI * HTTP/2.0\r\n") == b""
        await reports.wait(1)
    assert reports.all == [("handshake_failed", "the handshake took too long")]


async def over(clock: MockClock, seconds: float) -> None:
    """Let time go by once nothing is under way. What is real does not depend on how fast this
    machine is, and nothing ends early."""
    await trio.testing.wait_all_tasks_blocked(0.01)
    clock.jump(seconds)


async def test_a_connection_that_nobody_uses_is_ended(mock_clock: MockClock) -> None:
    """Whoever has said the preface and nothing more holds no place for good. Nor does a call of the
    health service, which asks nobody who it is, nor one whose headers have no end."""
    unfinished = b"\0\0\1\1\0\0\0\0\1\x82"
    async with serving(echo) as url:
        for begun in (b"", b"\0\0", unfinished):
            async with raw_client(url) as raw:
                await raw.stream.send_all(begun)
                await over(mock_clock, QUIET)
                await raw.until(ConnectionTerminated)
                await raw.ended()
        async with raw_client(url) as raw:
            watch = raw.request(WATCH)
            raw.h2.send_data(watch, prefixed(b""), end_stream=True)
            await raw.flush()
            for _ in range(2):  # it was asked for something before the first
                await over(mock_clock, QUIET)
            await raw.until(ConnectionTerminated)
            await raw.ended()


async def test_a_connection_with_a_call_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, mock_clock: MockClock
) -> None:
    looks: list[bool] = []
    quiet = ServerConnection.quiet

    def looked(connection: ServerConnection) -> bool:
        looks.append(quiet(connection))
        return looks[-1]

    monkeypatch.setattr(ServerConnection, "quiet", looked)
    async with serving(echo) as url, raw_client(url) as raw:
        call = raw.request(TALK)
        await raw.flush()
        raw.h2.ping(b"started?")
        await raw.flush()
        await raw.until(PingAckReceived)
        for _ in range(5):
            await over(mock_clock, QUIET)
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert looks == [False] * 5
        raw.h2.end_stream(call)
        await raw.flush()
        assert (await raw.outcome(call))["grpc-status"] == "0"
        await over(mock_clock, QUIET)
        await raw.ended()
    assert looks[5:] == [True]


async def test_a_slow_tls_handshake_is_given_up(certificates) -> None:
    options, reports = noted(
        attrs.evolve(talking(), handshake_timeout=0.05, tls=certificates.listening())
    )
    async with serving(echo, options) as url:
        for hello in (b"", b"\x16\x03\x01"):
            assert await say(url, hello) == b""
        await reports.wait(2)
    assert reports.all == [("handshake_failed", "the handshake took too long")] * 2


async def test_a_peer_that_takes_nothing_keeps_no_socket() -> None:
    """It asks for too much, is sent away, and does not read that."""
    options, _ = noted()
    async with serving(echo, options) as url, raw_client(url) as raw:
        call = raw.request(TALK)
        raw.h2.send_data(call, MESSAGE)
        await raw.flush()
        with suppress(trio.BrokenResourceError):
            while True:
                await raw.stream.send_all(PING * 10_000)
        assert await echoes(url)


async def test_more_handshakes_than_there_may_be() -> None:
    options, reports = noted(attrs.evolve(talking(), max_handshakes=1))
    async with serving(echo, options) as url:
        async with await connect(parse_address(url)):
            assert await say(url, b"") == b""
            await reports.wait(1)
        assert [what for what, _ in reports.all] == ["handshakes_full"]


async def test_more_connections_than_there_may_be_links() -> None:
    options, reports = noted(attrs.evolve(talking(), max_links=1))
    async with serving(echo, options) as url, raw_client(url):
        assert await say(url, b"") == b""
        await reports.wait(1)
    assert [what for what, _ in reports.all] == ["links_full"]


async def test_who_connects_and_never_speaks_leaves_room_for_others() -> None:
    options, reports = noted(attrs.evolve(talking(), max_handshakes_each=1))
    async with serving(echo, options) as url, await connect(parse_address(url)):
        assert await say(url, b"") == b""
        await reports.wait(1)
        port = parse_address(url).port
        async with await trio.open_tcp_stream(
            "127.0.0.1", port, local_address="127.0.0.9"
        ) as other:
            await other.send_all(
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, *[0] * 5])
            )
            assert (await other.receive_some())[3] == 4, "the server's own settings"
        assert reports.all[0] == ("handshakes_full", "there are 1 handshakes from 127.0.0.1")


async def test_tls_and_none_do_not_mix(certificates, strangers) -> None:
    listening, reports = noted(attrs.evolve(talking(), tls=certificates.listening()))
    dialling = attrs.evolve(talking(), tls=certificates.dialling())
    async with serving(echo, listening) as url:
        async with open_dialer(url.replace("grpcs:", "grpc:"), talking()) as dialer:
            with pytest.raises(DialFailed, match="where TLS is spoken, the address begins with gr"):
                await dialer.dial()
        wrong = attrs.evolve(talking(), tls=strangers.dialling())
        async with open_dialer(url, wrong) as dialer:
            with pytest.raises(DialRefused, match="does not hold"):
                await dialer.dial()
        assert await echoes(url, dialling)
        await reports.wait(2)
    assert [what for what, _ in reports.all] == ["handshake_failed"] * 2
    said = [str(text) for _, text in reports.all]
    assert all(text.startswith("no TLS handshake with 127.0.0.1:") for text in said)
    assert {text.rpartition(": ")[2] for text in said} >= {"tlsv1 alert unknown ca"}
    async with serving(echo) as url:
        async with open_dialer(url.replace("grpc:", "grpcs:"), dialling) as dialer:
            with pytest.raises(DialFailed, match="no TLS handshake"):
                await dialer.dial()
        assert await echoes(url)


async def test_a_client_without_the_certificate_that_is_demanded(certificates) -> None:
    listening, reports = noted(attrs.evolve(talking(), tls=certificates.listening(mutual=True)))
    dialling = attrs.evolve(talking(), tls=certificates.dialling())
    async with serving(echo, listening) as url, open_dialer(url, dialling) as dialer:
        with pytest.raises(DialFailed):
            await dialer.dial()
        await reports.wait(1)
    assert [what for what, _ in reports.all] == ["handshake_failed"]


# --- its end


async def test_a_listener_that_is_closed_ends_with_its_last_link() -> None:
    async with open_listener("grpc://127.0.0.1:0", talking()) as listener:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(listener.serve, echo)
            url = listener.addresses[0]
            async with raw_client(url) as raw, raw_client(url) as idle:
                call = raw.request(TALK)
                raw.h2.send_data(call, MESSAGE)
                await raw.flush()
                while not any(getattr(event, "data", b"") for event in raw.seen):
                    await raw.next()
                await listener.aclose()
                goaway = await idle.until(ConnectionTerminated)
                assert goaway.error_code == 0
                await idle.ended()
                goaway = await raw.until(ConnectionTerminated)
                assert goaway.last_stream_id == call
                late = raw.request(TALK)
                await raw.flush()
                assert await raw.outcome(late) == {"reset": str(int(ErrorCodes.REFUSED_STREAM))}
                raw.h2.send_data(call, MESSAGE, end_stream=True)
                await raw.flush()
                assert (await raw.outcome(call))["grpc-status"] == "0"
                await raw.ended()
        with pytest.raises(DialFailed):
            await echoes(url)


async def test_cancelling_it_drops_all() -> None:
    async with (
        open_listener("grpc://127.0.0.1:0", talking()) as listener,
        open_dialer(listener.addresses[0], talking()) as dialer,
    ):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(listener.serve, echo)
            link = await dialer.dial()
            await link.send(b"hello")
            await link.receive()
            nursery.cancel_scope.cancel()
        with pytest.raises(LinkBroken):
            await link.receive()


@pytest.fixture
def living(monkeypatch: pytest.MonkeyPatch) -> Generator[WeakSet[ServerConnection]]:
    """The connections that are in memory, while nobody looks for cycles."""
    made = WeakSet[ServerConnection]()

    class Seen(ServerConnection):
        def __init__(self, *args, **more) -> None:
            super().__init__(*args, **more)
            made.add(self)

    monkeypatch.setattr(grpc_server, "ServerConnection", Seen)
    gc.disable()
    yield made
    gc.enable()


async def test_a_silent_connection_that_has_ended_is_not_kept(living) -> None:
    """Else those of a stranger who comes again and again fill the memory until Python looks."""
    reports = Reports()
    options = attrs.evolve(talking(), handshake_timeout=0.01, report=reports)
    async with serving(echo, options) as url:
        for count in range(1, 4):
            async with await connect(parse_address(url)) as stream:
                assert await stream.receive_some() == b""
            await reports.wait(count)
        assert len(living) <= 1  # the last may be on its way out
    assert not living


async def test_a_connection_whose_call_has_ended_is_not_kept(living) -> None:
    async with serving(echo) as url:
        for _ in range(3):
            async with raw_client(url) as raw:
                call = raw.request(TALK)
                raw.h2.send_data(call, MESSAGE, end_stream=True)
                await raw.flush()
                assert (await raw.outcome(call))["grpc-status"] == "0"
        assert living
    assert not living


async def test_settings_of_a_peer_are_kept() -> None:
    """Small windows and frames, changed in mid-call."""
    async with serving(echo) as url, raw_client(url) as raw:
        raw.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 10})
        await raw.flush()
        call = raw.request(TALK)
        raw.h2.send_data(call, prefixed(bytes(100)), end_stream=True)
        await raw.flush()
        got = b""
        while len(got) < 105:
            assert await raw.next()
            new = b"".join(getattr(event, "data", b"") for event in raw.seen)
            raw.seen = [event for event in raw.seen if not hasattr(event, "data")]
            if new:
                got += new
                raw.h2.increment_flow_control_window(len(new), call)
                await raw.flush()
        assert got == prefixed(bytes(100))
        assert (await raw.outcome(call))["grpc-status"] == "0"


async def test_a_unary_call() -> None:
    async with serving(echo) as url, raw_client(url) as raw:
        call = raw.request(ASK)
        raw.h2.send_data(call, MESSAGE, end_stream=True)
        await raw.flush()
        assert (await raw.outcome(call))["grpc-status"] == "0"
