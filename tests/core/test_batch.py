"""Events that several followers are given at once."""

from __future__ import annotations

from fleetgate.core.batch import Batch, once, part
from fleetgate.core.events import Recorded, TextProduced
from fleetgate.core.ids import RunId, Seq

EVENTS = [Recorded(RunId("r"), Seq(n), n, TextProduced("x")) for n in range(1, 4)]


def test_what_one_has_made_of_it_the_next_one_need_not_make() -> None:
    batch, made = Batch(EVENTS), list[int]()

    def make() -> int:
        made.append(len(made))
        return made[-1]

    assert batch == tuple(EVENTS)
    assert [once(batch, "a", make), once(batch, "b", make), once(batch, "a", make)] == [0, 1, 0]
    assert once(Batch(EVENTS), "a", make) == 2, "another batch, though equal"
    assert [once(EVENTS, "a", make), once(EVENTS, "a", make)] == [3, 4], "nobody else is given it"


def test_that_nothing_can_be_made_is_kept_too() -> None:
    batch = Batch(EVENTS)
    assert once(batch, "a", lambda: None) is None
    assert once(batch, "a", lambda: 1) is None


def test_a_part_of_a_batch_is_the_same_for_all_who_have_it_in_hand() -> None:
    batch = Batch(EVENTS)
    assert part(batch, 0, 3) is part(batch, 0, 7) is batch
    assert part(batch, 1, 3) is part(batch, 1, 3)
    assert part(batch, 1, 3) == tuple(EVENTS[1:])
    assert isinstance(part(batch, 1, 3), Batch)
    assert part(EVENTS, 0, 1) == (EVENTS[0],)
