"""One hub with its entries, up and down on the same journal."""

from __future__ import annotations

import pytest
import trio

from fleetgate.core import commands as c
from fleetgate.core.answers import RunList
from fleetgate.core.errors import Stopping
from fleetgate.core.ids import RunId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.worker import InputKind
from fleetgate.gateway.fidelity.bridge import LOCAL, SERVER, configs_of
from fleetgate.gateway.fidelity.member import Member, staying
from fleetgate.transports.api import AddressError

START = c.StartRun(RunId("server/r"), c.RunSpec(c.ShellCommand(line="x")), c.Origin(SERVER, "r"))


async def test_what_was_journaled_is_there_when_it_comes_up_again(autojump_clock) -> None:
    _, _, host = configs_of("rvbox", "rvbox")
    async with open_memory_journal() as journal, trio.open_nursery() as nursery:
        member = Member(host, staying(journal), {LOCAL: frozenset(InputKind)})
        await nursery.start(member.run)
        await member.hub.submit(START)
        assert member.journal is journal
        await member.stop()
        await nursery.start(member.run)
        listed = await member.hub.submit(c.ListRuns())
        assert isinstance(listed, RunList)
        assert [run.id for run in listed.runs] == ["server/r"]
        await member.drain()
        with pytest.raises(Stopping):
            await member.hub.submit(c.StartRun(RunId("server/r2"), START.spec, START.origin))
        assert member.faults() == []
        nursery.cancel_scope.cancel()


async def test_an_address_that_is_taken_is_an_error(autojump_clock) -> None:
    controller, _, _ = configs_of("rvbox", "rvbox")
    async with open_memory_journal() as journal, trio.open_nursery() as nursery:
        await nursery.start(Member(controller, staying(journal)).run)
        with pytest.raises(BaseException) as raised:  # noqa: PT011 - a group, whose leaf is checked
            await nursery.start(Member(controller, staying(journal)).run)
        assert raised.group_contains(Exception) or isinstance(raised.value, AddressError)
        nursery.cancel_scope.cancel()
