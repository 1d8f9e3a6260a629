"""The eight fakes, each with the options of its command line.

An option is a keyword of the same name, with `_` for `-`. What is repeatable there is a list here,
and `set` is a mapping. docs/reference/fakes.md says what each means. Raises: `BadOption`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

from fleetgate.gateway.fakes.from_python import Rules
from fleetgate.gateway.fakes.roles import WAIT_WITHIN, Controller, Worker
from fleetgate.gateway.render import Line

StrPath: TypeAlias = str | os.PathLike[str]
ScriptLike: TypeAlias = StrPath | Rules
"""The path of a TOML file, or its `[[when]]` rules as a list."""


class Common(TypedDict, total=False):
    """Options of every fake."""

    set: Mapping[str, object]
    seed: int
    fault: Sequence[str]
    record: StrPath
    log_level: Literal["debug", "info", "warning", "error"]


class Tls(Common, total=False):
    """Options of every fake whose carriage may be TLS."""

    tls_ca: StrPath
    tls_cert: StrPath
    tls_key: StrPath


class AgencyDaemon(Worker):
    """An AgencyProxy daemon, listening at a Unix socket."""

    def __init__(
        self, *, socket: StrPath, script: ScriptLike | None = None, **common: Unpack[Common]
    ) -> None:
        super().__init__("agency-daemon", {"socket": socket, "script": script, **common})


class AgencyClient(Controller):
    """The client of an AgencyProxy daemon: a GUI, a CLI."""

    def __init__(
        self, *, socket: StrPath, state: StrPath | None = None, **common: Unpack[Common]
    ) -> None:
        super().__init__("agency-client", {"socket": socket, "state": state, **common})


class RvboxServer(Controller):
    """The server of rvbox host daemons."""

    def __init__(
        self,
        *,
        listen: str = "ws://127.0.0.1:0/agent",
        token: Sequence[str] = (),
        state: StrPath | None = None,
        **common: Unpack[Tls],
    ) -> None:
        options = {"listen": listen, "token": list(token), "state": state, **common}
        super().__init__("rvbox-server", options)


class RvboxClient(Worker):
    """An rvbox host daemon."""

    def __init__(
        self,
        *,
        connect: str,
        client_id: str,
        state: StrPath,
        token: str | None = None,
        exec: bool = False,
        script: ScriptLike | None = None,
        max_running: int | None = None,
        max_queued: int | None = None,
        **common: Unpack[Tls],
    ) -> None:
        options = {
            "connect": connect,
            "client_id": client_id,
            "state": state,
            "token": token,
            "exec": exec,
            "script": script,
            "max_running": max_running,
            "max_queued": max_queued,
            **common,
        }
        super().__init__("rvbox-client", options)


class IopEdge(Controller):
    """An edge: of nodes, and EdgeControl for control clients."""

    def __init__(
        self,
        *,
        token: Sequence[str],
        listen: str = "grpc://127.0.0.1:0",
        node_config: StrPath | None = None,
        state: StrPath | None = None,
        **common: Unpack[Tls],
    ) -> None:
        options = {
            "token": list(token),
            "listen": listen,
            "node_config": node_config,
            "state": state,
            **common,
        }
        super().__init__("iop-edge", options)


class IopNode(Worker):
    """A node of an iop edge."""

    def __init__(
        self,
        *,
        connect: str,
        token: str,
        exec: bool = False,
        script: ScriptLike | None = None,
        **common: Unpack[Tls],
    ) -> None:
        options = {"connect": connect, "token": token, "exec": exec, "script": script, **common}
        super().__init__("iop-node", options)


class KodeletRunner(Worker):
    """A kodelet runner, bound to a workspace."""

    def __init__(
        self,
        *,
        server: str,
        workspace: StrPath,
        state: StrPath,
        token: str | None = None,
        name: str | None = None,
        cleanup_timeout_ms: int | None = None,
        script: ScriptLike | None = None,
        **common: Unpack[Tls],
    ) -> None:
        options = {
            "server": server,
            "workspace": workspace,
            "state": state,
            "token": token,
            "name": name,
            "cleanup_timeout_ms": cleanup_timeout_ms,
            "script": script,
            **common,
        }
        super().__init__("kodelet-runner", options)


class KodeletControlPlane(Controller):
    """What `kodelet serve` is to its runners. Beside runs that are started it has runs that are
    opened by hand, in the protocol's own words; the two know nothing of each other. What a runner
    does not answer in `within` seconds, or answers with an error, is raised as `NoAnswer`."""

    def __init__(
        self,
        *,
        listen: str = "127.0.0.1:0",
        token: str | None = None,
        heartbeat_ms: int | None = None,
        heartbeat_timeout_ms: int | None = None,
        lease_grace_ms: int | None = None,
        no_ui: bool = False,
        **common: Unpack[Tls],
    ) -> None:
        options = {
            "listen": listen,
            "token": token,
            "heartbeat_ms": heartbeat_ms,
            "heartbeat_timeout_ms": heartbeat_timeout_ms,
            "lease_grace_ms": lease_grace_ms,
            "no_ui": no_ui,
            **common,
        }
        super().__init__("kodelet-control-plane", options)

    async def runners(self) -> list[Line]:
        """The runners, also those that are gone."""
        runners: list[Line] = (await self._ask("runners"))["runners"]
        return runners

    async def open(
        self,
        runner: str,
        run: str,
        conv: str,
        *,
        reserved: Sequence[str] | None = None,
        caps: Mapping[str, bool] | None = None,
        agent: Mapping[str, str] | None = None,
        within: float = WAIT_WITHIN,
        id: str | None = None,
    ) -> Any:
        """Open a run; its manifest. `id` is for `abort`."""
        asked = {"runner": runner, "run": run, "conv": conv, "caps": caps, "agent": agent}
        names = None if reserved is None else list(reserved)
        opened = await self._ask("open", id=id, within=within, reserved=names, **asked)
        return opened["manifest"]

    async def call(
        self,
        run: str,
        method: str,
        params: Any = None,
        *,
        within: float = WAIT_WITHIN,
        id: str | None = None,
    ) -> Any:
        """Send any request about a run; its result. `id` is for `abort`."""
        asked = {"run": run, "method": method, "params": params}
        return (await self._ask("call", id=id, within=within, **asked))["result"]

    async def tool(
        self,
        run: str,
        call: str,
        tool: str,
        input: Any = None,
        *,
        updates: bool = False,
        within: float = WAIT_WITHIN,
        id: str | None = None,
    ) -> Any:
        """Call a tool; its result. With `updates` each is an event `update`, which `expect` finds;
        after `within` seconds it is given up. `id` is for `abort`."""
        asked: dict[str, Any] = {"run": run, "call": call, "tool": tool, "input": input}
        timeout = round(within * 1000)
        return (await self._ask("tool", id=id, updates=updates, timeoutMs=timeout, **asked))[
            "result"
        ]

    async def cancel(
        self,
        run: str,
        scope: Literal["run", "session"] = "run",
        *,
        reason: str = "context canceled",
        within: float = WAIT_WITHIN,
        id: str | None = None,
    ) -> None:
        """Cancel a run: `reason` goes to the runner of one that was opened by hand."""
        await self._ask("cancel", id=id, within=within, run=run, scope=scope, reason=reason)

    async def close_run(
        self,
        run: str,
        status: Literal["succeeded", "failed", "canceled"] = "succeeded",
        *,
        within: float = WAIT_WITHIN,
        id: str | None = None,
    ) -> Line:
        """Close a run; confirmed, it ends so. How it stands then."""
        asked = {"run": run, "status": status}
        closed: Line = (await self._ask("close", id=id, within=within, **asked))["run"]
        return closed

    async def run(self, run: str) -> Line:
        """How a run stands that was opened by hand, also when it has ended."""
        shown: Line = (await self._ask("run", run=run))["run"]
        return shown

    async def abort(self, id: str) -> None:
        """Give up the operation that was given this id; of an `open` that was answered its owner
        goes."""
        await self._ask("abort", reason=id)
