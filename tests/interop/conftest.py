"""What holds in every lane: what was run is written down for tools/interop.py.

A test's first line is what the report says of it. `record_property("count", n)` says how many
cases it put to the test, where that is not one; `record_property("peer", "name version")` whom it
met, and in which version: the version that was really built, not the one that was asked for.
"""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "interop", deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile("interop")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the result goes."""
    parser.addoption("--said", type=Path, help="a file for what was run, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Only the process that hears of every test writes down."""
    said = config.getoption("--said")
    if said is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Record(said))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test goes by its first line, wherever it runs."""
    for item in items:
        words = (getattr(getattr(item, "obj", None), "__doc__", None) or item.name).strip()
        item.user_properties.append(("what", words.partition("\n")[0].rstrip(".")))


class Record:
    """Collects what the tests say, and writes it once they are done."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cases: dict[str, dict[str, object]] = {}
        self._peers: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of a test is over: what failed in any phase has failed."""
        if report.when != "call" and report.passed:
            return
        said = report.user_properties
        what = str(dict(said).get("what", report.nodeid))  # none where its process died
        count = sum(int(str(value)) for name, value in said if name == "count") or 1
        self._peers |= dict.fromkeys(str(value) for name, value in said if name == "peer")
        case = self._cases.setdefault(what, {"what": what, "count": 0, "outcome": "passed"})
        case["count"] = int(str(case["count"])) + count
        if report.outcome != "passed":
            case["outcome"] = report.outcome

    def pytest_sessionfinish(self) -> None:
        """All is said."""
        said = {"peers": sorted(self._peers), "cases": list(self._cases.values())}
        self._path.write_text(json.dumps(said))


@pytest.fixture(scope="session")
def cache() -> Path:
    """The folder that is this lane's, outside of the tree; it stays for the next run."""
    folder = Path(os.environ["FLEETGATE_INTEROP_CACHE"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder
