"""Known holes in what we depend on: `just audit`. Asks PyPI, or with `--service osv` OSV.

Exit 0: every package was asked about and nothing is known. 1: holes are known. 2: some were not
answered about, and what is not known is no clean bill.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
AUDITOR = ROOT / ".venv-audit" / "bin" / "pip-audit"
CLEAN, HOLES, UNANSWERED = 0, 1, 2


def asked(auditor: Path, service: str, requirements: Path) -> tuple[list[Any], str]:
    """What the auditor found for each package, and what it complained of."""
    command = [str(auditor), "-s", service, "-f", "json", "--progress-spinner=off"]
    command += ["--no-deps", "--disable-pip", "-r", str(requirements)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return json.loads(ran.stdout)["dependencies"], ran.stderr
    except (ValueError, KeyError):
        return [], ran.stderr


def judged(found: Sequence[Any], wanted: int, service: str, complaint: str) -> tuple[int, str]:
    """The exit code, and the words for it."""
    holes = [
        f"{each['name']} {each['version']}: {hole['id']}, "
        f"mended in {', '.join(hole['fix_versions']) or 'no version'}"
        for each in found
        for hole in each.get("vulns", ())
    ]
    silent = wanted - sum("vulns" in each for each in found)
    lines = list(holes)
    if silent:
        lines.append(
            f"{service} did not answer about {silent} of {wanted} packages, so nothing is known of "
            f"those: ask from where {service} can be reached, or another --service (pypi, osv)"
        )
        reasons = [each["skip_reason"] for each in found if "skip_reason" in each]
        lines += reasons[:1] if found else complaint.strip().splitlines()[-1:]
    if holes:
        return HOLES, "\n".join(lines)
    if silent:
        return UNANSWERED, "\n".join(lines)
    return CLEAN, f"{wanted} packages: {service} knows of no hole in them"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--service", choices=("pypi", "osv"), default="pypi")
    parser.add_argument("--requirements", type=Path, default=ROOT / "constraints.txt")
    parser.add_argument("--auditor", type=Path, default=AUDITOR)
    given = parser.parse_args(argv)
    lines = given.requirements.read_text().splitlines()
    wanted = sum("==" in line.partition("#")[0] for line in lines)
    found, complaint = asked(given.auditor, given.service, given.requirements)
    code, words = judged(found, wanted, given.service, complaint)
    print(words, file=sys.stdout if code == CLEAN else sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
