"""What a fake's worker plays, on a hub in virtual time."""

from __future__ import annotations

import pytest

from fleetgate.core.commands import Prompt, ResolveApproval, RunSpec, ToolCall
from fleetgate.core.events import Decision, Outcome, Reason, RunFinished, RunState
from fleetgate.core.hub_testing import read_until, started
from fleetgate.core.worker import InputKind
from fleetgate.gateway.fakes.played import Answers, Played
from fleetgate.gateway.local.script import parse_script
from fleetgate.gateway.local.script_play import Stage
from fleetgate.gateway.local.work import Work

SCRIPT = parse_script(
    """
[[when]]
match = "asks|mine"
do = [{ approval = { id = "a", title = "May I?" } }, { finish = { text = "scripted" } }]

[usage]
daily_limit = "1 %"
""",
    "script.toml",
)


async def mine(work: Work, answers: Answers) -> Outcome:
    assert answers == {}
    return Outcome(RunState.SUCCEEDED, Reason.EXITED, text="by the tool")


@pytest.fixture
def adapters() -> Played:
    return Played(Stage(SCRIPT), {"mine": mine})


async def test_a_tool_stands_before_the_script(stage) -> None:
    hub, _ = stage
    run = await started(hub, "r", RunSpec(ToolCall("mine")))
    end = (await read_until(hub, run, 3))[-1].event
    assert isinstance(end, RunFinished)
    assert end.outcome.text == "by the tool"


async def test_all_else_is_scripted(stage) -> None:
    hub, seen = stage
    run = await started(hub, "r", RunSpec(Prompt("asks"), approvals=True))
    await read_until(hub, run, 3)
    await hub.submit(ResolveApproval(run, "a", Decision.DENY))
    end = (await read_until(hub, run, 5))[-1].event
    assert isinstance(end, RunFinished)
    assert end.outcome.text == "scripted"
    assert seen.faults == []


def test_it_takes_every_kind_of_input_and_tells_its_usage(adapters: Played) -> None:
    assert adapters.inputs == frozenset(InputKind)
    assert adapters.usage is SCRIPT.usage
