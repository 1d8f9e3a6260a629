"""What holds in every lane: what was run is written down for tools/interop.py.

A test's first paragraph is what the report says of it. `record_property("count", n)` says how many
cases it put to the test, where that is not one; `record_property("peer", "name version")` whom it
met, and in which version: the version that was really built, not the one that was asked for.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from record import Record

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
    """A test goes by its first paragraph, wherever it runs."""
    for item in items:
        words = (getattr(getattr(item, "obj", None), "__doc__", None) or item.name).strip()
        first = " ".join(words.partition("\n\n")[0].split())
        item.user_properties.append(("what", first.rstrip(".")))


@pytest.fixture(scope="session")
def cache() -> Path:
    """The folder that is this lane's, outside of the tree; it stays for the next run."""
    folder = Path(os.environ["FLEETGATE_INTEROP_CACHE"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder
