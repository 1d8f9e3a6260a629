"""Requirements and kits: what holds for all of them."""

from __future__ import annotations

import re

import attrs
import pytest

from fleetgate.gateway.tck.kits import all_kits, protocols
from fleetgate.gateway.tck.requirement import Kit, Tier, Topic

KITS = {f"{kit.protocol} {kit.side}": kit for kit in all_kits()}

ENOUGH = {"agency": 40, "kodelet": 40, "iop": 30, "rvbox": 30}
"""Requirements of a protocol's kits together, at least."""


def test_a_topic_collects_in_order() -> None:
    topic = Topic("words")
    words = {"given": "a", "when": "b", "expect": "c", "source": "d"}

    @topic.must("X-1", **words)
    async def first(kit: object) -> None: ...

    @topic.info("X-2", ends=True, **words)
    async def second(kit: object) -> None: ...

    made = list(topic)
    assert [(each.id, each.tier, each.ends) for each in made] == [
        ("X-1", Tier.MUST, False),
        ("X-2", Tier.INFO, True),
    ]
    assert {each.topic for each in made} == {"words"}
    assert made[0].title == "given a, when b, expect c"


@pytest.mark.parametrize("kit", KITS.values(), ids=KITS)
def test_ids_are_one_each_and_say_which_kit_they_are_of(kit: Kit) -> None:
    ids = [each.id for each in kit.requirements]
    assert len(set(ids)) == len(ids)
    assert [id for id in ids if not re.fullmatch(rf"{kit.prefix}-\d{{3}}", id)] == []


@pytest.mark.parametrize("kit", KITS.values(), ids=KITS)
def test_words_are_whole(kit: Kit) -> None:
    for each in kit.requirements:
        for words in (each.given, each.when, each.expect):
            assert words, each.id
            assert words[-1] != ".", each.id
        assert re.match(rf"{kit.protocol} \d", each.source), each.id


@pytest.mark.parametrize("kit", KITS.values(), ids=KITS)
def test_requirements_that_end_the_target_come_last(kit: Kit) -> None:
    ends = [each.ends for each in kit.requirements]
    assert ends == sorted(ends)


@pytest.mark.parametrize("kit", KITS.values(), ids=KITS)
def test_what_is_given_has_defaults_and_words(kit: Kit) -> None:
    kit.given()
    for field in attrs.fields(kit.given):
        assert field.metadata["words"], field.name


@pytest.mark.parametrize("protocol", protocols())
def test_there_are_enough(protocol: str) -> None:
    kits = [kit for kit in all_kits() if kit.protocol == protocol]
    assert sum(len(kit.requirements) for kit in kits) >= ENOUGH[protocol]


def test_two_sides_can_have_the_same_requirements() -> None:
    topic = Topic("words")
    topic.must("1", given="a", when="b", expect="c", source="d")(nothing)
    (made,) = topic.of("X")
    assert (made.id, made.title, made.topic) == ("X-1", "given a, when b, expect c", "words")
    assert [each.id for each in topic] == ["1"]


async def nothing(kit: object) -> None: ...
