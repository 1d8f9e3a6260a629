"""What a fake that starts runs takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_controller_lists_no_runs(fakes: Callable[..., Any], tmp_path: Path) -> None:
    words = ("--socket", str(tmp_path / "d" / "s"))
    fakes("agency-daemon", *words)
    client = fakes("agency-client", *words)
    client.tell(op="workers", id="1")
    assert client.until(id="1")["ok"]
    client.tell(op="runs", id="2")
    assert client.until(id="2")["error"]["code"] == "invalid_argument"
