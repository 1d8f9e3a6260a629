"""What the tests of a lane say of themselves, for tools/interop.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


class Record:
    """Collects what the tests say, and writes it once they are done."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cases: dict[str, dict[str, object]] = {}
        self._places: dict[str, tuple[str, int]] = {}
        self._peers: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of a test is over: what failed in any phase has failed."""
        if report.when != "call" and report.passed:
            return
        said = report.user_properties
        what = str(dict(said).get("what", report.nodeid))  # none where its process died
        count = sum(int(str(value)) for name, value in said if name == "count") or 1
        self._peers |= dict.fromkeys(str(value) for name, value in said if name == "peer")
        file, line, _ = report.location
        place = (file, line or 0)
        self._places[what] = min(place, self._places.get(what, place))
        case = self._cases.setdefault(what, {"what": what, "count": 0, "outcome": "passed"})
        case["count"] = int(str(case["count"])) + count
        if report.outcome != "passed":
            case["outcome"] = report.outcome

    def pytest_sessionfinish(self) -> None:
        """All is said, in the order of the files: tests end in any."""
        cases = [self._cases[what] for what in sorted(self._cases, key=self._places.__getitem__)]
        said = {"peers": sorted(self._peers), "cases": cases}
        self._path.write_text(json.dumps(said))
