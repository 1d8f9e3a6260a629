from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.acks import Acks
from fleetgate.protocols.rvbox.assigned import Command, make_command
from fleetgate.protocols.rvbox.testing import UUID, make_run


def command(native_seq: int = 0) -> Command:
    made = make_command(make_run(accepted=True, native_seq=native_seq))
    made.taken = 1000
    return made


def test_so_many_events_are_acknowledged_at_once() -> None:
    acks, one = Acks(64), command()
    assert acks.committed(one, 63) is None
    assert acks.waiting
    assert acks.committed(one, 64) == w.EventAck(UUID, 64)
    assert not acks.waiting


def test_fewer_wait_for_the_next_flush_and_go_as_one() -> None:
    acks, one = Acks(64), command(native_seq=10)
    for through in (11, 12, 13):
        acks.committed(one, through)
    assert acks.flush() == [w.EventAck(UUID, 13)]
    assert acks.flush() == []


def test_nothing_new_is_not_acknowledged() -> None:
    acks, one = Acks(64), command(native_seq=10)
    assert acks.committed(one, 10) is None
    assert not acks.waiting


def test_an_exit_is_acknowledged_at_once() -> None:
    acks, one = Acks(64), command()
    one.exit_seq = 3
    assert acks.committed(one, 2) is None
    assert acks.committed(one, 3) == w.EventAck(UUID, 3)


def test_a_repeated_event_is_acknowledged_again_and_a_forgotten_command_is_not() -> None:
    acks, one = Acks(64), command(native_seq=10)
    acks.again(one)
    assert acks.flush() == [w.EventAck(UUID, 10)]
    acks.again(one)
    acks.forget(one)
    assert acks.flush() == []


@given(st.lists(st.integers(0, 300)), st.integers(1, 70))
def test_i3_no_ack_is_beyond_what_is_durable_and_none_goes_back(
    commits: list[int], events: int
) -> None:
    acks, one = Acks(events), command()
    durable = 0
    told = [0]
    for through in commits:
        ack = acks.committed(one, through)
        durable = max(durable, through)
        if ack is not None:
            told.append(ack.through_event_seq)
        assert durable - told[-1] < events
    told += [ack.through_event_seq for ack in acks.flush()]
    assert told == sorted(told)
    assert told[-1] == durable
