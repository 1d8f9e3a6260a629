"""Times as Go takes and writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.kodelet.stamps import is_time, rewritten


@pytest.mark.parametrize(
    ("given_", "written"),
    [
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("2026-08-12T09:00:00.500Z", "2026-08-12T09:00:00.5Z"),
        ("2026-08-12T09:00:00.000Z", "2026-08-12T09:00:00Z"),
        ("2026-08-12T9:00:00,25+02:00", "2026-08-12T09:00:00.25+02:00"),
        ("2026-08-12T09:00:00.1234567899-00:30", "2026-08-12T09:00:00.123456789-00:30"),
        ("2026-08-12T09:00:00+00:00", "2026-08-12T09:00:00Z"),
        ("2026-08-12T09:00:00-00:00", "2026-08-12T09:00:00Z"),
        ("2026-08-12T09:00:00+01:60", "2026-08-12T09:00:00+02:00"),
    ],
)
def test_times(given_: str, written: str) -> None:
    assert is_time(given_)
    assert rewritten(given_) == written


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-02-30T00:00:00Z", "2026-06-30T24:00:00Z", "2026-06-30t23:59:59Z"],
)
def test_no_times(text: str) -> None:
    assert not is_time(text)


@given(st.datetimes(), st.integers(-1439, 1439))
def test_what_is_written_is_the_same_instant_and_is_written_again_as_it_is(
    when: datetime, minutes: int
) -> None:
    aware = when.replace(tzinfo=timezone(timedelta(minutes=minutes)) if minutes else UTC)
    text = aware.isoformat()
    assert is_time(text)
    once = rewritten(text)
    assert rewritten(once) == once
    assert datetime.fromisoformat(once) - aware == timedelta()
