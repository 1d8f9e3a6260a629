"""`gateway tck` examines the control plane and the runner in Go."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tck import broken, examine, is_whole, pick, says

PATH = "/api/runner/v1/connect"
TOKEN = "s3cret"
RUNNER, PLANE = ("kodelet", "runner"), ("kodelet", "control-plane")

PARTS_OF_RUNNER = (("session",), ("envelope", "work"), ("runs", "events"), ("life",))
PARTS_OF_PLANE = (
    ("KODELET-C-215",),
    ("KODELET-C-[013]*",),
    ("KODELET-C-20*", "KODELET-C-21[!5]"),
    ("life",),
)


def test_parts_are_the_whole() -> None:
    """The parts in which the two kits are tried have each requirement once."""
    assert is_whole(RUNNER, PARTS_OF_RUNNER)
    assert is_whole(PLANE, PARTS_OF_PLANE)


@pytest.mark.parametrize("part", PARTS_OF_RUNNER, ids=lambda part: part[0])
def test_the_runner(
    programs: Path,
    place: str,
    met: None,
    part: Sequence[str],
    record_property: Callable[[str, object], None],
) -> None:
    """The runner in Go meets all of `gateway tck kodelet runner`."""
    url = f"ws://{place}{PATH}"
    start = [programs / "kodelet", "runner", "-at", url, "-token", TOKEN]
    tried = examine(RUNNER, url, start, "--token", TOKEN, *pick(part))
    assert broken(tried) == set()
    record_property("count", len(tried))


@pytest.mark.parametrize("part", PARTS_OF_PLANE, ids=lambda part: part[0])
def test_the_control_plane(
    programs: Path,
    place: str,
    met: None,
    part: Sequence[str],
    record_property: Callable[[str, object], None],
) -> None:
    """The control plane in Go meets all of `gateway tck kodelet control-plane`."""
    start = [programs / "kodelet", "plane", "-at", place, "-token", TOKEN]
    members = {
        "open": {"runner": "{runner}", "run": "{run}", "conv": "{conv}"},
        "tool": {"run": "{run}", "call": "{call}", "tool": "{tool}"},
        "abort": {"run": "{run}", "call": "{call}"},
        "cancel": {"run": "{run}"},
        "close": {"run": "{run}"},
    }
    asked = says(**{want: json.dumps({"op": want, **more}) for want, more in members.items()})
    url = f"ws://{place}{PATH}"
    tried = examine(PLANE, url, start, "--token", TOKEN, *asked, *pick(part))
    assert broken(tried) == set()
    record_property("count", len(tried))
