"""`gateway tck` examines the genuine peers: what they do not keep to is no requirement."""

import sys
from collections.abc import Callable
from pathlib import Path

from houses import LANE, write_binary
from tck import broken, examine, says

PROMPTS = {"": "talk", "hold-": "hold", "listen-": "two", "ask-": "ask", "burst-": "count 3000"}
"""What provider.py does for the prompts of the kit."""


def test_the_daemon(
    daemon: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The genuine daemon meets every must of `gateway tck agency daemon`."""
    record_property("peer", f"agency-proxy {daemon.parents[1].name.removeprefix('daemon-')}")
    socket = tmp_path / "daemon" / "socket"
    prompts = [word for kind, text in PROMPTS.items() for word in (f"--{kind}prompt", text)]
    given = ["--binary", str(write_binary(tmp_path)), *prompts]
    tried = examine(("agency", "daemon"), f"unix:{socket}", [daemon, "--socket", socket], *given)
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
    asked = says(
        run="run {name} {prompt}",
        send="send {run} {text}",
        approve="approve {run} {approval}",
        cancel="cancel {run}",
    )
    console = [sys.executable, LANE / "console.py", crate, socket]
    tried = examine(("agency", "client"), f"unix:{socket}", console, *asked)
    assert len(tried) >= 30
    assert broken(tried) == {"AGENCY-C-009"}  # it leaves where it does not know a capability
    record_property("count", len(tried))
