"""The show of all pairs: start everything, run everything, kill the gateway, go on."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final, Protocol

import trio

from fleetgate.gateway.demo.children import Child, Cradle
from fleetgate.gateway.demo.director import DemoFailed, News, last_words
from fleetgate.gateway.demo.every.judge import Verdict, end_of, judge, said_in
from fleetgate.gateway.demo.every.scenes import AFTER, QUICK, SCENES, TICKER, Scene
from fleetgate.gateway.demo.every.speakers import PAIRS, SECRET, SPEAKERS, TOKEN, Pair
from fleetgate.gateway.demo.every.stage import EveryStage

WITHIN: Final = 240.0
"""Seconds for the whole show; it takes about a minute on two cores."""

PATIENCE: Final = 120.0
"""Seconds to wait for any one thing: twenty programs start at once."""


class Show(Protocol):
    """Where the audience sees it."""

    def say(self, text: str) -> None:
        """Something the audience should know."""
        ...

    def event(self, pair: Pair, scene: Scene, line: dict[str, Any]) -> None:
        """An event of a run, as its controller got it."""
        ...


class EveryDirector:
    """Plays one demo of all pairs, with processes in `home`."""

    def __init__(self, stage: EveryStage, show: Show, home: Cradle) -> None:
        self._stage = stage
        self._show = show
        self._home = home
        self._lines: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        self._answers: dict[tuple[str, str], dict[str, Any]] = {}
        self._news = News(PATIENCE, self._still)
        self._killed = False
        self.restarts = 0

    async def play(self) -> list[Verdict]:
        """Play it, and judge every run.

        Raises: `DemoFailed`. Cancelled, the processes are still there.
        """
        with trio.move_on_after(WITHIN):
            async with trio.open_nursery() as nursery:
                await self._act(nursery)
                nursery.cancel_scope.cancel()
            return [self._judge(pair, scene) for pair in PAIRS for scene in SCENES]
        raise DemoFailed(f"not over within {WITHIN:.0f} s; still open: {self._open(*SCENES)}")

    async def _act(self, nursery: trio.Nursery) -> None:
        gateway = await self._start_gateway(nursery)
        for speaker in SPEAKERS:
            child = await self._home.start(
                f"worker-{speaker.protocol}", "fake", *self._stage.worker(speaker)
            )
            nursery.start_soon(self._watch, child)
        controllers = {pair.name: await self._start_controller(nursery, pair) for pair in PAIRS}
        self._show.say(f"{len(controllers)} controllers and {len(SPEAKERS)} workers started")
        await self._begin(controllers, QUICK)
        await self._begin(controllers, TICKER)
        await self._news.until(lambda: not self._open(QUICK), "every quick run to end")
        await self._news.until(
            lambda: all(self._said(pair) for pair in PAIRS), "every ticker's word"
        )
        self._show.say(f"kill -9 {gateway.pid}: the gateway, with {len(PAIRS)} runs at work")
        self._killed = True
        await gateway.kill()
        self.restarts += 1
        await self._start_gateway(nursery)
        await self._news.until(lambda: not self._open(TICKER), "every ticker to end")
        await self._begin(controllers, AFTER)
        await self._news.until(lambda: not self._open(AFTER), "every run after the restart to end")

    async def _start_gateway(self, nursery: trio.Nursery) -> Child:
        child = await self._home.start(
            "gateway",
            *("serve", "--config", str(self._stage.config)),
            environment={TOKEN: SECRET},
        )
        self._show.say(f"gateway: pid {child.pid}, {len(PAIRS)} bridges")
        nursery.start_soon(self._watch_gateway, child, self.restarts)
        return child

    async def _watch_gateway(self, child: Child, restarts: int) -> None:
        await child.process.wait()
        if not (self._killed and restarts == 0):
            raise last_words(self._stage.root, child)

    async def _watch(self, child: Child) -> None:
        await child.process.wait()
        raise last_words(self._stage.root, child)

    async def _start_controller(self, nursery: trio.Nursery, pair: Pair) -> Child:
        child = await self._home.start(pair.name, "fake", *self._stage.controller(pair))
        nursery.start_soon(self._listen, child, pair)
        return child

    async def _listen(self, child: Child, pair: Pair) -> None:
        scenes = {scene.word: scene for scene in SCENES}
        async for line in child.lines():
            if line.get("event") == "run":
                self._lines[pair.name, line["run"]].append(line)
                self._show.event(pair, scenes[line["run"]], line)
            elif line.get("id") is not None:
                self._answers[pair.name, line["id"]] = line
            self._news.tell()
        raise last_words(self._stage.root, child)

    async def _begin(self, controllers: dict[str, Child], scene: Scene) -> None:
        """Start a scene with every pair; a run waits for its worker."""
        self._show.say(f"{scene.word}: {scene.lines} lines from each of {len(PAIRS)} bridges")
        for pair in PAIRS:
            child, given = controllers[pair.name], pair.north.run_of(scene.word)
            await child.tell(op="start", id=scene.word, run=scene.word, input=given)
            await child.tell(op="follow", id=f"follow {scene.word}", run=scene.word, after=0)
        await self._news.until(lambda: not self._unanswered(scene), f"{scene.word} to be accepted")
        for pair in PAIRS:
            answer = self._answers[pair.name, scene.word]
            if not answer["ok"]:
                raise DemoFailed(f"{pair.name}: {scene.word} was refused: {answer['error']}")

    def _unanswered(self, scene: Scene) -> list[str]:
        return [pair.name for pair in PAIRS if (pair.name, scene.word) not in self._answers]

    def _said(self, pair: Pair) -> bool:
        return bool(said_in(self._lines[pair.name, TICKER.word]))

    def _open(self, *scenes: Scene) -> list[str]:
        return [
            f"{pair.name}/{scene.word}"
            for scene in scenes
            for pair in PAIRS
            if end_of(self._lines[pair.name, scene.word]) is None
        ]

    def _still(self) -> str:
        return f"; still open: {', '.join(self._open(*SCENES)[:8])}"

    def _judge(self, pair: Pair, scene: Scene) -> Verdict:
        return judge(pair, scene, self._lines[pair.name, scene.word])
