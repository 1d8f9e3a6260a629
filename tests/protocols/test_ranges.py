"""What a setting may be, and that the settings of every protocol say so."""

from __future__ import annotations

import attrs
import pytest

from fleetgate.protocols import agency, rvbox
from fleetgate.protocols.ranges import MOST, not_negative, positive


@attrs.frozen
class Settings:
    seconds: float = attrs.field(default=1.0, validator=positive)
    pause: float = attrs.field(default=0.0, validator=not_negative)


@pytest.mark.parametrize("given", [{"seconds": 0}, {"seconds": -1}, {"pause": -0.1}])
def test_a_value_out_of_its_range_is_refused_by_name(given: dict[str, float]) -> None:
    (name,) = given
    with pytest.raises(ValueError, match=name):
        Settings(**given)
    Settings(seconds=0.1, pause=0)


@pytest.mark.limit("protocols/ranges.MOST")
@pytest.mark.parametrize("name", ["seconds", "pause"])
def test_a_time_that_no_clock_can_count_is_refused_by_name(name: str) -> None:
    Settings(**{name: MOST})
    for value in (MOST + 1, 1e308):
        with pytest.raises(ValueError, match=f"{name} must be at most 1000000000000"):
            Settings(**{name: value})


@pytest.mark.parametrize("adapter", [agency.ADAPTER, rvbox.ADAPTER], ids=lambda a: a.name)
@pytest.mark.parametrize("facing", ["northbound", "southbound"])
def test_no_number_among_the_settings_may_be_negative(adapter, facing: str) -> None:
    kind = getattr(adapter, facing).settings
    defaults = kind()
    numbers = [
        field.name
        for field in attrs.fields(kind)
        if type(getattr(defaults, field.name)) in (int, float)
    ]
    assert numbers
    for name in numbers:
        with pytest.raises(ValueError, match=name):
            kind(**{name: -1})
