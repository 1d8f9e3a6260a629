"""The pytest plugin: each of the eight fakes as a fixture, and its frames where a test fails.

It is loaded in every test session of everybody who has fleetgate installed, so it imports nothing
of fleetgate's beyond `shown` until a fixture is used. docs/reference/python.md says how it is used.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

from fleetgate.gateway.fakes.shown import BOARD

if TYPE_CHECKING:
    from fleetgate.gateway.fakes import threads
    from fleetgate.gateway.fakes.fixtures import Fixture
    from fleetgate.gateway.fakes.replaying import Replayer


VERY_VERBOSE: Final = 2
"""What pytest's `-vv` comes to: frames are shown at full length, as pytest then shows values."""

_SPOILT: Final = pytest.StashKey[bool]()
"""Whether a test did not come to its end: its peers do not come to theirs, either."""


_REPLAYER: Final = pytest.StashKey["Replayer"]()
"""What plays recordings in a test, if it was asked for."""


def pytest_configure(config: pytest.Config) -> None:
    """Fakes that are opened in this process are shown, with the fixtures or without."""
    BOARD.keep(whole=config.option.verbose >= VERY_VERBOSE)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What happened before this test is none of its business."""
    BOARD.begin()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A report of something that failed has the frames of every fake of its test, and what its
    replays have found."""
    report = yield
    item.stash[_SPOILT] = item.stash.get(_SPOILT, False) or not report.passed
    if report.failed:
        report.sections += BOARD.sections()
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A replay is waited for as long as its peer is there: other fixtures, in which that may be,
    end before this one."""
    result = yield
    replayer = item.stash.get(_REPLAYER, None)
    if replayer is not None:
        replayer.settle()
    return result


def _offered(name: str) -> Iterator[Any]:
    from fleetgate.gateway.fakes.fixtures import offered

    with offered(name) as fixture:
        yield fixture


@pytest.fixture
def fleetgate_agency_daemon() -> Iterator[Fixture[threads.AgencyDaemon]]:
    """An AgencyProxy daemon, listening at a socket of its own."""
    yield from _offered("agency-daemon")


@pytest.fixture
def fleetgate_agency_client() -> Iterator[Fixture[threads.AgencyClient]]:
    """The client of an AgencyProxy daemon. Without `socket=` it waits for one at its `address`."""
    yield from _offered("agency-client")


@pytest.fixture
def fleetgate_rvbox_server() -> Iterator[Fixture[threads.RvboxServer]]:
    """The server of rvbox host daemons, listening at a free port."""
    yield from _offered("rvbox-server")


@pytest.fixture
def fleetgate_rvbox_client() -> Iterator[Fixture[threads.RvboxClient]]:
    """An rvbox host daemon; call it with `connect=`. Its client id is "host"."""
    yield from _offered("rvbox-client")


@pytest.fixture
def fleetgate_iop_edge() -> Iterator[Fixture[threads.IopEdge]]:
    """An edge, listening at a free port. It lets in whoever shows the token "token"."""
    yield from _offered("iop-edge")


@pytest.fixture
def fleetgate_iop_node() -> Iterator[Fixture[threads.IopNode]]:
    """A node; call it with `connect=`. It shows the token "token"."""
    yield from _offered("iop-node")


@pytest.fixture
def fleetgate_kodelet_control_plane() -> Iterator[Fixture[threads.KodeletControlPlane]]:
    """What `kodelet serve` is to its runners, listening at a free port."""
    yield from _offered("kodelet-control-plane")


@pytest.fixture
def fleetgate_kodelet_runner() -> Iterator[Fixture[threads.KodeletRunner]]:
    """A kodelet runner; call it with `server=`. Its workspace is an empty directory."""
    yield from _offered("kodelet-runner")


@pytest.fixture
def fleetgate_replay(request: pytest.FixtureRequest) -> Iterator[Replayer]:
    """Plays one side of a recording against a live peer: `fleetgate_replay("file.jsonl",
    connect=url)`, or without `connect` at a free address for a peer that dials. A test that
    passes waits for what it has not waited for; one that fails waits for nothing."""
    from fleetgate.gateway.fakes.replaying import replays

    with replays(request.path.parent) as replayer:
        request.node.stash[_REPLAYER] = replayer
        yield replayer
        if request.node.stash.get(_SPOILT, False):
            replayer.give_up()
