"""What the kernel says of a process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from fleetgate.gateway.bench.process import cpu_seconds, known, peak_rss, rss
from fleetgate.gateway.bench.task import BenchFailed


def test_processor_time_is_what_the_process_itself_is_told() -> None:
    tick = 1 / os.sysconf("SC_CLK_TCK")
    before = resource.getrusage(resource.RUSAGE_SELF)
    told = cpu_seconds(os.getpid())
    after = resource.getrusage(resource.RUSAGE_SELF)
    # User and system time are each cut to a whole tick.
    assert before.ru_utime + before.ru_stime - 2 * tick <= told
    assert told <= after.ru_utime + after.ru_stime + 2 * tick


def test_processes_are_known_here() -> None:
    assert known()


def test_peak_memory_covers_what_was_used_and_given_back() -> None:
    before = peak_rss(os.getpid())
    size = before + (32 << 20)
    filled = b"x" * size
    del filled
    assert peak_rss(os.getpid()) >= size


def test_a_process_that_is_gone_is_said_to_be() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with pytest.raises(BenchFailed, match="the subject has ended"):
        cpu_seconds(gone.pid)
    with pytest.raises(BenchFailed, match="the subject has ended"):
        peak_rss(gone.pid)


def test_memory_now_is_not_above_the_peak() -> None:
    assert 1 << 20 < rss(os.getpid()) <= peak_rss(os.getpid())
