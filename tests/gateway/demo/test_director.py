"""The director: what goes wrong is told in words, and nothing is left behind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from fleetgate.gateway.demo.cases import Case
from fleetgate.gateway.demo.children import Cradle
from fleetgate.gateway.demo.director import DemoFailed, Director, News
from fleetgate.gateway.demo.stage import Stage, set_stage


@attrs.define
class Silent:
    """A show that nobody watches."""

    said: list[str] = attrs.field(factory=list)

    def say(self, text: str) -> None:
        self.said.append(text)

    def event(self, case: Case, line: dict[str, Any]) -> None:
        self.said.append(line["type"])


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = set_stage()
    yield made
    shutil.rmtree(made.root)


async def test_what_is_waited_for_comes_or_it_is_said_what_did_not(
    autojump_clock: MockClock,
) -> None:
    heard: list[str] = []
    news = News(30, lambda: "; still open: a")

    async def hear(word: str) -> None:
        await trio.sleep(29)
        heard.append(word)
        news.tell()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(hear, "a")
        await news.until(lambda: heard == ["a"], "a")
    with pytest.raises(DemoFailed, match=r"^waited 30 s in vain for b; still open: a$"):
        await news.until(lambda: "b" in heard, "b")


async def test_a_process_that_ends_by_itself_ends_the_show(stage: Stage) -> None:
    """The host cannot keep its state: a file is where its directory should be."""
    (stage.root / "host").write_text("in the way")
    home = Cradle(stage.root, keep=False)
    director = Director(stage, Silent(), home)

    async def play() -> None:
        async with home:
            await director.play()

    with pytest.raises(ExceptionGroup) as raised:
        await play()
    assert raised.group_contains(DemoFailed, match="the host ended by itself")
    assert all(child.process.returncode is not None for child in home.children)
