"""The kit as a client of the daemon that is examined."""

from __future__ import annotations

from typing import Any, Final

import attrs

from fleetgate.gateway.tck.agency.talk import (
    HELLO,
    JsonPeer,
    Object,
    dumped,
    expect_members,
    framed,
    member_list,
    shower,
)
from fleetgate.gateway.tck.attempt import Attempt
from fleetgate.gateway.tck.peer import RawPeer, Skipped, Unmet
from fleetgate.gateway.tck.seen import Show

TERMINAL: Final = ("finished", "failed")
STATES_AT_END: Final = ("completed", "failed", "canceled", "interrupted")


def _given(default: Any, words: str) -> Any:
    return attrs.field(default=default, metadata={"words": words})


@attrs.frozen(slots=True)
class DaemonGiven:
    """What the kit must know of a daemon: how to start a run there, and which prompts make an
    agent do what some requirements need."""

    provider: str = _given("claude", "the provider of its runs")
    model: str = _given("", "the model of its runs")
    permission: str = _given("plan", "the permission of its runs")
    binary: str = _given("", "the program of its runs; none: the provider's own")
    workspace: str = _given("/tmp", "the workspace of its runs")
    prompt: str = _given("say something short", "ends soon, and well")
    hold_prompt: str = _given("tck-hold", "says something and goes on until it is canceled")
    listen_prompt: str = _given("tck-listen", "takes two messages, says something after each, ends")
    ask_prompt: str = _given("tck-ask", "asks for one approval, says something once it is decided")
    burst_prompt: str = _given("tck-burst", "makes more than 2048 events")


class Client(JsonPeer):
    """A client's end of a link."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._last = 1

    async def hello(self) -> Any:
        """Say hello and take the answer."""
        await self.say(HELLO)
        answer = await self.hear("the answer to hello")
        expect_members(answer, "the answer to hello", kind="response", request_id=1, type="hello")
        return answer

    async def ask(self, type: str, **members: object) -> int:
        """Send a request; its number."""
        self._last += 1
        await self.say({"requestId": self._last, "type": type, **members})
        return self._last

    async def answer(self, id: int, expected: str, past: list[Any] | None = None) -> Any:
        """The answer to a request; events before it go to `past`."""
        while True:
            message = await self.hear(expected)
            if message.get("kind") == "response":
                expect_members(message, expected, request_id=id)
                return message
            if past is not None:
                past.append(message)

    async def accepted(self, id: int, what: str, past: list[Any] | None = None) -> None:
        """The answer must be `accepted`."""
        answer = await self.answer(id, f"accepted, for {what}", past)
        expect_members(answer, f"the answer to {what}", type="accepted")

    async def refused(self, id: int, code: str, what: str, message: str | None = None) -> Any:
        """The answer must be an error with this code."""
        answer = await self.answer(id, f"the error {code}, for {what}")
        expect_members(answer, f"the answer to {what}", type="error", code=code)
        if not isinstance(answer.get("message"), str):
            raise Unmet("a message in the error", f"this came: {dumped(answer)[:300]}")
        if message is not None:
            expect_members(answer, f"the answer to {what}", message=message)
        return answer

    async def list_runs(self) -> list[Any]:
        """Every run."""
        answer = await self.answer(await self.ask("list_runs"), "the list of runs")
        expect_members(answer, "the answer to list_runs", type="runs")
        return member_list(answer, "runs", "the answer to list_runs")

    async def listed(self, run: str) -> Any:
        """The snapshot of a run, from the list."""
        found = [each for each in await self.list_runs() if each.get("runId") == run]
        if len(found) != 1:
            raise Unmet(f"the run {run} once in the list", f"it is there {len(found)} times")
        return found[0]

    async def attach(self, run: str, after: int = 0, past: list[Any] | None = None) -> Any:
        """Attach to a run; its snapshot."""
        id = await self.ask("attach_run", run_id=run, after_sequence=after)
        answer = await self.answer(id, "the answer to attach_run", past)
        expect_members(answer, "the answer to attach_run", type="run")
        return answer.get("run")

    async def event(self, run: str) -> Any:
        """The next event of a run."""
        message = await self.hear(f"an event of {run}")
        expect_members(message, "an event", kind="event", run_id=run)
        return message

    async def events(self, run: str, stop: str = "", most: int = 10_000) -> list[Any]:
        """The run's events up to the first of type `stop`, or up to its end."""
        heard: list[Any] = []
        while len(heard) < most:
            heard.append(await self.event(run))
            type = type_of(heard[-1])
            if type == stop or (not stop and type in TERMINAL):
                return heard
            if stop and type in TERMINAL:
                raise Skipped(f"the run ended before there was {stop}: give a prompt that does it")
        raise Unmet(f"the end of {run}", f"{most} events came")

    async def expect_alive(self) -> None:
        """The link must still answer."""
        await self.list_runs()


