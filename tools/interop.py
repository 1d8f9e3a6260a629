"""Run the lanes: our protocols against programs that others wrote.

    python tools/interop.py [--report] [LANE ...]    every lane if none is named

A lane is a folder of tests/interop. Its `lane.toml` names the protocol, and the commands and
Python modules without which the lane cannot run, and `at_a_time`, how many of its tests are played
beside each other (2; more where they do little but wait). Its tests are the functions of its
`lane_*.py`, and they can import what lies beside them and in tests/interop.
A lane whose toolchain is not on this machine is skipped with a line that says what is missing.
One whose toolchain is here must run, all of it: a lane without a test, or with a skipped one, has
failed. With `--report` the lanes that were run get their new rows in docs/interop.md.

Lanes mostly wait, for the clocks of their peers, and so are played beside each other; what a lane
has said is shown when it is over.

What lanes build goes to $XDG_CACHE_HOME/fleetgate-interop (~/.cache where that is not set), and
the next run finds it there.
"""

import importlib.util
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

ROOT = Path(__file__).resolve().parent.parent
LANES = ROOT / "tests" / "interop"
PAGE = ROOT / "docs" / "interop.md"
WITHIN = 20 * 60
"""Seconds for one lane, its builds included."""
AT_A_TIME = 4
LOOK_EVERY = 0.05
"""Seconds."""
BEGIN, END = "<!-- the table of `just interop --report` -->\n", "<!-- its end -->\n"
HEAD = ("lane", "peers", "what was run", "cases", "result")


@attrs.frozen
class Lane:
    """A toolchain and a protocol: a folder, and what it needs of the machine."""

    name: str
    folder: Path
    protocol: str
    commands: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    at_a_time: int = 2

    def missing(self) -> list[str]:
        """What is not on this machine."""
        return [
            *(f"the command {name}" for name in self.commands if shutil.which(name) is None),
            *(f"the module {name}" for name in self.modules if not _importable(name)),
        ]


@attrs.frozen
class Case:
    """One test function of a lane: what its first paragraph says, and how often it was put to the
    test. `outcome` is pytest's word."""

    what: str
    count: int
    outcome: str


@attrs.frozen
class Result:
    """How a lane went. `peers` are programs and libraries with their versions."""

    peers: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    problem: str = ""
    """Why the lane counts as failed; empty: it holds."""


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def find_lanes(folder: Path) -> list[Lane]:
    """Every lane there is, by name."""
    return [_read(path) for path in sorted(folder.glob("*/lane.toml"))]


def _read(path: Path) -> Lane:
    words: dict[str, Any] = tomllib.loads(path.read_text())
    commands, modules = (tuple(words.pop(key, ())) for key in ("commands", "modules"))
    return Lane(path.parent.name, path.parent, **words, commands=commands, modules=modules)


