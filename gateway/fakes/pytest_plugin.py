"""The pytest plugin: each of the eight fakes as a fixture, and its frames where a test fails.

It is loaded in every test session of everybody who has fleetgate installed, so it imports nothing
of fleetgate's beyond `shown` until a fixture is used. docs/reference/python.md says how it is used.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from fleetgate.gateway.fakes.shown import BOARD

if TYPE_CHECKING:
    from fleetgate.gateway.fakes import threads
    from fleetgate.gateway.fakes.fixtures import Fixture
    from fleetgate.gateway.fakes.replaying import Replayer


def pytest_configure(config: pytest.Config) -> None:
    """Fakes that are opened in this process are shown, with the fixtures or without."""
    BOARD.keep()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What happened before this test is none of its business."""
    BOARD.begin()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A report of something that failed has the frames of every fake of its test."""
    report = yield
    if report.failed:
        report.sections += [(f"frames of {title}", text) for title, text in BOARD.sections()]
    return report


def _offered(name: str) -> Iterator[Any]:
    from fleetgate.gateway.fakes.fixtures import offered

    with offered(name) as fixture:
        yield fixture


@pytest.fixture
def fleetgate_agency_daemon() -> Iterator[Fixture[threads.Worker[Any]]]:
    """An AgencyProxy daemon, listening at a socket of its own."""
    yield from _offered("agency-daemon")


@pytest.fixture
def fleetgate_agency_client() -> Iterator[Fixture[threads.Controller[Any]]]:
    """The client of an AgencyProxy daemon. Without `socket=` it waits for one at its `address`."""
    yield from _offered("agency-client")


@pytest.fixture
def fleetgate_rvbox_server() -> Iterator[Fixture[threads.Controller[Any]]]:
    """The server of rvbox host daemons, listening at a free port."""
    yield from _offered("rvbox-server")


@pytest.fixture
def fleetgate_rvbox_client() -> Iterator[Fixture[threads.Worker[Any]]]:
    """An rvbox host daemon; call it with `connect=`. Its client id is "host"."""
    yield from _offered("rvbox-client")


@pytest.fixture
def fleetgate_iop_edge() -> Iterator[Fixture[threads.Controller[Any]]]:
    """An edge, listening at a free port. It lets in whoever shows the token "token"."""
    yield from _offered("iop-edge")


@pytest.fixture
def fleetgate_iop_node() -> Iterator[Fixture[threads.Worker[Any]]]:
    """A node; call it with `connect=`. It shows the token "token"."""
    yield from _offered("iop-node")


@pytest.fixture
def fleetgate_kodelet_control_plane() -> Iterator[Fixture[threads.ControlPlane]]:
    """What `kodelet serve` is to its runners, listening at a free port."""
    yield from _offered("kodelet-control-plane")


@pytest.fixture
def fleetgate_kodelet_runner() -> Iterator[Fixture[threads.Worker[Any]]]:
    """A kodelet runner; call it with `server=`. Its workspace is an empty directory."""
    yield from _offered("kodelet-runner")


@pytest.fixture
def fleetgate_replay() -> Iterator[Replayer]:
    """Plays one side of a recording against a live peer: `fleetgate_replay("file.jsonl",
    connect=url)`, or without `connect` at a free address for a peer that dials."""
    from fleetgate.gateway.fakes.replaying import replays

    with replays() as replayer:
        yield replayer
