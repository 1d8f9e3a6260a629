import gc
import sys
from collections.abc import Iterator

import pytest

from fleetgate.gateway.heap import OLDER, SWITCH, YOUNG, settle


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before, switch = gc.get_threshold(), sys.getswitchinterval()
    yield
    sys.setswitchinterval(switch)
    gc.set_threshold(*before)
    gc.unfreeze()


def test_what_is_there_is_not_looked_at_again_and_the_rest_less_often() -> None:
    here: list[object] = [[]]
    settle()
    assert gc.get_threshold() == (YOUNG, OLDER, OLDER)
    assert gc.get_freeze_count() > 1000
    assert not any(each is here for each in gc.get_objects())


def test_threads_take_turns_more_often() -> None:
    settle()
    assert sys.getswitchinterval() == pytest.approx(SWITCH)


def test_cycles_made_later_are_still_found() -> None:
    settle()
    for _ in range(3):
        ring: list[object] = []
        ring.append(ring)
        del ring
    assert gc.collect() >= 3