def cache() -> Path:
    """Where builds are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "fleetgate-interop"


class Playing:
    """A lane whose tests run. Whatever they started is gone after `end`."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self._began = time.monotonic()
        self._scratch = tempfile.TemporaryDirectory()
        self._said = Path(self._scratch.name) / "result.json"
        self._output = Path(self._scratch.name) / "output"
        ini = LANES / "pytest.ini"
        paths = shlex.join([str(LANES), str(lane.folder)])
        words = ["-P", "-m", "pytest", "-q", f"-c={ini}", f"-o=pythonpath={paths}"]
        words.append(f"-n={lane.at_a_time}")
        with self._output.open("wb") as output:
            self._child = subprocess.Popen(
                [sys.executable, *words, f"--said={self._said}", str(lane.folder)],
                cwd=ROOT,
                env=os.environ | {"FLEETGATE_INTEROP_CACHE": str(cache() / lane.name)},
                start_new_session=True,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def seconds(self) -> float:
        """How long it takes so far."""
        return time.monotonic() - self._began

    @property
    def over(self) -> bool:
        """Whether it has ended, or has had its time."""
        return self._child.poll() is not None or self.seconds > WITHIN

    @property
    def output(self) -> str:
        """What it has said."""
        return self._output.read_text(errors="replace")

    def result(self) -> Result:
        """How it went, once it is over."""
        code = self._child.poll()
        if code is None:
            return Result(problem=f"took more than {WITHIN} s")
        if not self._said.exists():
            return Result(problem=f"pytest gave up with {code}")
        return judge(json.loads(self._said.read_text()), code)

    def end(self) -> None:
        """End it, if it still runs, and what it has left behind."""
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._scratch.cleanup()


def judge(said: Mapping[str, Any], code: int) -> Result:
    """A lane's result, from what its tests said and pytest's exit code."""
    cases = tuple(Case(**case) for case in said["cases"])
    peers = tuple(dict.fromkeys(said["peers"]))
    bad = [case for case in cases if case.outcome != "passed"]
    if not cases:
        problem = "ran nothing"
    elif bad:
        problem = "; ".join(f"{case.outcome}: {case.what}" for case in bad)
    elif not peers:
        problem = "does not say whom it has met"
    else:
        problem = f"pytest ended with {code}" if code else ""
    return Result(peers, cases, problem)


# --- the page


def rows(lane: Lane, result: Result) -> list[str]:
    """A lane's rows of the table; the first one names the peers."""
    peers = ", ".join(result.peers)
    cells = [(case.what, f"{case.count:,}", case.outcome) for case in result.cases]
    first, *more = cells or [("", "0", result.problem)]
    return [_row(lane.name, peers, *first), *(_row(lane.name, "", *each) for each in more)]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def report(page: str, results: Mapping[Lane, Result]) -> str:
    """`page` with new rows for the lanes that were run; those of others stay."""
    kept = told(page) | {lane.name: rows(lane, result) for lane, result in results.items()}
    body = [line for name in sorted(kept) for line in kept[name]]
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return "".join([before, BEGIN, _row(*HEAD), _row(*("---" for _ in HEAD)), *body, END, after])


def told(page: str) -> dict[str, list[str]]:
    """The rows that `page` has for each lane."""
    if BEGIN not in page or END not in page:
        raise SystemExit(f"{PAGE} has no place for the table")
    table = page.partition(BEGIN)[2].partition(END)[0]
    kept: dict[str, list[str]] = {}
    for line in table.splitlines(keepends=True)[2:]:
        kept.setdefault(line.split("|")[1].strip(), []).append(line)
    return kept


# --- the command


def choose(names: Sequence[str], lanes: Sequence[Lane]) -> list[Lane]:
    """The lanes of these names; all of them where there is none."""
    known = {lane.name: lane for lane in lanes}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no lane is called {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else list(lanes)


def run(lanes: Sequence[Lane]) -> dict[Lane, Result]:
    """Play those that can be, some at a time, and say how each went."""
    waiting: deque[Lane] = deque()
    for lane in lanes:
        if missing := lane.missing():
            _say(f"skip {lane.name}: {' and '.join(missing)} is not here")
        else:
            waiting.append(lane)
    results: dict[Lane, Result] = {}
    playing: list[Playing] = []
    try:
        while waiting or playing:
            while waiting and len(playing) < AT_A_TIME:
                playing.append(Playing(waiting.popleft()))
            for each in [each for each in playing if each.over]:
                results[each.lane] = _tell(each)
                playing.remove(each)
                each.end()
            time.sleep(LOOK_EVERY)
    finally:
        for each in playing:
            each.end()
    return results


def _tell(played: Playing) -> Result:
    result = played.result()
    cases = sum(case.count for case in result.cases)
    _say(f"\n== {played.lane.name}\n{played.output.rstrip()}")
    said = f"{cases:,} cases in {played.seconds:.0f} s"
    _say(f"{played.lane.name}: {result.problem or 'holds'}, {said}")
    return result


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(argv: Sequence[str]) -> int:
    """0 where every lane that could run holds, 1 if not."""
    results = run(choose([word for word in argv if word != "--report"], find_lanes(LANES)))
    if "--report" in argv:
        PAGE.write_text(report(PAGE.read_text(), results))
    failed = [lane.name for lane, result in results.items() if result.problem]
    if failed:
        _say(f"failed lanes: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or a lane would outlive this
    # A shell has its background jobs ignore it, which all that lanes start would inherit: peers
    # could interrupt nothing.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
