"""`gateway tck` examines the genuine peers: what they do not keep to is no requirement."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from houses import GATEWAY, LANE, write_binary

WITHIN = 300.0
PROMPTS = {"": "talk", "hold-": "hold", "listen-": "two", "ask-": "ask", "burst-": "count 3000"}
"""What provider.py does for the prompts of the kit."""


def examine(side: str, socket: Path, start: list[object], *words: str) -> list[dict[str, Any]]:
    """Every requirement's line, where the kit says that no must is broken or left out."""
    command = [*GATEWAY, "tck", "agency", side, "--json", "--target", f"unix:{socket}"]
    started = ["--start", shlex.join(map(str, start))]
    done = subprocess.run(
        [*command, *started, *words], capture_output=True, text=True, timeout=WITHIN, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    missed = [each for each in lines if each.get("tier") == "must" and each["verdict"] != "pass"]
    assert (done.returncode, missed) == (0, []), f"{missed}\n{done.stderr[-3000:]}"
    return [each for each in lines if "tier" in each]


def broken(tried: list[dict[str, Any]]) -> set[str]:
    """What is not kept to, of any tier."""
    return {each["id"] for each in tried if each["verdict"] == "fail"}


def test_the_daemon(
    daemon: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The genuine daemon meets every must of `gateway tck agency daemon`."""
    record_property("peer", f"agency-proxy {daemon.parents[1].name.removeprefix('daemon-')}")
    socket = tmp_path / "daemon" / "socket"
    prompts = [word for kind, text in PROMPTS.items() for word in (f"--{kind}prompt", text)]
    given = ["--binary", str(write_binary(tmp_path)), *prompts]
    tried = examine("daemon", socket, [daemon, "--socket", socket], *given)
    assert len(tried) > 40
    assert broken(tried) == set()
    record_property("count", len(tried))


def test_the_client(
    crate: Path,
    crates: list[str],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """The genuine client meets every must of `gateway tck agency client`."""
    for name in crates:
        record_property("peer", name)
    socket = tmp_path / "client" / "socket"
    lines = {
        "run": "run {name} {prompt}",
        "send": "send {run} {text}",
        "approve": "approve {run} {approval}",
        "cancel": "cancel {run}",
    }
    says = [word for want, line in lines.items() for word in ("--say", f"{want}={line}")]
    console = [sys.executable, LANE / "console.py", crate, socket]
    tried = examine("client", socket, console, *says)
    assert len(tried) >= 30
    assert broken(tried) == {"AGENCY-C-009"}  # it leaves where it does not know a capability
    record_property("count", len(tried))
