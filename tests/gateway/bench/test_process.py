"""What the kernel says of a process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from fleetgate.gateway.bench.process import cpu_seconds, known, peak_rss, rss
from fleetgate.gateway.bench.task import BenchFailed


def test_processor_time_is_what_the_process_itself_is_told() -> None:
    before = time.process_time()
    assert before <= cpu_seconds(os.getpid()) <= time.process_time()


def test_processor_time_is_that_of_threads_too_also_of_those_that_have_ended() -> None:
    def work() -> None:
        while time.thread_time() < 0.02:
            pass

    before = cpu_seconds(os.getpid())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert cpu_seconds(os.getpid()) - before >= 0.02


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
