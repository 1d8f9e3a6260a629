"""The two sides of a protocol, driven from Python: who asks, and who works."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final, Literal

import trio

from fleetgate.core.ids import RunId, Seq
from fleetgate.gateway.fakes.fake import Fake, data_members
from fleetgate.gateway.fakes.from_python import Rules, script_of_rules
from fleetgate.gateway.fakes.named import event_line
from fleetgate.gateway.fakes.performing import check_after
from fleetgate.gateway.fakes.seen import NotSeen
from fleetgate.gateway.local.script import Script, load_script
from fleetgate.gateway.render import Line

WAIT_WITHIN: Final = 60.0
"""Seconds that a run may take to end, and to say the next thing where it is followed."""


class Worker(Fake):
    """A fake that is given runs."""

    async def script(self, script: str | Rules | Script) -> None:
        """Play this script for runs that start from now on, in place of what was played, the tools
        of a `KodeletRunner` among it: a path of a TOML file, or its `[[when]]` rules as a list.

        Raises: `BadOption`, `ConfigError`; `Refusal`, where commands are really executed.
        """
        performer, _ = self._opened()
        performer.play(load_script(script) if isinstance(script, str) else script_of_rules(script))
        await trio.lowlevel.checkpoint()

    async def emit(self, run: str, *steps: Mapping[str, Any]) -> None:
        """Append steps, as a script has them, to a run that is played, by its protocol's own id or
        by that of `runs`.

        Raises: `RunNotFound`, which names the runs that are open; `InvalidArgument`.
        """
        await self._ask("emit", run=run, steps=[dict(step) for step in steps])


class Controller(Fake):
    """A fake that starts runs."""

    async def workers(self) -> list[Line]:
        """Its workers as they stand."""
        workers: list[Line] = (await self._ask("workers"))["workers"]
        return workers

    async def start(
        self, /, run: str, input: Mapping[str, Any], *, worker: str | None = None, **spec: Any
    ) -> str:
        """Start a run, and answer its id once it is journaled, even if nobody can take it yet.
        `input` is `{"prompt": …}`, `{"line": …}`, `{"argv": …}`, `{"tool": …}`; `spec` is the rest
        of its spec, as docs/reference/fakes.md has it. `worker`: refused unless its link is up."""
        await self._ask("start", run=run, input=dict(input), worker=worker, **spec)
        return run

    async def send(self, run: str, data: bytes | str, *, newline: bool = False) -> None:
        """Send input to a run."""
        await self._ask("send", run=run, **data_members(data), newline=newline)

    async def close_input(self, run: str) -> None:
        """Close a run's input."""
        await self._ask("close_input", run=run)

    async def signal(
        self, run: str, signal: Literal["interrupt", "terminate", "kill", "hangup"]
    ) -> None:
        """Signal a run."""
        await self._ask("signal", run=run, signal=signal)

    async def cancel(self, run: str, scope: Literal["run", "session"] = "run") -> None:
        """Cancel a run, or all runs of its session. It is answered when that is journaled; `wait`
        says how the run ended."""
        await self._ask("cancel", run=run, scope=scope)

    async def approve(
        self,
        run: str,
        approval: str,
        decision: Literal["allow_once", "allow_similar", "deny", "value"] = "allow_once",
        value: str | None = None,
    ) -> None:
        """Answer an approval of a run."""
        await self._ask("approve", run=run, approval=approval, decision=decision, value=value)

    async def ack(self, run: str, through: int) -> None:
        """Acknowledge a run's events."""
        await self._ask("ack", run=run, through=through)

    async def status(self, run: str) -> Line:
        """A run as it stands."""
        return await self._ask("status", run=run)

    async def wait(self, run: str, *, within: float = WAIT_WITHIN) -> Line:
        """Wait for a run's end; the run as it is then.

        Raises: `Refusal`, after `within` seconds.
        """
        return await self._ask("wait", run=run, timeout_ms=round(within * 1000))

    async def usage(self) -> list[Line]:
        """What the workers say of their accounts."""
        accounts: list[Line] = (await self._ask("usage"))["accounts"]
        return accounts

    async def after(self, run: str, seq: int = 0, *, within: float = WAIT_WITHIN) -> list[Line]:
        """The events of a run above `seq`, at least one: `follow` in pieces.

        Raises: `NotSeen`, where none comes within `within` seconds.
        """
        _, small = self._opened()
        await self.status(run)
        check_after(seq)
        with trio.move_on_after(within), small.hub.follow(RunId(run), Seq(seq)) as follower:
            async for batch in follower:
                return [event_line(recorded) for recorded in batch]
        raise NotSeen(f"run {run} said nothing behind event {seq} within {within:g} s")

    async def follow(
        self, run: str, *, after: int = 0, within: float = WAIT_WITHIN
    ) -> AsyncGenerator[Line, None]:
        """The events of a run above `after`, to its end: `async for event in fake.follow("r")`.

        Raises: `NotSeen`, where the next does not come within `within` seconds.
        """
        while True:
            for event in await self.after(run, after, within=within):
                after = event["seq"]
                yield event
                if event["type"] == "RunFinished":
                    return
