"""What a trial measured, on a line and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.bench.sample import Sample, read_sample

COUNTS = st.integers(0, 1 << 60)
FLOATS = st.floats(0.001, 1e9)
SAMPLES = st.builds(Sample, COUNTS, COUNTS, FLOATS, FLOATS, COUNTS, st.lists(COUNTS).map(tuple))


@given(SAMPLES)
def test_a_sample_is_the_same_behind_its_line(sample: Sample) -> None:
    assert "\n" not in sample.line()
    assert read_sample(sample.line()) == sample


def test_other_lines_hold_no_sample() -> None:
    assert read_sample("ready") is None
    assert read_sample('{"event": "link_up"}') is None


def test_rates_and_shares() -> None:
    sample = Sample(events=1000, size=0, seconds=2.0, cpu_seconds=0.5, peak_rss=0)
    assert sample.rate == 500
    assert sample.cpu_micros == 500
