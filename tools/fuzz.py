"""Inputs drawn from seeds, run through the targets of tests/fuzz.

    python tools/fuzz.py [TARGET | GROUP ...] [--inputs N] [--seed S] [--jobs J] [--within SECONDS]
    python tools/fuzz.py TARGET --seed S --at N
    python tools/fuzz.py TARGET --hex FILE [--shrink]

N inputs (20,000 if it is not said) go to each group, shared out among its targets; a target that
is named by itself gets all of them. Of `whole`, where each input is a trial, it is one of 200. A
finding is shown with the command that runs it again, and its input is written to `.fuzz/`. `--at`
runs one input, `--hex` one that was kept, and both show what is raised; `--shrink` looks for a
shorter one. `--within` ends it early, once each target has had a part, and says how far it came.
Exit code 1 where something was found, or where a target never got beyond its codec.
"""

import argparse
import faulthandler
import hashlib
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "fuzz"))

import attrs
from fuzz_engine import Finding, Tally, Target, input_of, play, shrunk
from fuzz_registry import TARGETS, chosen

KEPT = Path(__file__).resolve().parent.parent / ".fuzz"
CHUNK = 2000
ROUNDS = 8
"""At least. The first is played whatever `--within` says, so that each target has a part."""
SECONDS = 3600
"""Of a chunk, after which a process is given up with a traceback: code in C, which never looks up,
is not interrupted by `Hang`. A chunk takes a minute, and ten on a machine that has much to do."""

MEMORY = 4 << 30
"""Bytes of address space that a process may have: an input that takes more is an error of its own,
and never the end of what else the machine does."""

Asked = tuple[str, str, int, int]


def guard() -> None:
    """What a process is watched by that runs inputs and nothing else."""
    faulthandler.enable()
    if sys.platform == "linux":  # elsewhere address space has no bound that a process may set
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        least = MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most)
        resource.setrlimit(resource.RLIMIT_AS, (least, most))


def shares(targets: Sequence[Target], inputs: int) -> dict[str, int]:
    """How many inputs each target gets."""
    groups: dict[str, float] = {}
    for target in targets:
        groups[target.group] = groups.get(target.group, 0) + target.share
    return {
        target.name: max(1, round(inputs * target.scale * target.share / groups[target.group]))
        for target in targets
    }


def chunks(targets: Sequence[Target], inputs: int, seed: str) -> list[Asked]:
    """Target, seed, first number, how many: in rounds, in each of which every target has a part."""
    rounds: list[tuple[float, Asked]] = []
    for name, count in shares(targets, inputs).items():
        chunk = max(1, min(round(CHUNK * TARGETS[name].scale), -(-count // ROUNDS)))
        for first in range(0, count, chunk):
            rounds.append((first / count, (name, seed, first, min(chunk, count - first))))
    return [asked for _, asked in sorted(rounds)]


def play_chunk(asked: Asked) -> tuple[str, Tally]:
    """Some inputs of one target."""
    name, seed, first, count = asked
    if faulthandler.is_enabled():
        faulthandler.dump_traceback_later(SECONDS, exit=True)
    return name, play(TARGETS[name], seed, range(first, first + count))


def keep(finding: Finding) -> Path:
    """Write a finding's input where it can be looked at."""
    KEPT.mkdir(exist_ok=True)
    digest = hashlib.sha256(finding.data).hexdigest()[:12]
    path = KEPT / f"{finding.target}-{digest}.hex"
    path.write_text(finding.data.hex() + "\n")
    return path


def say(text: str) -> None:
    """One line, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def results(asked: Sequence[Asked], jobs: int) -> Iterator[tuple[str, Tally]]:
    """What comes of each, in order. In this process, where one is enough."""
    if jobs == 1:
        yield from map(play_chunk, asked)
        return
    with ProcessPoolExecutor(jobs, initializer=guard) as pool:
        try:
            yield from pool.map(play_chunk, asked)
        finally:
            pool.shutdown(cancel_futures=True)


def play_round(targets: Sequence[Target], given: argparse.Namespace) -> int:
    """All inputs of all targets. 0 where nothing was found."""
    asked = chunks(targets, given.inputs, given.seed)
    totals = {target.name: Tally() for target in targets}
    begun, until = time.process_time(), time.monotonic() + given.within
    shown: set[str] = set()
    for name, tally in results(asked, given.jobs):
        totals[name].add(tally)
        for finding in tally.findings:
            line = f"{name}: {finding.what[:400]}"
            if line not in shown and len(shown) < 50:
                shown.add(line)
                say(f"{line}\n  {finding.again}\n  {keep(finding)}")
        if time.monotonic() > until and all(total.inputs for total in totals.values()):
            break
    unmet = report(totals)
    cpu = time.process_time() - begun
    if given.jobs == 1:
        say(f"{cpu:.0f} CPU seconds")
    return 1 if unmet or any(total.findings for total in totals.values()) else 0


def report(totals: dict[str, Tally]) -> bool:
    """A line for each target, one for each group. Whether something was not run at all, or never
    got beyond its codec."""
    unmet = False
    groups: dict[str, Tally] = {}
    for name, total in totals.items():
        say(f"{name:32} {line_of(total)}")
        if not total.inputs or not total.taken:
            unmet = True
            say(f"{name}: nothing was taken, which proves nothing")
        groups.setdefault(name.partition(".")[0], Tally()).add(total)
    for group, total in groups.items():
        say(f"{group}: {line_of(total)}")
    return unmet


def line_of(total: Tally) -> str:
    """A tally in words."""
    return (
        f"{total.inputs} inputs, {total.taken} taken, {total.traced} watched for memory, "
        f"the largest of {total.largest} bytes; {len(total.findings)} findings"
    )


def again(target: Target, data: bytes, *, shrink: bool) -> int:
    """Run one input, and let what it raises be seen; but for a hang, which is seen once. 0 where
    nothing was found."""
    found = play_one(target, data)
    if found and shrink:
        data = shrunk(target, data, found)
        say(data.hex())
    say(f"{data[:2000]!r}\n{found or 'nothing found'}")
    if not found.startswith("Hang"):  # nothing would interrupt it now
        say(f"taken: {target.run(data)}")
    return 1 if found else 0


def play_one(target: Target, data: bytes) -> str:
    """What one input does, watched."""
    findings = play(attrs.evolve(target, seeds=(data,)), "0", [0]).findings
    return findings[0].what if findings else ""


def main(argv: Sequence[str]) -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="fuzz.py")
    parser.add_argument("names", nargs="*", metavar="TARGET")
    parser.add_argument("--inputs", type=int, default=20_000, metavar="N")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--within", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument("--at", type=int, metavar="N")
    parser.add_argument("--hex", type=Path, metavar="FILE")
    parser.add_argument("--shrink", action="store_true")
    given = parser.parse_args(argv)
    try:
        targets = chosen(given.names)
    except KeyError as error:
        parser.error(f"no target or group {error}; known: {', '.join(TARGETS)}")
    if given.at is not None or given.hex is not None:
        if len(targets) != 1:
            parser.error("name one target")
        data = (
            bytes.fromhex(given.hex.read_text())
            if given.hex is not None
            else input_of(targets[0], given.seed, given.at)
        )
        return again(targets[0], data, shrink=given.shrink)
    return play_round(targets, given)


if __name__ == "__main__":
    guard()
    sys.exit(main(sys.argv[1:]))
