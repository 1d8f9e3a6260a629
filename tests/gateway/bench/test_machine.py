"""What a bench ran on."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import attrs
import pytest

from fleetgate.gateway.bench.machine import PACKAGES, commit_of, invocation, machine, sync_times


def test_all_facts_are_known_here(tmp_path: Path) -> None:
    facts = machine(tmp_path, commit_of())
    assert facts.processors == len(os.sched_getaffinity(0))
    assert facts.memory > 1 << 20
    assert facts.file_system != "unknown"
    assert 0 < facts.sync_p50 <= facts.sync_p99
    assert set(facts.packages) == set(PACKAGES)
    assert "absent" not in facts.packages.values()
    assert facts.commit is None or re.fullmatch(r"[0-9a-f]{40,64}\+?", facts.commit)
    assert all(attrs.asdict(facts)[name] for name in ("system", "processor", "python", "sqlite"))


def test_the_disk_is_left_as_it_was(tmp_path: Path) -> None:
    assert len(sync_times(tmp_path, 3)) == 3
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        sync_times(tmp_path / "missing", 3)


def test_the_invocation_names_no_directory() -> None:
    assert "/" not in invocation()[0]


def test_what_a_bench_writes_is_no_change_and_everything_else_is(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=n", "-c", "user.email=e@example")
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    assert commit_of(tmp_path) is None
    git("init")
    for name in ("docs/performance.json", "docs/performance.md", "src/code.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("before")
    git("add", ".")
    git("commit", "-m", "all")
    head = commit_of(tmp_path)
    assert head is not None
    (tmp_path / "docs/performance.json").write_text("after")
    (tmp_path / "docs/performance.md").write_text("after")
    assert commit_of(tmp_path / "src") == head
    (tmp_path / "src/code.py").write_text("after")
    assert commit_of(tmp_path / "src") == f"{head}+"
