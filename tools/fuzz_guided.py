"""A target under Atheris, which looks for inputs that reach code that no other has reached.

    python tools/fuzz_guided.py TARGET [CORPUS] [options of libFuzzer]

Atheris is no dependency of ours: install it beside them (`pip install atheris`; its wheels are for
Linux). CORPUS is a folder to go on from and to keep what it finds in; it begins with the target's
seeds. `-runs=N` and `-max_total_time=SECONDS` end it. A finding is raised, and its input is in a
file `crash-…`, which `tools/fuzz.py TARGET --hex` takes once it is in hexadecimal digits.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "fuzz"))

import atheris

with atheris.instrument_imports(include=["fleetgate"]):
    from fuzz_registry import TARGETS


def main(argv: list[str]) -> None:
    """Run one target until something is found, or until libFuzzer's options say so."""
    if len(argv) < 2 or argv[1] not in TARGETS:
        sys.exit(f"fuzz_guided.py: expected a target first, one of {', '.join(TARGETS)}")
    target = TARGETS[argv[1]]
    target.prepare()
    folders = [word for word in argv[2:] if not word.startswith("-")]
    for folder in folders:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(target.seeds):
            (Path(folder) / f"seed-{number}").write_bytes(seed)

    def run(data: bytes) -> None:
        target.run(data)

    atheris.Setup([argv[0], *argv[2:]], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
