"""The show: start everything, run everything, kill the gateway, start it again."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

import trio

from fleetgate.gateway.demo import cases
from fleetgate.gateway.demo.cases import Case
from fleetgate.gateway.demo.children import Child, Cradle
from fleetgate.gateway.demo.judge import Judgement, judge
from fleetgate.gateway.demo.stage import Stage

WITHIN: Final = 45.0
"""Seconds for the whole show; it takes about fifteen."""


PATIENCE: Final = 30.0
"""Seconds to wait for any one thing; the longest takes some six."""

LOG_LINES: Final = 8
"""Lines of a log that are shown where its process ended by itself: its last, and as many before
them that speak of an error."""


class DemoFailed(Exception):
    """The show could not be played to its end. The text says what was waited for."""


class News:
    """What has come of the processes, to wait for: `patience` seconds for any one thing. `still`
    says what is open where it was in vain."""

    def __init__(self, patience: float, still: Callable[[], str] = lambda: "") -> None:
        self._patience = patience
        self._still = still
        self._told = trio.Event()

    def tell(self) -> None:
        """Something has come."""
        self._told.set()
        self._told = trio.Event()

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until it holds.

        Raises: `DemoFailed`.
        """
        with trio.move_on_after(self._patience) as scope:
            while not holds():
                await self._told.wait()
        if scope.cancelled_caught:
            raise DemoFailed(f"waited {self._patience:.0f} s in vain for {what}{self._still()}")


def last_words(root: Path, child: Child) -> DemoFailed:
    """What a process had to say that ended by itself."""
    lines = (root / f"{child.name}.log").read_text(errors="replace").splitlines()
    errors = [line for line in lines[:-LOG_LINES] if '"level": "error"' in line]
    said = "\n".join(errors[-LOG_LINES:] + lines[-LOG_LINES:])
    return DemoFailed(f"the {child.name} ended by itself; its last words:\n{said}")


def say_why(group: BaseExceptionGroup[DemoFailed]) -> None:
    """Say on stderr why the show was not played to its end."""
    for each in group.exceptions:
        if isinstance(each, BaseExceptionGroup):
            say_why(each)
        else:
            sys.stderr.write(f"gateway demo: {each}\n")


class Show(Protocol):
    """Where the audience sees it."""

    def say(self, text: str) -> None:
        """Something the audience should know."""
        ...

    def event(self, case: Case, line: dict[str, Any]) -> None:
        """An event of a run, as the client got it."""
        ...


