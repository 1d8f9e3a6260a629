"""When a daemon is told which events are safe."""

from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.ids import RunId
from fleetgate.protocols.agency.acks import Acks
from fleetgate.protocols.agency.testing import REQUEST
from fleetgate.protocols.agency.tracking import Tracked


def tracked(name: str = "r", **members: int) -> Tracked:
    return Tracked(RunId(name), REQUEST, **members)  # type: ignore[arg-type]


def test_many_at_once_few_after_a_while() -> None:
    acks, run = Acks(3, 10), tracked(safe=2)
    assert not acks.ready(run, 100)
    assert acks.next_at == 110
    assert acks.due(109) == []
    run.safe = 3
    assert acks.ready(run, 105)
    assert acks.sent(run) == 3
    assert acks.next_at is None
    assert acks.due(200) == []


def test_the_wait_counts_from_the_first_event() -> None:
    acks, run = Acks(100, 10), tracked(safe=1)
    acks.ready(run, 100)
    run.safe = 2
    acks.ready(run, 105)
    assert acks.due(110) == [run]
    assert acks.sent(run) == 2


def test_one_at_a_time() -> None:
    acks, run = Acks(1, 10), tracked(safe=1)
    assert acks.ready(run, 0)
    acks.sent(run)
    run.safe = 5
    assert not acks.ready(run, 1)
    assert acks.next_at is None
    run.acking = False
    assert acks.ready(run, 2)


def test_nothing_new_is_nothing_to_say() -> None:
    acks = Acks(1, 10)
    assert not acks.ready(tracked(safe=3, acked=3), 0)
    assert not acks.ready(tracked(safe=3, acked=9), 0)
    assert acks.next_at is None


@given(st.lists(st.integers(0, 20), max_size=12))
def test_runs_are_due_in_the_order_of_their_events(steps: list[int]) -> None:
    acks, now = Acks(1000, 10), 0
    for at, step in enumerate(steps):
        now += step
        acks.ready(tracked(str(at), safe=1), now)
    seen: list[str] = []
    while (at_ := acks.next_at) is not None:
        due = acks.due(at_)
        assert due
        seen += [run.run for run in due]
    assert seen == [str(at) for at in range(len(steps))]
