"""A small gateway around one entry."""

from __future__ import annotations

import attrs
import pytest
import trio
import trio.testing
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core.errors import NoRoute, UnsupportedInput
from fleetgate.core.ids import RunId
from fleetgate.core.routing import OPERATOR
from fleetgate.core.worker import InputKind
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.small import LOCAL, LONGEST_REDIAL, open_small
from fleetgate.gateway.testing import SeenHouse
from fleetgate.protocols import agency, rvbox
from fleetgate.protocols.api import Connection
from fleetgate.transports.api import AddressError, Options
from fleetgate.transports.open import open_dialer

CLIENT = Entry(
    "south", "daemon", "agency", "memory:daemon", False, agency.ADAPTER.southbound.settings()
)
HOST = Entry(
    "north", "server", "rvbox", "memory:server", False, rvbox.ADAPTER.northbound.settings()
)

SHELL = frozenset({InputKind.SHELL})


async def test_a_controller_routes_the_operators_runs_to_its_worker(
    autojump_clock: MockClock,
) -> None:
    seen = SeenHouse()
    async with open_small(CLIENT, "fake", "memory:", seen) as small:
        run = RunId("r")
        await small.hub.submit(c.StartRun(run, c.RunSpec(c.Prompt("x")), c.Origin(OPERATOR, "r")))
        await trio.sleep(5)
        assert seen.entries["daemon"].named("retrying")
        assert small.drivers == []


async def test_a_peer_that_is_away_for_long_is_dialled_soon_all_the_same(
    autojump_clock: MockClock,
) -> None:
    seen = SeenHouse()
    async with open_small(CLIENT, "fake", "memory:", seen):
        await trio.sleep(600)
    waits = seen.entries["daemon"].named("retrying")
    assert len(waits) > 300
    assert all(isinstance(each, float) and each <= LONGEST_REDIAL for each in waits)


async def test_a_worker_routes_its_controllers_runs_to_the_local_pool() -> None:
    async with open_small(HOST, "fake", "memory:", SeenHouse(), SHELL) as small:
        assert small.hub.router.route("server", c.RunSpec(c.ShellCommand(line="x")))[0] == LOCAL
        with pytest.raises(NoRoute):
            small.hub.router.route(OPERATOR, c.RunSpec(c.ShellCommand(line="x")))


@pytest.mark.parametrize(
    ("inputs", "taken"),
    [
        (SHELL, "shell"),
        (frozenset({InputKind.SHELL, InputKind.PROMPT}), "prompt or shell"),
        (frozenset[InputKind](), "no"),
    ],
)
async def test_what_a_worker_does_not_take_is_refused_in_words_of_a_fake(
    inputs: frozenset[InputKind], taken: str
) -> None:
    """Whoever runs it has written no route, and can set no `adapt`."""
    opened = open_small(
        HOST, "iop-node", "memory:", SeenHouse(), inputs, advice=", or do without --exec"
    )
    async with opened as small:
        with pytest.raises(UnsupportedInput) as caught:
            small.hub.router.route("server", c.RunSpec(c.ToolCall("bash")))
    assert str(caught.value) == (
        f"expected {taken} input, which is what this iop-node takes; tool input came; "
        "send it the former, or do without --exec"
    )


@pytest.mark.parametrize("entry", [CLIENT, HOST])
async def test_a_fake_may_make_its_connections_itself(
    entry: Entry, autojump_clock: MockClock
) -> None:
    made: list[object] = []
    options = Options(limit=1 << 20, framing="varint")

    def connect(settings: object) -> Connection:
        made.append(settings)
        return Connection()

    listening = attrs.evolve(entry, listens=True)
    async with (
        open_small(listening, "fake", "memory:", SeenHouse(), connect=connect) as small,
        open_dialer(entry.address, options) as dialer,
    ):
        await dialer.dial()
        await trio.testing.wait_all_tasks_blocked()
        assert made == [entry.settings]
        assert len(small.drivers) == 1


async def test_an_address_that_makes_no_sense_is_an_error() -> None:
    bad = Entry("north", "x", "agency", "nowhere", True, agency.ADAPTER.northbound.settings())
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - a group, whose leaf is checked
        async with open_small(bad, "fake", "memory:", SeenHouse()):
            pass
    assert raised.group_contains(AddressError) or isinstance(raised.value, AddressError)
