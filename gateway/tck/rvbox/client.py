"""The kit as a host daemon (the protocol's client) of the server that is examined."""

from __future__ import annotations

import secrets
import time
from typing import Any, Final

import attrs

from fleetgate.gateway.tck.attempt import Attempt
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.rvbox.talk import V1, EnvelopePeer, Message, new_uuid, options
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.transports.api import Options


def _given(default: Any, words: str) -> Any:
    return attrs.field(default=default, metadata={"words": words})


@attrs.frozen(slots=True)
class ServerGiven:
    """What the kit must know of a server."""

    token: str = _given("", "a bearer token to show at the upgrade; none: nothing is shown")
    client_id: str = _given("", "whom the token speaks for; none: a new name each time")
    line: str = _given("echo tck-out", "the line of runs that it starts")


def carried(given: ServerGiven) -> Options:
    """How links are carried."""
    return options(given.token)


RANGE: Final = w.ProtocolRange(V1, V1)


def told(client_id: str, **members: Any) -> w.ClientHello:
    """A hello that is right, but for what `members` say."""
    right = w.ClientHello(
        client_id=client_id,
        supported_protocol=RANGE,
        daemon_version="gateway-tck",
        platform=w.Platform.LINUX,
        architecture="any",
        daemon_cwd="/",
        supported_shells=(w.ShellType.NONE, w.ShellType.SH),
        client_instance_id=secrets.token_hex(8),
        max_running_commands=4,
        max_queued_commands=4,
        sent_at=time.time_ns(),
    )
    return attrs.evolve(right, **members)


class Client(EnvelopePeer):
    """A host's end of a link."""

    async def enter(self, hello: w.ClientHello) -> w.ServerWelcome:
        """Say hello, and take the session that the welcome opens."""
        await self.say(hello)
        envelope = codec.decode(await self.receive("a welcome"))
        if not isinstance(envelope.payload, w.ServerWelcome):
            raise Unmet("ServerWelcome", f"this came: {self.last[:300]}")
        self.session, self.generation = envelope.session_id, envelope.session_generation
        return envelope.payload

    async def reconcile(self, *retained: w.ReconcileCommandState) -> w.ReconcileResult:
        """Be asked what is retained, say it, and take the result."""
        await self.hear_a(w.ReconcileRequest)
        await self.say(w.ReconcileSnapshot(retained))
        return await self.hear_a(w.ReconcileResult)

    async def report(self, running: int = 0, queued: int = 0, most: int = 4) -> None:
        """Say how busy it is."""
        await self.say(w.ClientCapacity(running, queued, most, most))

    async def tell(self, dispatch: w.CommandDispatch, sequence: int, event: w.Happening) -> None:
        """Send an event of a command."""
        uuid, revision = dispatch.issue_uuid, dispatch.command_revision
        await self.say(w.CommandEvent(uuid, revision, sequence, time.time_ns(), event))

    async def acked(self, dispatch: w.CommandDispatch, through: int) -> None:
        """The server must acknowledge up to `through`, and never more."""

        def fits(ack: w.EventAck) -> bool:
            if ack.issue_uuid == dispatch.issue_uuid and ack.through_event_seq > through:
                raise Unmet(f"no acknowledgement beyond {through}", f"{ack} came")
            return ack == w.EventAck(dispatch.issue_uuid, through)

        await self.until(w.EventAck, fits)


class ServerAttempt(Attempt):
    """A requirement of a server, being tried."""

    protocol = "rvbox"
    target_speaks = "controller"
    given: ServerGiven

    def client_id(self) -> str:
        """Who the kit is, in this attempt."""
        return self.given.client_id or self.name("host")

    async def dial(self) -> Client:
        """A new link, on which nothing was said."""
        return await self.peer(Client)

    async def welcomed(self, hello: w.ClientHello | None = None) -> Client:
        """A new session, which is not reconciled."""
        client = await self.dial()
        await client.enter(hello or told(self.client_id()))
        return client

    async def opened(self, hello: w.ClientHello | None = None) -> Client:
        """A new session, in which work may come."""
        client = await self.welcomed(hello)
        await client.reconcile()
        await client.report()
        return client

    async def dispatched(self, client: Client, hello: w.ClientHello) -> w.CommandDispatch:
        """Have the server asked for a run at this client; the dispatch that comes, not answered.

        Raises: `Skipped` where nobody could ask it, and nothing came.
        """
        details = {"name": new_uuid(), "line": self.given.line, "client": hello.client_id}
        return await self.asked(client, w.CommandDispatch, "run", **details)

    async def asked(
        self, client: Client, kind: type[Message], want: str, /, **details: str
    ) -> Message:
        """Have the server asked for something; the payload that comes of it.

        Raises: `Skipped` where nobody could ask it, and nothing came.
        """
        able = await self.want(want, **details)
        try:
            return await client.until(kind, lambda _: True)
        except Unmet as unmet:
            if able:
                raise
            text = f"it needs a server that is asked to: give --on {want}; {unmet}"
            raise Skipped(text) from None

    async def running(
        self, hello: w.ClientHello | None = None
    ) -> tuple[Client, w.ClientHello, w.CommandDispatch]:
        """A session with a command that was accepted and runs: two events."""
        hello = hello or told(self.client_id())
        client = await self.opened(hello)
        dispatch = await self.dispatched(client, hello)
        uuid, revision = dispatch.issue_uuid, dispatch.command_revision
        await client.say(w.CommandAccepted(uuid, revision, True))
        await client.tell(dispatch, 1, w.LifecycleChanged(w.CommandLifecycle.QUEUED))
        await client.tell(dispatch, 2, w.LifecycleChanged(w.CommandLifecycle.RUNNING, 7))
        return client, hello, dispatch
