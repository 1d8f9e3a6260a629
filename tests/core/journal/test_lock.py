"""One process at a time."""

import os
import stat
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from fleetgate.core.journal.api import JournalLocked
from fleetgate.core.journal.lock import locked

HOLDER = """
import sys
from pathlib import Path
from fleetgate.core.journal.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_holder_is_told_who_has_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with locked(path):
        with pytest.raises(JournalLocked, match=rf"in use by process {os.getpid()}; stop"):
            ExitStack().enter_context(locked(path))
        with locked(tmp_path / "other.db"):
            pass
    with locked(path):
        pass


def test_a_process_that_is_killed_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(JournalLocked, match=rf"in use by process {holder.pid};"):
            ExitStack().enter_context(locked(path))
        holder.kill()
        holder.wait()
        with locked(path):
            pass


def test_only_its_owner_can_read_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    before = os.umask(0)
    try:
        with locked(path):
            mode = stat.S_IMODE(Path(f"{path}.lock").stat().st_mode)
    finally:
        os.umask(before)
    assert mode == 0o600


def test_a_shorter_name_of_a_process_replaces_a_longer_one(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    Path(f"{path}.lock").write_text("1234567890123456789\n")
    with locked(path):
        assert Path(f"{path}.lock").read_text() == f"{os.getpid()}\n"
