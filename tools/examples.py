"""Run the examples in other languages: their tests, with our fakes on the other side.

    python tools/examples.py [NAME ...]    every one if none is named

One whose toolchain is not on this machine, or too old, is skipped with a line that says so.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parent.parent
WITHIN = 10 * 60
"""Seconds for one example, its build included."""


@attrs.frozen
class Example:
    """A folder of examples/, and the command that runs its tests there. `least` is the oldest
    version of the command's program that will do."""

    folder: Path
    command: tuple[str, ...]
    least: tuple[int, ...] = ()

    def missing(self) -> str:
        """Why it cannot be run here; empty: it can be."""
        program = self.command[0]
        if shutil.which(program) is None:
            return f"the command {program} is not here"
        if self.least and version_of(program) < self.least:
            return f"{program} is older than {'.'.join(map(str, self.least))}"
        return ""


def version_of(program: str) -> tuple[int, ...]:
    """The first number with dots that `--version` says."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"\d+(\.\d+)+", said.stdout)
    return tuple(map(int, found[0].split("."))) if found else ()


FOLDER = ROOT / "examples"
EXAMPLES: Mapping[str, Example] = {
    "go": Example(FOLDER / "go", ("go", "test", "-count=1", "./...")),
    "javascript": Example(FOLDER / "javascript", ("node", "--test"), (20, 11)),
    "rust": Example(FOLDER / "rust", ("cargo", "test")),
    "shell": Example(FOLDER / "shell", ("bash", "node.sh", "./host.sh"), (4,)),
}


def run(example: Example) -> bool:
    """Run its tests; whatever they started is gone when this returns."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    settings = {
        "GATEWAY": str(Path(sys.executable).parent / "gateway"),
        "CARGO_TARGET_DIR": str(cache / "fleetgate-examples"),
        "GOFLAGS": "",
    }
    child = subprocess.Popen(
        example.command, cwd=example.folder, env=os.environ | settings, start_new_session=True
    )
    try:
        return child.wait(WITHIN) == 0
    except subprocess.TimeoutExpired:
        _say(f"took more than {WITHIN} s")
        return False
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def main(argv: Sequence[str], known: Mapping[str, Example] = EXAMPLES) -> int:
    """0 where every one that could be run passes, 1 if not, 2 for a name that there is not."""
    if unknown := set(argv) - known.keys():
        _say(f"no example is called {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        return 2
    failed: list[str] = []
    for name in argv or known:
        if why := known[name].missing():
            _say(f"skip {name}: {why}")
            continue
        _say(f"\n== {name}: {' '.join(known[name].command)}")
        if not run(known[name]):
            failed.append(name)
    if failed:
        _say(f"failed examples: {', '.join(failed)}")
    return 1 if failed else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or an example would outlive this
    sys.exit(main(sys.argv[1:]))
