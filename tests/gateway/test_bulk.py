"""The driver's short way."""

from __future__ import annotations

from collections.abc import Sequence

from fleetgate.core import events as e
from fleetgate.core.batch import Frames
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
from fleetgate.transports.api import Pack


class Texts(BulkConnection):
    """Takes frames that begin with `t` in bulk, and gives texts as frames. Raises at `!`."""

    def __init__(self, run: RunId) -> None:
        self.run = run
        self.declined = "declined"

    def receive_bulk(self, frames: Sequence[bytes], now: int) -> Bulk | None:
        assert now == START
        heard: list[Heard] = []
        for frame in frames:
            if frame == b"!":
                raise ZeroDivisionError
            if frame[:1] != b"t":
                break
            heard.append(((e.TextProduced(frame.decode()),), None, None))
        return Bulk(len(heard), {self.run: heard}) if heard else None

    def deliver_bulk(self, batch: Sequence[e.Recorded], now: int) -> Sequence[bytes] | None:
        texts: list[bytes] = []
        for each in batch:
            if not isinstance(each.event, e.TextProduced) or each.event.text == self.declined:
                break
            if each.event.text == "!":
                raise ZeroDivisionError
            texts.append(each.event.text.encode())
        return texts or None


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


A, B, END = e.TextProduced("a"), e.TextProduced("b"), e.MessageEnded()
NO = e.TextProduced("declined")


async def test_events_are_given_up_to_the_first_that_is_not_plain() -> None:
    outbox = Outbox()
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        speaker = Speaker(hub, SeenLink())
        short = ShortWay(Texts(RunId("r")), speaker, outbox, lambda: START, _never)
        assert short.give(number("r", A, B)) == 2
        assert short.give(number("r", B, END, A)) == 1
        assert short.give(number("r", END, A)) == 0
    assert await outbox.take() == [b"a", b"b", b"b"]


async def test_what_goes_the_long_way_goes_up_to_where_the_short_one_may_go_on() -> None:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        texts = Texts(RunId("r"))
        short = ShortWay(texts, Speaker(hub, SeenLink()), Outbox(), lambda: START, _never)

        def long_way(*events: e.Event) -> int:
            batch = number("r", *events)
            assert short.give(batch) == 0
            return len(short.long_way(batch))

        assert long_way(END, END, A, END) == 2
        assert long_way(END) == 1
        assert long_way(NO, END, A) == 2
        assert [long_way(*[NO] * 300) for _ in range(9)] == [2, 4, 8, 16, 32, 64, 128, 256, 256]
        assert short.give(number("r", A)) == 1
        assert long_way(NO, A) == 1, "it is asked for the next one again"


class Same(BulkConnection):
    """Gives what it is made with."""

    def __init__(self, frames: Frames) -> None:
        self.frames = frames

    def deliver_bulk(self, batch: Sequence[e.Recorded], now: int) -> Sequence[bytes] | None:
        return self.frames


async def test_frames_of_several_links_are_one_pack() -> None:
    frames, packs = Frames([b"a", b"b"]), list[Sequence[bytes]]()
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        for _ in range(2):
            outbox, speaker = Outbox(), Speaker(hub, SeenLink())
            short = ShortWay(Same(frames), speaker, outbox, lambda: START, _never)
            assert short.give(number("r", A, B)) == 2
            packs.append(await outbox.take())
    assert isinstance(packs[0], Pack)
    assert packs[0] is packs[1]
    assert packs[0] == frames


async def test_a_connection_without_one_takes_and_gives_nothing() -> None:
    plain: Connection = PlainConnection(PlainSettings())
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        short = ShortWay(plain, Speaker(hub, SeenLink()), Outbox(), lambda: START, _never)
        assert short.take([b"t"]) == 0
        assert not short.give(number("r", A))
        assert short.long_way(batch := number("r", A, END, A)) is batch


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
