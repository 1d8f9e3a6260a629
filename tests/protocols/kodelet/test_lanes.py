"""Two lanes: controls first, updates drop the oldest."""

from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.kodelet.lanes import Lanes


def test_controls_go_first_and_updates_fall_off_the_front() -> None:
    lanes = Lanes(2, 2)
    for n in range(3):
        lanes.update(b"u%d" % n)
    lanes.control(b"c0")
    assert not lanes.crowded
    lanes.control(b"c1")
    assert lanes.crowded
    assert list(lanes.drain()) == [b"c0", b"c1", b"u1", b"u2"]
    assert lanes.take() is None


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=3))), st.integers(1, 5))
def test_no_control_is_lost_and_updates_keep_their_order(
    puts: list[tuple[bool, bytes]], size: int
) -> None:
    lanes = Lanes(128, size)
    for control, frame in puts:
        (lanes.control if control else lanes.update)(frame)
    controls = [frame for control, frame in puts if control]
    updates = [frame for control, frame in puts if not control]
    assert list(lanes.drain()) == [*controls, *updates[-size:]]
