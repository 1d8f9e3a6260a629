"""Record the transcripts in tests/transcripts anew: one run of each protocol between two of our own
fakes, with `gateway record` between them, over the protocol's usual carriage.

`just transcripts` runs it. What it writes is read by a person before it is committed: it should
differ from what was there where the protocol's adapter does.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
THERE: Final = ROOT / "tests" / "transcripts"
GATEWAY: Final = (sys.executable, "-P", "-m", "fleetgate")
SCRIPT: Final = ("--script", str(THERE / "script.toml"))
TOKEN: Final = "a-token-of-the-transcripts"

RUNS: Final[dict[str, dict[str, Any]]] = {
    "agency": {"input": {"prompt": "summarize", "provider": "claude"}},
    "iop": {"input": {"prompt": "summarize"}},
    "kodelet": {"input": {"tool": "bash", "arguments": {"command": "echo hello"}}},
    "rvbox": {"input": {"line": "echo hello", "env": {"KEY": "secret"}}},
}


class Program:
    """A program of ours, spoken to by lines."""

    def __init__(self, folder: Path, *words: str) -> None:
        pipe, argv = subprocess.PIPE, [*GATEWAY, *words]
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, cwd=folder)

    def tell(self, **operation: Any) -> None:
        """Give it an operation."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(operation) + "\n")
        self.process.stdin.flush()

    def until(self, **members: Any) -> dict[str, Any]:
        """Its next line with these members."""
        assert self.process.stdout is not None
        for text in self.process.stdout:
            line: dict[str, Any] = json.loads(text)
            if members.items() <= line.items():
                return line
        raise SystemExit(f"{self.process.args!r} has ended")

    def end(self) -> None:
        """Close its input, and wait for its end."""
        self.process.communicate(timeout=30)


def record(protocol: str, folder: Path) -> None:
    """Record one protocol's run."""
    state = str(folder / "state")
    where = ("--workspace", str(folder), "--state", state)
    listener, between, dialler = {
        "agency": (
            ("agency-daemon", "--socket", str(folder / "s"), *SCRIPT),
            f"unix:{folder / 'between'}",
            ("agency-client", "--socket"),
        ),
        "iop": (
            ("iop-edge", "--listen", "grpc://127.0.0.1:0", "--token", f"{TOKEN}=node-1"),
            "grpc://127.0.0.1:0",
            ("iop-node", "--token", TOKEN, *SCRIPT, "--connect"),
        ),
        "kodelet": (
            ("kodelet-control-plane", "--listen", "127.0.0.1:0", "--token", TOKEN),
            "ws://127.0.0.1:0/api/runner/v1/connect",
            ("kodelet-runner", *where, "--token", TOKEN, *SCRIPT, "--server"),
        ),
        "rvbox": (
            ("rvbox-server", "--listen", "ws://127.0.0.1:0/agent"),
            "ws://127.0.0.1:0/agent",
            ("rvbox-client", "--client-id", "host-1", "--state", state, *SCRIPT, "--connect"),
        ),
    }[protocol]
    file = str(THERE / f"{protocol}.jsonl")
    one = Program(folder, "fake", *listener)
    there = one.until(event="ready")["address"]
    words = ("--listen", between, "--connect", there, "--protocol", protocol, "--json")
    middle = Program(folder, "record", file, *words)
    here = middle.until(event="ready")["address"].removeprefix("unix:")
    two = Program(folder, "fake", *dialler, here)
    asking = two if protocol == "agency" else one
    asking.until(event="worker", state="ready")
    asking.tell(op="start", id="1", run="run-1", **RUNS[protocol])
    asking.tell(op="wait", id="2", run="run-1", timeout_ms=20_000)
    state_then = asking.until(id="2")["state"]
    for program in (two, one):
        program.end()
    middle.process.send_signal(signal.SIGTERM)
    middle.process.wait(timeout=30)
    sys.stdout.write(f"{file}: {state_then}\n")


def main() -> None:
    """Record all of them."""
    for protocol in RUNS:
        with tempfile.TemporaryDirectory(prefix="fg-") as folder:
            record(protocol, Path(folder))


if __name__ == "__main__":
    main()
