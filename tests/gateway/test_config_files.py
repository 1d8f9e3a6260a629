"""Only regular files are opened: whatever else is there is not waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetgate.gateway.config_files import irregular, read_regular


def test_a_regular_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    assert read_regular(str(path), 4) == b"abcd"
    assert read_regular(str(path), 9) == b"abcdef"
    assert irregular(str(path)) is None
    (tmp_path / "link").symlink_to(path)
    assert read_regular(str(tmp_path / "link"), 9) == b"abcdef"


def test_all_else_is_not(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (str(tmp_path / "pipe"), "it is not a regular file"),
        (os.devnull, "it is not a regular file"),
        (str(tmp_path), "Is a directory"),
    ):
        assert irregular(path) == reason
        with pytest.raises(OSError, match=reason):
            read_regular(path, 9)


def test_a_file_that_is_not_there_is_for_who_opens_it(tmp_path: Path) -> None:
    assert irregular(str(tmp_path / "none")) is None
    with pytest.raises(FileNotFoundError):
        read_regular(str(tmp_path / "none"), 9)
