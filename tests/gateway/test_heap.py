import gc
import sys
from collections.abc import Iterator

import pytest

from fleetgate.gateway.cli import main
from fleetgate.gateway.heap import OLDER, SWITCH, YOUNG, hold, release, settle


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before, switch = gc.get_threshold(), sys.getswitchinterval()
    yield
    sys.setswitchinterval(switch)
    gc.set_threshold(*before)
    gc.unfreeze()
    gc.enable()


def test_the_collector_rests_while_the_program_is_loaded_and_leaves_alone_what_that_made() -> None:
    hold()
    assert not gc.isenabled()
    here: list[object] = [[]]
    release()
    assert gc.isenabled()
    assert not any(each is here for each in gc.get_objects())


def test_who_does_not_own_the_process_may_release_what_nobody_held() -> None:
    release()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


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


@pytest.mark.parametrize("command", ["fake", "serve"])
def test_the_program_holds_the_collector_and_whoever_calls_the_command_does_not(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main([command, "--help"])
    assert gc.isenabled()
    monkeypatch.setattr("sys.argv", ["gateway", command, "--help"])
    main()
    assert not gc.isenabled()
    capsys.readouterr()
