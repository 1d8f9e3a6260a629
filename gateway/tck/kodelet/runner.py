"""The kit as a control plane of the runner that is examined."""

from __future__ import annotations

from typing import Any, Final

import attrs

from fleetgate.gateway.tck.attempt import Attempt
from fleetgate.gateway.tck.kodelet.talk import (
    RpcPeer,
    dumped,
    expect_equal,
    expect_object,
    given_text,
    options,
)
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.transports.api import Options

RUNNER: Final = "runner_gatewaytck000001"
"""The id that the kit assigns."""

INTERVAL: Final = 15_000
SHORT: Final = 100
"""Milliseconds between heartbeats, where they are looked at."""

RESERVED: Final = ("get_goal", "update_goal", "read_conversation")


def _given(default: Any, words: str) -> Any:
    return attrs.field(default=default, metadata={"words": words})


@attrs.frozen(slots=True)
class RunnerGiven:
    """What the kit must know of a runner: its tools, and what else it is to do. The defaults are
    what `gateway fake kodelet-runner` has."""

    token: str = _given("", "the bearer token that it shows; none: that is not looked at")
    tool: str = _given("echo", "a tool that takes {} and ends well at once")
    stream_tool: str = _given("stream", "a tool that takes {} and makes updates")
    hold_tool: str = _given("sleep", "a tool that takes {} and goes on until it is cancelled")
    stubborn_tool: str = _given("stubborn", "a tool that ends only after its cancellation")
    big_tool: str = _given("big", "a tool whose result is over 4 MiB")
    ask_tool: str = _given("ask", "a tool that asks with one ui.input")
    slow_conversation: str = _given("slowopen", "conversations that begin so take 2 s to open")
    blocked_message: str = _given("blockme", "a user's message that an extension blocks")
    slash: str = _given("/hello tck", "a slash command that it knows")


def carried(given: RunnerGiven) -> Options:
    """How links are carried."""
    return options("")


class ControlPlane(RpcPeer):
    """A control plane's end of a link."""

    prefix = "server"
    generation = 1

    async def registration(self) -> Any:
        """The first message, which must be a registration."""
        await self._take("runner.register")
        if not self.kept or self.kept[0]["method"] != "runner.register":
            raise Unmet("runner.register as the first message", f"this came: {self.last[:300]}")
        return self.kept.pop(0)

    def granted(self, interval: int = INTERVAL, **members: object) -> Any:
        """The result of a registration."""
        result = {
            "runnerId": RUNNER,
            "protocolVersion": 1,
            "connectionId": "conn_gatewaytck000001",
            "generation": self.generation,
            "heartbeatIntervalMs": interval,
        }
        return {**result, **members}

    async def register(self, interval: int = INTERVAL) -> Any:
        """Take the registration; its params."""
        registration = await self.registration()
        await self.yes(registration, self.granted(interval))
        return registration["params"]

    async def ready(self) -> None:
        """The runner's first heartbeat, before which no control plane asks for a run (9.1): the
        runner may not have taken in yet that it is registered. It is kept."""
        while not any(message["method"] == "runner.heartbeat" for message in self.kept):
            await self._take("the first heartbeat")

    async def heartbeat(self, *runs: str) -> Any:
        """The params of the first heartbeat that reports these runs."""
        for _ in range(100):
            params = (await self.request("runner.heartbeat"))["params"]
            if sorted(params.get("activeRunIds") or ()) == sorted(runs):
                return params
        raise Unmet(f"a heartbeat with the runs {list(runs)}", "100 others came")

    async def open(self, run: str, conversation: str, **members: object) -> str:
        """Ask for a run; the id of the request."""
        params: dict[str, Any] = {
            "runId": run,
            "conversationId": conversation,
            "agent": {"provider": "openai", "model": "gpt", "invokedBy": "main"},
            "clientCapabilities": {"interactiveUI": True, "persistentSurfaces": False},
            "reservedToolNames": list(RESERVED),
        }
        return await self.ask("run.open", {**params, **members})

    async def opened(self, run: str, conversation: str = "", **members: object) -> Any:
        """Open a run; its manifest."""
        id = await self.open(run, conversation or f"c-{run}", **members)
        return expect_object(await self.result(id, "run.open"), "the manifest", tools=list)

    async def execute(self, run: str, tool: str, call: str = "t1", **members: object) -> str:
        """Call a tool; the id of the request."""
        params: dict[str, Any] = {"runId": run, "toolCallId": call, "name": tool, "input": {}}
        return await self.ask("tool.execute", {**params, **members})

    async def working(self, run: str, tool: str, call: str = "t1") -> str:
        """Call a tool that goes on, and leave it the time to begin: requests are no queue, and one
        that comes behind it may overtake it. The id of the request."""
        id = await self.execute(run, tool, call)
        self.kept += await self.rest()
        return id

    async def dispatch(self, run: str, event: str, **members: object) -> str:
        """Tell of an event; the id of the request."""
        return await self.ask("lifecycle.dispatch", {"runId": run, "event": event, **members})

    async def command(self, run: str, message: str) -> str:
        """Offer a message; the id of the request."""
        return await self.ask("command.execute", {"runId": run, "message": message})

    async def void(self, method: str, run: str, **members: object) -> None:
        """Ask for something whose result is null."""
        id = await self.ask(method, {"runId": run, **members})
        answer, text = await self.answer_text(id, f"the result of {method}")
        if "result" not in answer or answer["result"] is not None or answer.get("error"):
            raise Unmet(f'"result":null for {method}', f"this came: {text[:300]}")

    async def close_run(self, run: str) -> None:
        """Close a run."""
        await self.void("run.close", run)


class RunnerAttempt(Attempt):
    """A requirement of a runner, being tried."""

    protocol = "kodelet"
    target_speaks = "worker"
    given: RunnerGiven

    async def arrive(self) -> ControlPlane:
        """A runner that has dialled."""
        return await self.peer(ControlPlane)

    async def established(self, interval: int = INTERVAL) -> ControlPlane:
        """A runner that is registered."""
        plane = await self.arrive()
        await plane.register(interval)
        await plane.ready()
        return plane

    async def running(self, interval: int = INTERVAL) -> tuple[ControlPlane, str]:
        """A runner with an open run."""
        plane, run = await self.established(interval), self.name()
        await plane.opened(run)
        return plane, run

    def told(self, option: str, need: str) -> str:
        """What the kit was told of the runner. Raises: `Skipped` where it was told nothing."""
        return given_text(getattr(self.given, option.replace("-", "_")), option, need)


def expect_result(value: object, tool: str, *, success: bool) -> Any:
    """It must be the result of a tool, which went well or not."""
    executed = expect_object(value, "the result of tool.execute", input=dict, result=dict)
    result = expect_object(executed["result"], "result", assistantFacing=str, structured=dict)
    structured = expect_object(
        result["structured"], "structured", toolName=str, success=bool, timestamp=str
    )
    expect_equal(structured["toolName"], tool, "toolName")
    failed = bool(result.get("error")) or not structured["success"]
    if failed is success:
        wanted = "a success" if success else "error, and success false"
        raise Unmet(f"{wanted} in the result of {tool}", f"it is {dumped(executed)[:300]}")
    return result
