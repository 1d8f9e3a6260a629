"""The kit as a daemon of the client that is examined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs

from fleetgate.gateway.tck.agency.talk import CAP, JsonPeer, expect_members, read, shower
from fleetgate.gateway.tck.attempt import Attempt
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.seen import Show
from fleetgate.transports.api import Options

CAPABILITIES: Final = (
    ("event_replay", 0),
    ("live_injection", 0),
    ("approvals", 0),
    ("cancellation", 0),
    ("session_interruption", 4),
    ("provider_detection", 0),
    ("lifecycle_control", 2),
)
"""What a daemon says it can do, with the minor that brought it."""

ANSWERS: Final[dict[str, dict[str, Any]]] = {
    "list_runs": {"type": "runs", "runs": []},
    "probe_providers": {"type": "providers", "providers": []},
    "read_account_usage": {"type": "account_usage", "providers": []},
    "attach_run": {"type": "error", "code": "not_found", "message": "run does not exist"},
    "interrupt_session": {"type": "session_interrupted", "interrupted": False},
}
"""What an idle daemon answers; to all else, accepted."""


def carried(given: Any) -> Options:
    """As the protocol has it, and one byte more: what is too large can be said."""
    return Options(framing="kind", limit=CAP + 1)


@attrs.frozen(slots=True)
class ClientGiven:
    """What the kit must know of a client."""

    prompt: str = attrs.field(
        default="say something short", metadata={"words": "the prompt of runs that it starts"}
    )


class Daemon(JsonPeer):
    """A daemon's end of a link. What the client asks beside what a requirement is about gets an
    idle daemon's answers."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.heard: list[Any] = []
        """Every request so far."""

    async def request(self, expected: str) -> Any:
        """The next request, not answered."""
        request = await self.hear(expected)
        self.heard.append(request)
        if type(request.get("requestId")) is not int or not isinstance(request.get("type"), str):
            raise Unmet("a request with requestId and type", f"{self.last[:300]} came")
        return request

    async def reply(self, request: Any, type: str = "accepted", **members: object) -> None:
        """Answer a request."""
        head = {"kind": "response", "request_id": request["requestId"], "type": type}
        await self.say({**head, **members})

    async def reply_idly(self, request: Any) -> None:
        """Answer as a daemon does that has nothing to do."""
        await self.reply(request, **ANSWERS.get(request["type"], {}))

    async def welcome(self, minor: int = 3, major: int = 0, *extra: str) -> Any:
        """Take hello, and answer it."""
        hello = await self.request("hello")
        expect_members(hello, "the first frame", type="hello")
        names = [name for name, since in CAPABILITIES if since <= minor]
        await self.reply(
            hello,
            "hello",
            server_name="agency-proxy",
            version={"major": major, "minor": minor},
            capabilities=[*names, *extra],
        )
        return hello

    async def asked(self, type: str, run: str | None = None) -> Any:
        """The next request of a type (about a run), not answered; others before it are."""
        while True:
            request = await self.request(type)
            if request["type"] == type and run in (None, request.get("run_id")):
                return request
            await self.reply_idly(request)

    async def settle(self) -> list[Any]:
        """Answer what comes until nothing has come for a while; what came. The link must stay."""
        asked: list[Any] = []
        while isinstance(came := await self.next(self.patience.quiet), bytes):
            asked.append(read(came))
            self.heard.append(asked[-1])
            await self.reply_idly(asked[-1])
        if came is not None:
            raise Unmet("that the client stays", came.text)
        return asked

    async def event(self, run: str, sequence: int, type: str, payload: object = None) -> None:
        """Send an event of a run."""
        event = {"type": type} if payload is None else {"type": type, "payload": payload}
        await self.say({"kind": "event", "run_id": run, "sequence": sequence, "event": event})


def snapshot(start: Any, **members: object) -> dict[str, object]:
    """The snapshot of a run that was just started."""
    request = start["request"]
    return {
        "runId": start["run_id"],
        "state": "running",
        "provider": request["provider"],
        "model": request["model"],
        "providerSessionId": None,
        "latestSequence": 0,
        "acknowledgedSequence": 0,
        "workspaceRoots": request["workspaceRoots"],
        "metadata": request.get("metadata", {}),
        **members,
    }


FINISHED: Final = {
    "agent": "claude",
    "exit_code": 0,
    "first_unparsed": None,
    "rate_limit": None,
    "session": None,
    "stderr": "",
    "stop": "completed",
    "structured": None,
    "text": "done",
    "unparsed": 0,
    "usage": None,
}
"""The payload of `finished`."""


class ClientAttempt(Attempt):
    """A requirement of a client, being tried."""

    protocol = "agency"
    target_speaks = "controller"
    given: ClientGiven

    def shower(self) -> Show:
        """Frames as they stand on the wire."""
        return shower()

    async def arrive(self) -> Daemon:
        """A client that has dialled, and to which nothing was said."""
        return await self.peer(Daemon)

    async def welcomed(self, minor: int = 3) -> Daemon:
        """A client whose hello was answered, and that has asked all it asks by itself."""
        daemon = await self.arrive()
        await daemon.welcome(minor)
        await daemon.settle()
        return daemon

    async def wanted(
        self, daemon: Daemon, want: str, type: str, about: str | None = None, **details: str
    ) -> Any:
        """Have the client asked for something; the request that comes of it, not answered.

        Raises: `Skipped` where nobody could ask it, and it did nothing.
        """
        able = await self.want(want, **details)
        try:
            return await daemon.asked(type, about)
        except Unmet as unmet:
            if able:
                raise
            raise Skipped(f"it needs a client that does this: give --on {want}; {unmet}") from None

    async def start_of(self, daemon: Daemon) -> Any:
        """The start_run of a run that the client was asked for, not answered."""
        return await self.wanted(
            daemon, "run", "start_run", name=self.name(), prompt=self.given.prompt
        )

    async def running(
        self, daemon: Daemon, on_attach: Callable[[Any], dict[str, object]] = snapshot
    ) -> Any:
        """The start_run of a run that was accepted and is attached to."""
        start = await self.start_of(daemon)
        await daemon.reply(start)
        attach = await daemon.asked("attach_run", start["run_id"])
        await daemon.reply(attach, "run", run=on_attach(start))
        return start
