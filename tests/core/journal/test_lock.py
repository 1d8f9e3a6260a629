"""One process at a time."""

import os
import stat
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from fleetgate.core.journal.api import JournalError, JournalLocked
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


def test_a_journal_by_another_name_has_the_same_lock(tmp_path: Path) -> None:
    """SQLite follows a link to the file and to its log: both processes would write to them."""
    path, link = tmp_path / "journal.db", tmp_path / "link.db"
    (tmp_path / "other").symlink_to(tmp_path)
    link.symlink_to(path)
    for other in (link, tmp_path / "other" / "journal.db"):
        with locked(path) as own:
            assert own == path.resolve()
            with pytest.raises(JournalLocked, match=rf"in use by process {os.getpid()};"):
                ExitStack().enter_context(locked(other))
        with locked(other) as own:
            assert own == path.resolve()
            with pytest.raises(JournalLocked):
                ExitStack().enter_context(locked(path))


def test_a_journal_with_two_names_of_its_own_is_nobodys(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.touch()
    other = tmp_path / "hard.db"
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(JournalError, match="more than one name"):
            ExitStack().enter_context(locked(name))
    other.unlink()
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
