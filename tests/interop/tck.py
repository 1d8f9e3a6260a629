"""`gateway tck` at a peer of others: what they do not keep to is no requirement, or their fault."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.runner import chosen

WITHIN = 300.0
"""Seconds for all of a kit."""

Tried: TypeAlias = list[dict[str, Any]]


def examine(kit: Sequence[str], target: str, start: Sequence[object], *words: str) -> Tried:
    """Have a kit examine a peer that `start` starts. Answers each requirement's line, where the
    kit says that no must is broken, or left out though the peer's carriage has it."""
    command = [sys.executable, "-P", "-m", "fleetgate", "tck", *kit, "--json", "--target", target]
    started = ["--start", shlex.join(map(str, start))]
    done = subprocess.run(
        [*command, *started, *words], capture_output=True, text=True, timeout=WITHIN, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    tried = [each for each in lines if each["event"] == "requirement"]
    missed = [each for each in tried if each["tier"] == "must" and each["verdict"] != "pass"]
    assert done.returncode == 0, f"{missed}\n{done.stderr[-3000:]}"
    return tried


def broken(tried: Tried) -> set[str]:
    """What is not kept to, of any tier."""
    return {each["id"] for each in tried if each["verdict"] == "fail"}


def pick(patterns: Sequence[str]) -> list[str]:
    """The options for a part of a kit."""
    return [word for pattern in patterns for word in ("--only", pattern)]


def is_whole(kit: Sequence[str], parts: Sequence[Sequence[str]]) -> bool:
    """Whether these parts are the kit, each requirement in one of them."""
    asked = kit_of(*kit)
    tried = Counter(each.id for part in parts for each in chosen(asked, part))
    return tried == Counter(each.id for each in asked.requirements)


def says(**lines: str) -> list[str]:
    """The options that say how a started peer is asked for things."""
    return [word for want, line in lines.items() for word in ("--say", f"{want}={line}")]
