"""What a client makes of the frames that it gets: sections 1.1, 2 and 7."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.tck.agency.client import ClientAttempt
from fleetgate.gateway.tck.agency.talk import CAP, CLOSE, PING, PONG
from fleetgate.gateway.tck.peer import End, Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("frames")

_AGREED: Final = "a client whose hello was answered"
_STAYS: Final = "that it stays and goes on"
_LEAVES: Final = "that it ends the link"

EVENT: Final = (
    '{"kind":"event","run_id":"nobody","sequence":1,"event":{"type":"text","payload":"t"}}'
)


async def _expect_stays(kit: ClientAttempt, *frames: bytes) -> None:
    """It must stay, also for an event that comes behind them."""
    daemon = await kit.welcomed()
    await daemon.send(*frames)
    await daemon.settle()
    await daemon.say(EVENT)
    await daemon.settle()


async def _expect_leaves(kit: ClientAttempt, *frames: bytes) -> None:
    """Each frame must end a link of its own."""
    for frame in frames:
        daemon = await kit.welcomed()
        await daemon.send(frame)
        came = await daemon.next()
        if not isinstance(came, End):
            said = "it stayed" if came is None else f"it sent {daemon.last[:200]}"
            raise Unmet(f"the end of the link, for {frame[:100]!r}", said)


@TOPIC.must(
    "AGENCY-C-020",
    given=_AGREED,
    when="a ping, a pong and binary that is not UTF-8 come",
    expect=f"{_STAYS}: a client passes them over",
    source="agency 1.1; case A7",
)
async def passed_over(kit: ClientAttempt) -> None:
    await _expect_stays(kit, bytes([PING]), bytes([PONG]), b"\x01\xff")


@TOPIC.must(
    "AGENCY-C-021",
    given=_AGREED,
    when="a close frame comes",
    expect=_LEAVES,
    source="agency 1.1; case A7",
)
async def closed(kit: ClientAttempt) -> None:
    await _expect_leaves(kit, bytes([CLOSE]), bytes([CLOSE]) + b"\x03\xe8bye")


@TOPIC.must(
    "AGENCY-C-022",
    given=_AGREED,
    when="an answer comes to a request that it never made",
    expect=_STAYS,
    source="agency 7",
)
async def unasked(kit: ClientAttempt) -> None:
    await _expect_stays(kit, b'\0{"kind":"response","request_id":4711,"type":"accepted"}')


@TOPIC.must(
    "AGENCY-C-023",
    given=_AGREED,
    when="an event comes of a run that it does not know",
    expect=_STAYS,
    source="agency 4.4, 7",
)
async def foreign(kit: ClientAttempt) -> None:
    await _expect_stays(kit, b"\0" + EVENT.encode())


@TOPIC.must(
    "AGENCY-C-024",
    given=_AGREED,
    when="a frame is no JSON, or of an unknown kind, or a response without its request_id, or an "
    "error without a message",
    expect=_LEAVES,
    source="agency 7; case D27",
)
async def undecodable(kit: ClientAttempt) -> None:
    await _expect_leaves(
        kit,
        b"\0{nope",
        b"\0\xff",
        b'\0{"kind":"gossip"}',
        b'\0{"kind":"response","type":"accepted"}',
        b'\0{"kind":"response","request_id":1.0,"type":"accepted"}',
        b'\0{"kind":"response","request_id":2,"type":"error","code":"conflict"}',
        b'\0{"kind":"response","request_id":2,"type":"error","code":"mood","message":"m"}',
    )


@TOPIC.must(
    "AGENCY-C-025",
    given=_AGREED,
    when="an event has no payload, one of the wrong type, or one twice",
    expect=_LEAVES,
    source="agency 2.2, 2.3; cases D29, D31",
)
async def bad_events(kit: ClientAttempt) -> None:
    bad = (
        '{"type":"text"}',
        '{"type":"text","payload":null}',
        '{"type":"text","payload":5}',
        '{"type":"text","payload":"a","payload":"b"}',
        '{"type":"usage"}',
        '{"type":"message_boundary","payload":{}}',
        '{"type":"session_opened","payload":{"providerSessionId":"s"}}',
    )
    head = '{"kind":"event","run_id":"nobody","sequence":1,"event":'
    await _expect_leaves(kit, *(f"\0{head}{event}}}".encode() for event in bad))


@TOPIC.must(
    "AGENCY-C-026",
    given=_AGREED,
    when="events come with keys in another order, unknown keys, and optional ones left out",
    expect=_STAYS,
    source="agency 2.3; cases D29, D31",
)
async def tolerant(kit: ClientAttempt) -> None:
    good = (
        '{"payload":"x","ts":1,"type":"text"}',
        '{"type":"session_opened","payload":{"provider_session_id":"s"}}',
        '{"type":"message_boundary"}',
        '{"type":"message_boundary","payload":null}',
        '{"type":"usage","payload":null}',
        '{"type":"tool_result","payload":{"output":""}}',
    )
    head = '"run_id":"nobody","sequence":1,"kind":"event"'
    await _expect_stays(kit, *(f'\0{{"event":{event},{head}}}'.encode() for event in good))


@TOPIC.must(
    "AGENCY-C-027",
    given=_AGREED,
    when="a frame is as large as may be (LENGTH 1048577)",
    expect=_STAYS,
    source="agency 1.1",
)
async def largest(kit: ClientAttempt) -> None:
    frame = b"\0" + EVENT.encode()
    await _expect_stays(kit, frame + b" " * (CAP - len(frame)))


@TOPIC.must(
    "AGENCY-C-028",
    given=_AGREED,
    when="a frame is one byte larger",
    expect=_LEAVES,
    source="agency 1.1",
)
async def too_large(kit: ClientAttempt) -> None:
    frame = b"\0" + EVENT.encode()
    await _expect_leaves(kit, frame + b" " * (CAP + 1 - len(frame)))


@TOPIC.must(
    "AGENCY-C-029",
    given=_AGREED,
    when="frames arrive byte by byte",
    expect=_STAYS,
    source="agency 1.1; case A5",
)
async def split(kit: ClientAttempt) -> None:
    daemon = await kit.arrive()
    daemon.trickle(1)
    await daemon.welcome()
    await daemon.settle()
    await daemon.say(EVENT)
    await daemon.settle()
