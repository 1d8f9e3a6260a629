"""Who asks and who works take different operations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_worker_takes_no_start_and_a_controller_lists_no_runs(
    fakes: Callable[..., Any], tmp_path: Path
) -> None:
    words = ("--socket", str(tmp_path / "d" / "s"))
    daemon = fakes("agency-daemon", *words)
    daemon.tell(op="start", id="1", run="a", input={"prompt": "x"})
    assert daemon.until(id="1")["error"]["code"] == "invalid_argument"
    daemon.tell(op="runs", id="2")
    assert daemon.until(id="2")["runs"] == []
    client = fakes("agency-client", *words)
    client.tell(op="runs", id="1")
    assert not client.until(id="1")["ok"]
