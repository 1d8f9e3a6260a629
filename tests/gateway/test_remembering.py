"""What is remembered, before it is spoken of."""

from __future__ import annotations

import trio

from fleetgate.core.journal.api import Done, JournalFailing
from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.remembering import forget, keep


async def test_what_is_said_behind_it_waits_until_it_is_kept() -> None:
    outbox, told, broken = Outbox(), list[tuple[str, Done]](), list[str]()
    outbox.put(b"before")
    keep("id", lambda text, done: told.append((text, done)), outbox, broken.append)
    outbox.put(b"behind")
    assert await outbox.take() == [b"before"]
    with trio.move_on_after(0):
        await outbox.take()
        raise AssertionError("it was said too early")
    ((text, done),) = told
    done(None)
    assert (text, broken) == ("id", [])
    assert await outbox.take() == [b"behind"]


async def test_what_cannot_be_kept_is_never_spoken_of() -> None:
    outbox, broken = Outbox(), list[str]()
    keep("id", lambda text, done: done(JournalFailing("disk full")), outbox, broken.append)
    outbox.put(b"behind")
    assert broken == ["what is to be remembered was not kept: disk full"]
    with trio.move_on_after(0):
        await outbox.take()
        raise AssertionError("it was said though it is not kept")


async def test_where_nothing_is_kept_nothing_waits() -> None:
    outbox = Outbox()
    keep("id", forget, outbox, str)
    outbox.put(b"behind")
    assert await outbox.take() == [b"behind"]