def type_of(message: Any) -> Any:
    """The type of an event; None where it is no event."""
    event: Any = message.get("event")
    return event.get("type") if hasattr(event, "get") else None


class DaemonAttempt(Attempt):
    """A requirement of a daemon, being tried."""

    given: DaemonGiven

    protocol = "agency"
    target_speaks = "worker"

    def shower(self) -> Show:
        """Frames as they stand on the wire."""
        return shower()

    async def dial(self) -> Client:
        """A new link, on which nothing was said."""
        return await self.peer(Client)

    async def greeted(self) -> Client:
        """A new link, on which hello was said and answered."""
        client = await self.dial()
        await client.hello()
        return client

    async def raw_greeted(self) -> RawPeer:
        """A new byte stream, on which hello was said and answered."""
        raw = await self.raw()
        await raw.send(framed(HELLO))
        await self.raw_answer(raw)
        return raw

    async def raw_answer(self, raw: RawPeer) -> bytes:
        """The next frame on a byte stream: its kind byte and its payload."""
        length = int.from_bytes(await raw.some(4), "big")
        if not 0 < length <= 1 << 21:
            raise Unmet("the length of a frame", f"it was {length}")
        return await raw.some(length)

    def request(self, prompt: str | None = None, **members: object) -> Object:
        """What a run is asked to be; members left out are those that may be."""
        given = self.given
        request: dict[str, object] = {
            "provider": given.provider,
            "model": given.model,
            "prompt": given.prompt if prompt is None else prompt,
            "permission": given.permission,
            "approvals": False,
            "interactive": False,
            "workspaceRoots": [given.workspace],
        }
        if given.binary:
            request["binary"] = given.binary
        return request | members

    async def start(self, client: Client, prompt: str | None = None, **members: object) -> str:
        """Start a run, which must be accepted; its id."""
        run = self.name()
        request = self.request(prompt, **members)
        id = await client.ask("start_run", run_id=run, request=request, idempotency_key=run)
        await client.accepted(id, "start_run")
        return run

    async def finished(self, client: Client) -> tuple[str, list[Any]]:
        """A run that has ended, and its events."""
        run = await self.start(client)
        await client.attach(run)
        return run, await client.events(run)

    async def holding(self, client: Client, **members: object) -> str:
        """A run that goes on, attached to by the client, which has taken its first events.

        Raises: `Skipped` where the target's run ends by itself.
        """
        if not self.given.hold_prompt:
            raise Skipped("it needs a run that goes on: give --hold-prompt")
        run = await self.start(client, self.given.hold_prompt, **members)
        await client.attach(run)
        if any(type_of(event) in TERMINAL for event in await client.rest()):
            raise Skipped("the run ended by itself: give --hold-prompt a prompt whose run goes on")
        return run

    async def cancel(self, client: Client, run: str) -> None:
        """Have a run ended, for order's sake."""
        id = await client.ask("cancel_run", run_id=run, idempotency_key=f"{run}:cancel")
        await client.answer(id, "the answer to cancel_run")
