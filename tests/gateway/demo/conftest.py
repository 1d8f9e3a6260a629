"""A short place for the temporary files of one demo, which no other demo shares."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a demo that is started puts what it needs. A socket's path has little room."""
    with tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as made:
        monkeypatch.setenv("TMPDIR", made)
        yield Path(made)
