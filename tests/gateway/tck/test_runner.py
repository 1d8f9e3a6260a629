"""One requirement's trouble is its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from fleetgate.gateway.tck.attempt import Attempt
from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.peer import CannotStart, Elsewhere, Skipped, Unmet
from fleetgate.gateway.tck.requirement import Requirement, Tier, Topic
from fleetgate.gateway.tck.runner import Result, Runner, Summary, Verdict, chosen
from fleetgate.gateway.tck.testing import Bad
from fleetgate.transports.api import LinkBroken

WORDS = {"given": "a", "when": "b", "expect": "c", "source": "d"}


def requirement(play: Callable[[Any], Awaitable[None]], **members: Any) -> Requirement:
    return Requirement("X-001", Tier.MUST, play=play, **{**WORDS, **members})


async def passes(attempt: Attempt) -> None:
    attempt.note("well done")


async def breaks(attempt: Attempt) -> None:
    raise Unmet("an apple", "a pear came")


async def skips(attempt: Attempt) -> None:
    raise Skipped("no basket")


async def cannot_be_said(attempt: Attempt) -> None:
    raise Elsewhere("no text here")


async def loses(attempt: Attempt) -> None:
    raise LinkBroken("it tore")


async def stumbles(attempt: Attempt) -> None:
    raise KeyError("payload")


async def hangs(attempt: Attempt) -> None:
    await trio.sleep_forever()


class Own:
    """A starter that counts."""

    def __init__(self) -> None:
        self.said: list[str] = []

    async def ensure(self) -> bool:
        self.said.append("ensure")
        return False

    @property
    def exit_code(self) -> int | None:
        return None

    async def stop(self) -> None:
        self.said.append("stop")


class Gone(Own):
    """A starter whose target was killed."""

    @property
    def exit_code(self) -> int | None:
        return -9


class Unable(Own):
    """A starter that has no program."""

    async def ensure(self) -> bool:
        raise CannotStart("no program")


def runner_with(nursery: trio.Nursery, **members: Any) -> Runner:
    return Runner(kit_of("agency", "daemon"), Bad(nursery), None, **members)


@pytest.mark.parametrize(
    ("play", "verdict", "reason"),
    [
        (passes, Verdict.PASS, ""),
        (breaks, Verdict.FAIL, "expected an apple; a pear came"),
        (skips, Verdict.SKIP, "no basket"),
        (loses, Verdict.FAIL, "the link ended in the middle: it tore"),
        (stumbles, Verdict.FAIL, "the kit could not go on with what came: KeyError('payload')"),
        (hangs, Verdict.FAIL, "it was not over after 120 s"),
    ],
)
async def test_a_verdict_has_its_reason(
    nursery: trio.Nursery,
    autojump_clock: MockClock,
    play: Callable[[Any], Awaitable[None]],
    verdict: Verdict,
    reason: str,
) -> None:
    result = await runner_with(nursery).attempt(requirement(play))
    assert (result.verdict, result.reason) == (verdict, reason)


async def test_what_ends_the_target_needs_somebody_to_start_it(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    ending = requirement(passes, ends=True)
    result = await runner_with(nursery).attempt(ending)
    assert (result.verdict, "--start" in result.reason) == (Verdict.SKIP, True)
    own = Own()
    result = await runner_with(nursery, started=own).attempt(ending)
    assert (result.verdict, own.said) == (Verdict.PASS, ["ensure", "stop"])


async def test_a_target_that_is_gone_is_noted_with_what_did_not_come(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    runner = runner_with(nursery, started=Gone())
    result = await runner.attempt(requirement(breaks))
    (note,) = result.notes
    assert note.startswith("the command of --start was ended by signal 9: try it by itself")
    assert (await runner.attempt(requirement(passes))).notes == ("well done",)
    assert (await runner.attempt(requirement(breaks, ends=True))).notes == ()


async def test_nothing_can_be_tried_where_the_target_cannot_be_started(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    runner = runner_with(nursery, started=Unable())
    with pytest.raises(CannotStart):
        await runner.attempt(requirement(passes))


def test_requirements_are_chosen_by_id_pattern_or_topic() -> None:
    kit = kit_of("agency", "daemon")
    assert chosen(kit, []) == kit.requirements
    assert [each.id for each in chosen(kit, ["AGENCY-D-020"])] == ["AGENCY-D-020"]
    assert {each.topic for each in chosen(kit, ["hello"])} == {"hello"}
    assert len(chosen(kit, ["AGENCY-D-02*"])) == 10
    assert chosen(kit, ["nothing"]) == ()


def test_a_summary_counts_and_musts_decide() -> None:
    must = requirement(passes)
    should = attrs.evolve(must, tier=Tier.SHOULD)
    shoulds = (Result(must, Verdict.PASS), Result(should, Verdict.FAIL))
    assert not Summary(shoulds).broken
    assert not Summary(shoulds).unproven
    assert Summary(shoulds).count(Tier.SHOULD, Verdict.FAIL) == 1
    assert Summary((*shoulds, Result(must, Verdict.FAIL))).broken
    assert Summary((*shoulds, Result(must, Verdict.SKIP))).unproven


async def test_what_is_of_another_carriage_leaves_nothing_unproven(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    runner = runner_with(nursery)
    beside = await runner.attempt(requirement(cannot_be_said))
    assert (beside.verdict, beside.reason) == (Verdict.SKIP, "no text here")
    assert not Summary((beside,)).unproven
    assert Summary((beside, await runner.attempt(requirement(skips)))).unproven


def test_a_topic_is_what_its_file_says() -> None:
    topic = Topic("empty")
    assert list(topic) == []
