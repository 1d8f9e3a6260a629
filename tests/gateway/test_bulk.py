"""The driver's short way."""

from __future__ import annotations

from collections.abc import Sequence

from fleetgate.core import events as e
from fleetgate.core.hub_testing import HandWorker, hub_on, started, worker_info
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.bulk import ShortWay
from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.speaking import Speaker
from fleetgate.gateway.testing import PlainConnection, PlainSettings, SeenLink
from fleetgate.protocols.api import Connection
from fleetgate.protocols.bulk import Bulk, BulkConnection, Heard
from fleetgate.protocols.testing import START, number


class Texts(BulkConnection):
    """Takes frames that begin with `t` in bulk, and gives texts as frames. Raises at `!`."""

    def __init__(self, run: RunId) -> None:
        self.run = run

    def receive_bulk(self, frames: Sequence[bytes], now: int) -> Bulk | None:
        assert now == START
        heard: list[Heard] = []
        for frame in frames:
            if frame == b"!":
                raise ZeroDivisionError
            if frame[:1] != b"t":
                break
            heard.append(((e.TextProduced(frame.decode()),), None, None))
        return Bulk(self.run, heard) if heard else None

    def deliver_bulk(self, batch: Sequence[e.Recorded], now: int) -> Sequence[bytes] | None:
        texts = [each.event.text for each in batch if isinstance(each.event, e.TextProduced)]
        if "!" in texts:
            raise ZeroDivisionError
        return [text.encode() for text in texts] if len(texts) == len(batch) else None


async def test_frames_are_taken_up_to_the_first_that_is_not_plain() -> None:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        run = await started(hub)
        speaker = Speaker(hub, SeenLink())
        speaker.admitted(worker.info.id, worker.epoch)
        short = ShortWay(Texts(run), speaker, Outbox(), lambda: START, _never)
        assert short.take([b"t1", b"t2", b"other", b"t3"]) == 2
        assert short.take([b"other", b"t3"]) == 0
        speaker.flush()
        stored: list[str] = []
        with hub.follow(run, Seq(0)) as follower:
            while len(stored) < 2:
                batch = await anext(follower)
                stored += [r.event.text for r in batch if isinstance(r.event, e.TextProduced)]
        assert stored == ["t1", "t2"]


async def test_a_batch_is_given_whole_or_not_at_all() -> None:
    outbox = Outbox()
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        speaker = Speaker(hub, SeenLink())
        short = ShortWay(Texts(RunId("r")), speaker, outbox, lambda: START, _never)
        assert short.give(number("r", e.TextProduced("a"), e.TextProduced("b")))
        assert not short.give(number("r", e.TextProduced("c"), e.MessageEnded()))
    assert await outbox.take() == [b"a", b"b"]


async def test_a_connection_without_one_takes_and_gives_nothing() -> None:
    plain: Connection = PlainConnection(PlainSettings())
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        short = ShortWay(plain, Speaker(hub, SeenLink()), Outbox(), lambda: START, _never)
        assert short.take([b"t"]) == 0
        assert not short.give(number("r", e.TextProduced("a")))


async def test_I11_what_it_raises_is_a_fault_of_this_link() -> None:
    faults: list[Exception] = []
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        speaker = Speaker(hub, SeenLink())
        short = ShortWay(Texts(RunId("r")), speaker, Outbox(), lambda: START, faults.append)
        assert short.take([b"!"]) == 0
        assert not short.give(number("r", e.TextProduced("!")))
    assert [type(fault) for fault in faults] == [ZeroDivisionError, ZeroDivisionError]


def _never(error: Exception) -> None:
    raise AssertionError(error)
