"""A bridge in one process, beyond what tests/bridges walks over it."""

from __future__ import annotations

import pytest
import trio

from fleetgate.core.adaptation import rewrite
from fleetgate.core.commands import Prompt, RunSpec, ShellCommand, ToolCall
from fleetgate.core.worker import InputKind, kind_of
from fleetgate.gateway.fidelity.bridge import adaptation_for, configs_of, until
from fleetgate.gateway.registry import adapters

GIVEN = (Prompt("p"), ShellCommand(argv=("a", "b")), ToolCall("t", {"a": 1}))


@pytest.mark.parametrize("protocol", adapters(()))
def test_a_worker_is_given_nothing_that_it_does_not_take(protocol: str) -> None:
    taken = adapters(())[protocol].southbound.inputs
    for given in GIVEN:
        adapted = rewrite(adaptation_for(taken), RunSpec(given)).input
        assert kind_of(adapted) in taken
        if kind_of(given) in taken:
            assert adapted == given


def test_workers_of_tools_only_are_not_known() -> None:
    adapted = rewrite(adaptation_for(frozenset({InputKind.SHELL})), RunSpec(ToolCall("t"))).input
    assert isinstance(adapted, ShellCommand)


@pytest.mark.parametrize("north", adapters(()))
@pytest.mark.parametrize("south", adapters(()))
def test_each_end_dials_what_the_other_listens_at(north: str, south: str) -> None:
    controller, gateway, host = configs_of(north, south)
    for one, other in ((controller.south[0], gateway.north[0]), (gateway.south[0], host.north[0])):
        assert one.address == other.address
        assert one.listens is not other.listens
    assert controller.south[0].address != host.north[0].address


async def test_waiting_has_an_end(autojump_clock) -> None:
    with pytest.raises(trio.TooSlowError):
        await until(lambda: False, seconds=1)
