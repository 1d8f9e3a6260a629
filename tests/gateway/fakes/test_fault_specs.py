"""Faults on a command line and in an operation."""

from __future__ import annotations

import pytest

from fleetgate.gateway.fakes.fault_specs import BadFault, Fault, read_faults
from fleetgate.transports.faults import Faults

HALF = Faults(half_open=True)


@pytest.mark.parametrize(
    ("specs", "faults"),
    [
        ([], []),
        (["drop_after=3"], [Faults(drop_after=3)]),
        (["half_open", "corrupt=0.5,dir=in"], [HALF, Faults(corrupt=0.5, direction="in")]),
        (["duplicate=1, delay_ms=20"], [Faults(duplicate=1.0, delay_ms=20)]),
        (["lose_ack=1", "dir=out"], [Faults(lose_ack=1.0, direction="out")]),
        (["byte_at_a_time=false", "slow_read=9"], [Faults(), Faults(slow_read=9)]),
    ],
)
def test_specs_are_read(specs: list[str], faults: list[Faults]) -> None:
    assert read_faults(specs) == faults


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("drop_aftr=3", "drop_aftr: no fault has this name; did you mean drop_after?"),
        ("", "no fault has this name"),
        ("drop_after", "drop_after: expected a whole number, got ''"),
        ("drop_after=x", "expected a whole number"),
        ("drop_after=0", "drop_after is at least 1, not 0"),
        ("delay_ms=-1", "delay_ms is 0 to 86400000"),
        ("corrupt=2", "corrupt is a probability from 0 to 1, not 2.0"),
        ("corrupt=nan", "corrupt is a probability"),
        ("corrupt=much", "expected a probability"),
        ("half_open=maybe", "half_open: expected true or false"),
        ("corrupt=1,dir=up", "dir: expected in, out or both"),
        ("corrupt=1,corrupt=0", "corrupt: it is there twice"),
        ("dir=in", "dir: it says which way a fault strikes, and there is none beside it"),
    ],
)
def test_a_bad_spec_is_refused_with_what_is_wanted(spec: str, said: str) -> None:
    with pytest.raises(BadFault) as caught:
        read_faults([spec])
    assert said in str(caught.value)


def test_two_directions_for_all_are_one_too_many() -> None:
    with pytest.raises(BadFault, match="in and out cannot both hold"):
        read_faults(["dir=in", "dir=out", "half_open"])


def test_an_operation_has_the_names_of_the_links_faults() -> None:
    assert Fault(dir="in", reorder=0.5).faults() == Faults(reorder=0.5, direction="in")
    assert Fault().faults() == Faults()
    with pytest.raises(ValueError, match="there is none beside it"):
        Fault(dir="out").faults()
