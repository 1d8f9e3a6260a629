"""The last word on a link whose peer sends what is no frame."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.unframed import answer_unframed
from fleetgate.gateway.writing import CLOSE_WITHIN
from fleetgate.protocols.api import NO_STEPS, Connection, Steps
from fleetgate.transports.api import LinkBroken, LinkError


class Answering(Connection):
    def unframed(self, too_long: bool, text: str, now: int) -> Steps:
        said.append((too_long, text))
        return NO_STEPS


said: list[tuple[bool, str]] = []


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (LinkBroken("no frame", too_long=False), [(False, "no frame")]),
        (LinkBroken("too long", too_long=True), [(True, "too long")]),
        (LinkBroken("lost"), []),
        (LinkError("closed"), []),
    ],
)
async def test_only_what_is_no_frame_is_answered(
    error: LinkError, expected: list[tuple[bool, str]]
) -> None:
    said.clear()
    await answer_unframed(error, Answering(), lambda call: call(0) and None, Outbox())
    assert said == expected
    await answer_unframed(error, Connection(), lambda call: call(0) and None, Outbox())
    assert said == expected


async def test_a_peer_that_takes_nothing_does_not_hold_up_the_end(
    autojump_clock: MockClock,
) -> None:
    outbox = Outbox()
    outbox.put(b"last")
    began = trio.current_time()
    await answer_unframed(
        LinkBroken("x", too_long=True), Answering(), lambda call: call(0) and None, outbox
    )
    assert trio.current_time() - began == CLOSE_WITHIN
