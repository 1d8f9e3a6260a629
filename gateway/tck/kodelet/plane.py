"""The kit as a runner of the control plane that is examined."""

from __future__ import annotations

import secrets
from typing import Any, Final

import attrs

from fleetgate.gateway.tck.attempt import Attempt
from fleetgate.gateway.tck.kodelet.talk import (
    RpcPeer,
    dumped,
    expect_object,
    options,
)
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet.structs import write
from fleetgate.transports.api import DialRefused, Options

TOOL: Final = "tck"
"""The one tool that the kit offers."""


def _given(default: Any, words: str) -> Any:
    return attrs.field(default=default, metadata={"words": words})


@attrs.frozen(slots=True)
class PlaneGiven:
    """What the kit must know of a control plane."""

    token: str = _given("", "the runners' token; none: the control plane asks for none")


def carried(given: PlaneGiven) -> Options:
    """How links are carried."""
    return options(given.token)


def registration(instance: str, **members: object) -> dict[str, Any]:
    """The params of a registration that is right, but for what `members` say."""
    right: dict[str, Any] = {
        "protocolVersions": [1],
        "host": {"instanceId": instance, "hostname": "h", "os": "linux", "arch": "amd64"},
        "workspace": {"path": "/srv/project", "name": "project"},
        "capabilities": {"concurrentRuns": True},
        "kodeletVersion": "gateway-tck",
    }
    return {**right, **members}


class Runner(RpcPeer):
    """A runner's end of a link."""

    prefix = "runner"
    id = ""
    generation = 0

    async def register(self, **params: object) -> Any:
        """Register, which must succeed; the result."""
        id = await self.ask("runner.register", params)
        kinds = {"runnerId": str, "protocolVersion": int, "connectionId": str, "generation": int}
        result = await self.result(id, "runner.register")
        expect_object(result, "the result of runner.register", heartbeatIntervalMs=int, **kinds)
        self.id, self.generation = result["runnerId"], result["generation"]
        return result

    async def beat(self, state: str = "idle", *runs: str, **members: object) -> None:
        """Send a heartbeat."""
        params: dict[str, object] = {
            "runnerId": self.id,
            "generation": self.generation,
            "state": state,
        }
        if len(runs) == 1:
            params["activeRunId"] = runs[0]
        if runs:
            params["activeRunIds"] = sorted(runs)
        await self.tell("runner.heartbeat", {**params, **members})

    async def show_life(self) -> None:
        """Say what a runner says all the time."""
        await self.beat()

    def manifest(self, request: Any, **members: object) -> dict[str, Any]:
        """A manifest for what run.open asks, with the digest of what is in it, but for what
        `members` say."""
        params = request["params"]
        made = {
            "protocolVersion": 1,
            "runnerId": self.id,
            "runId": params.get("runId"),
            "generation": self.generation,
            "digest": "",
            "workingDirectory": "/srv/project",
            "contextFiles": [],
            "tools": [tool(TOOL)],
            "skills": None,
            "commands": None,
            "config": {},
            "extensionGeneration": 1,
            "capabilities": flags(updates=True),
            **members,
        }
        if "digest" not in members:
            made["digest"] = m.digest_of(m.read_manifest(made))
        return made

    async def asked(self, method: str) -> Any:
        """The request of this method that comes, which must have an id."""
        request = await self.request(method)
        if not isinstance(request.get("id"), str):
            raise Unmet(f"{method} as a request, whose id is a text", dumped(request)[:300])
        expect_object(request.get("params"), f"the params of {method}")
        return request


def tool(name: str, placement: str = "environment") -> dict[str, Any]:
    """A tool of a manifest."""
    schema = {"type": "object"}
    return {"name": name, "description": "", "inputSchema": schema, "placement": placement}


def flags(*, updates: bool) -> dict[str, bool]:
    """The capabilities of a manifest."""
    made = write(m.Capabilities(tool_updates=updates, interactive_ui=True, commands=True))
    return dict(made)


class PlaneAttempt(Attempt):
    """A requirement of a control plane, being tried."""

    protocol = "kodelet"
    target_speaks = "controller"
    given: PlaneGiven

    async def dial(self) -> Runner:
        """A new link, on which nothing was said."""
        return await self.peer(Runner)

    async def established(self, instance: str = "", **members: object) -> Runner:
        """A new link, on which a runner is registered and ready."""
        runner = await self.dial()
        await runner.register(**registration(instance or self.instance(), **members))
        await runner.beat()
        await runner.expect_alive()  # what is wanted comes another way, and may overtake it
        return runner

    def instance(self) -> str:
        """The id of a new host."""
        return "host_" + secrets.token_urlsafe(18)

    async def status(self, **changes: Any) -> int:
        """The HTTP status with which an upgrade is refused; 101 where it is not."""
        try:
            await self.target.link(self.stack, self.patience.arrive, **changes)
        except DialRefused as refused:
            return refused.status or 0
        return 101

    # --- runs, which somebody must have the control plane ask for

    async def opening(self, runner: Runner, conversation: str = "") -> tuple[Any, str]:
        """Have a run opened at this runner: the run.open that comes, and the run's id.

        Raises: `Skipped` where nobody could ask for it, and nothing came.
        """
        run = self.name()
        details = {"runner": runner.id, "run": run, "conv": conversation or f"c-{run}"}
        # Notifications are no queue: a heartbeat may be taken in behind what is asked for after it.
        runner.kept += await runner.rest()
        able = await self.want("open", **details)
        request = await self._wanted(runner, "run.open", "open", able=able)
        return request, request["params"].get("runId", "")

    async def running(self, **manifest: object) -> tuple[Runner, str]:
        """A runner with an open run."""
        runner = await self.established()
        request, run = await self.opening(runner)
        await runner.yes(request, runner.manifest(request, **manifest))
        await runner.expect_alive()
        return runner, run

    async def have(self, runner: Runner, what: str, method: str, **details: str) -> Any:
        """Have the control plane do something; the request that comes of it."""
        able = await self.want(what, **details)
        return await self._wanted(runner, method, what, able=able)

    async def called(self, runner: Runner, run: str, call: str = "t1") -> Any:
        """Have the tool called."""
        return await self.have(runner, "tool", "tool.execute", run=run, call=call, tool=TOOL)

    async def _wanted(self, runner: Runner, method: str, what: str, *, able: bool) -> Any:
        try:
            return await runner.asked(method)
        except Unmet as unmet:
            if able:
                raise
            raise Skipped(f"it needs to be asked for: give --on {what}; {unmet}") from None