class Director:
    """Plays one demo, with processes in `home`."""

    def __init__(self, stage: Stage, show: Show, home: Cradle) -> None:
        self._stage = stage
        self._show = show
        self._home = home
        self._lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._answers: dict[str, dict[str, Any]] = {}
        self._ready: set[str] = set()
        self._news = News(PATIENCE)
        self._killed = False
        self.restarts = 0

    async def play(self) -> list[Judgement]:
        """Play it, and judge every run.

        Raises: `DemoFailed`. Cancelled, the processes are still there.
        """
        with trio.move_on_after(WITHIN):
            async with trio.open_nursery() as nursery:
                await self._act(nursery)
                nursery.cancel_scope.cancel()
            return [self._judge(case) for case in cases.CASES]
        raise DemoFailed(f"not over within {WITHIN:.0f} s; still open: {self._open()}")

    async def _act(self, nursery: trio.Nursery) -> None:
        gateway = await self._start_gateway(nursery)
        await self._start_host(nursery)
        client = await self._start_client(nursery)
        for case in cases.BEFORE_THE_KILL:
            await self._start_run(client, case)
        await self._saw(cases.STDIN, "name?")
        await self._send(client, cases.STDIN, "ada")
        await self._saw(cases.CANCEL, "waiting")
        self._show.say("the client cancels a run")
        await client.tell(op="cancel", id="cancel", run=cases.CANCEL.name)
        await self._saw(cases.STDIN, "colour?")
        await self._saw(cases.TICKER, cases.KILL_AT)
        self._show.say(f"kill -9 {gateway.pid}: the gateway is gone, its runs go on at the host")
        self._killed = True
        await gateway.kill()
        self.restarts += 1
        await self._start_gateway(nursery)
        await self._send(client, cases.STDIN, "green")
        await self._start_run(client, cases.AFTER)
        await self._news.until(lambda: not self._open(), "every run to end")

    async def _start_gateway(self, nursery: trio.Nursery) -> Child:
        child = await self._home.start(
            "gateway",
            *("serve", "--config", str(self._stage.config)),
        )
        self._show.say(f"gateway: pid {child.pid}, journal {self._stage.root}/journal.db")
        nursery.start_soon(self._watch, child, self.restarts)
        return child

    async def _watch(self, child: Child, restarts: int) -> None:
        await child.process.wait()
        if not (self._killed and restarts == 0):
            raise last_words(self._stage.root, child)

    async def _start_host(self, nursery: trio.Nursery) -> None:
        child = await self._home.start(
            "host",
            *("fake", "rvbox-client", "--exec", "--connect", self._stage.host_url),
            *("--client-id", "host-1", "--state", str(self._stage.root / "host")),
            environment={cases.MARKS: str(self._stage.marks)},
        )
        nursery.start_soon(self._listen, child)
        await self._news.until(lambda: "host" in self._ready, "the host to be ready")
        self._show.say(f"rvbox host daemon: pid {child.pid}, dials {self._stage.host_url}")

    async def _start_client(self, nursery: trio.Nursery) -> Child:
        child = await self._home.start(
            "client",
            *("fake", "agency-client", "--socket", str(self._stage.socket)),
        )
        nursery.start_soon(self._listen, child)
        await self._news.until(lambda: "client" in self._ready, "the client to be ready")
        self._show.say(f"agency client: pid {child.pid}, on {self._stage.socket}")
        return child

    async def _listen(self, child: Child) -> None:
        async for line in child.lines():
            match line.get("event"):
                case "ready":
                    self._ready.add(child.name)
                case "run":
                    self._lines[line["run"]].append(line)
                    self._show.event(_case(line["run"]), line)
                case None if line.get("id") is not None:
                    self._answers[line["id"]] = line
                case _:
                    pass
            self._news.tell()
        await child.process.wait()
        raise last_words(self._stage.root, child)

    async def _start_run(self, client: Child, case: Case) -> None:
        self._show.say(f"run {case.name}: {case.title}")
        given = {"prompt": case.prompt, "provider": "claude", "model": case.model}
        op = f"start {case.name}"
        await client.tell(op="start", id=op, run=case.name, input=given, interactive=True)
        await self._news.until(lambda: op in self._answers, f"run {case.name} to be accepted")
        if not self._answers[op]["ok"]:
            raise DemoFailed(f"run {case.name} was refused: {self._answers[op]['error']}")
        await client.tell(op="follow", id=f"follow {case.name}", run=case.name, after=0)

    async def _send(self, client: Child, case: Case, text: str) -> None:
        self._show.say(f"the client sends {text!r} to run {case.name}")
        await client.tell(op="send", id=f"send {text}", run=case.name, text=text, newline=True)

    async def _saw(self, case: Case, text: str) -> None:
        await self._news.until(lambda: text in self._text(case), f"{text!r} from run {case.name}")

    def _text(self, case: Case) -> str:
        """The last output of a run, enough of it to find a line in."""
        recent = self._lines[case.name][-64:]
        return "".join(line["text"] for line in recent if line["type"] == "TextProduced")

    def _open(self) -> list[str]:
        return [
            case.name
            for case in cases.CASES
            if not any(line["type"] == "RunFinished" for line in self._lines[case.name])
        ]

    def _judge(self, case: Case) -> Judgement:
        return judge(case, self._lines[case.name], self._stage.executed(case.name))


def _case(name: str) -> Case:
    return next(case for case in cases.CASES if case.name == name)
