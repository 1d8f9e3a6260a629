"""A genuine peer of iop in each of its three parts, whatever library it is on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peers import Line, Peer, Start, settings
from programs import PATIENCE

TOKEN = "t0ken"
MEBIBYTE = 1 << 20
LIMIT = 4 * MEBIBYTE

Said = dict[str, Any]

SLOW = {"register_timeout": PATIENCE, "dead_after": PATIENCE}
"""A peer here says what a scene tells it, and no heartbeat by itself. Scenes about silence set what
they need."""


def host_of(address: str) -> str:
    """HOST:PORT of a URL."""
    return address.partition("://")[2]


def start_edge(
    fake: Start, *words: str, secure: bool = False, **values: object
) -> tuple[Peer, str]:
    """An edge of ours, and where it is."""
    listen = "grpcs://127.0.0.1:0" if secure else "grpc://127.0.0.1:0"
    edge = fake("iop-edge", "--listen", listen, "--token", f"{TOKEN}=n1", "--token", "other=n2",
                *words, *settings(**SLOW | {"reconnect_grace": PATIENCE} | values))  # fmt: skip
    return edge, edge.until(event="ready")["address"]


class Call:
    """One call of a genuine client, or one that came to a genuine server."""

    def __init__(self, peer: Peer, name: str) -> None:
        self.peer = peer
        self.name = name

    def say(self, repeat: int = 1, **message: Any) -> None:
        """Send a message, so many times."""
        self.peer.tell("send", call=self.name, message=message, repeat=repeat)

    def hear(self, kind: str = "") -> Said:
        """The next message; with a kind, what is in that place of the next one that has it."""
        while True:
            message = self.peer.until(event="message", call=self.name)["message"]
            if not kind or kind in message:
                return message[kind] if kind else message

    def denied(self) -> str:
        """With which status the call ends, where it does without a message. One that comes is
        taken."""
        return str(self.next().get("code", ""))

    def next(self) -> Line:
        """Its next message, or its end."""
        return self.peer.event(
            lambda line: line.get("call") == self.name and line["event"] in ("message", "end")
        )

    def end(self) -> tuple[str, str]:
        """How it ended."""
        line = self.peer.until(event="end", call=self.name)
        return line["code"], line["text"]

    def order(self, op: str, **members: Any) -> None:
        self.peer.tell(op, call=self.name, **members)


class Client:
    """A genuine client: a node, or one that controls."""

    def __init__(self, genuine: Start, address: str, *words: str) -> None:
        self.peer = genuine("client", "--at", host_of(address), *words)
        self.peer.until(event="ready")
        self._calls = 0

    def call(self, method: str, token: str = TOKEN, **how: Any) -> Call:
        self._calls += 1
        made = Call(self.peer, f"c{self._calls}")
        metadata = {"authorization": f"Bearer {token}"} if token else {}
        made.order("call", method=method, metadata=metadata, **how)
        return made

    def register(self, token: str = TOKEN, **how: Any) -> Call:
        """Connect as a node; answers once the edge has accepted it."""
        link = self.call("Connect", token="", **how)
        link.say(register={"token": token})
        if not how.get("hold"):
            assert link.hear("registered")["accepted"]
        return link

    def ask(self, method: str, **message: Any) -> Said:
        """A call with one answer."""
        call = self.call(method, message=message)
        answer = call.hear()
        assert call.end()[0] == "OK"
        return answer

    def refusal(self, method: str, token: str = TOKEN, **message: Any) -> tuple[str, str]:
        """How a call ends that is refused."""
        return self.call(method, token, message=message).end()


class Server:
    """A genuine edge."""

    def __init__(self, genuine: Start, *words: str, secure: bool = False) -> None:
        self.peer = genuine("server", "--at", "127.0.0.1:0", *words)
        at = self.peer.until(event="ready")["address"]
        self.address = f"{'grpcs' if secure else 'grpc'}://{at}"

    def greet(self, token: str = TOKEN, accept: bool = True) -> Call:
        """Take the next call and the node that registers on it."""
        call = Call(self.peer, self.peer.until(event="call")["call"])
        assert call.hear()["register"] == {"token": token}
        if accept:
            call.say(registered={"accepted": True, "node_id": "n1", "alias": "one"})
        return call


def start_node(fake: Start, address: str, *words: str, **values: object) -> Peer:
    """A node of ours under a genuine edge."""
    given = settings(**SLOW | values)
    return fake("iop-node", "--connect", address, "--token", TOKEN, *words, *given)


DEADLINES = (2, 8, 32, 128)
"""Seconds. The first that is long enough for what is to come before it, on a machine that may have
much else to do."""


def text_of(events: list[Said]) -> str:
    """All that a run has said."""
    return "".join(event.get("delta", "") for event in events)


def run_events(call: Call, run: str, to: Callable[[Said], bool] | None = None) -> list[Said]:
    """The events of a run that come to an edge, to the last one."""
    found: list[Said] = []
    while True:
        event = call.hear("run_event")
        if event["run_id"] == run:
            found.append(event)
            if to(event) if to else event["type"] in ("complete", "error", "cancelled"):
                return found


def messages(call: Call) -> tuple[list[Said], str]:
    """All that comes on a call, and the status that it ends with."""
    found: list[Said] = []
    while True:
        line = call.next()
        if line["event"] == "end":
            return found, line["code"]
        found.append(line["message"])


def answers(call: Call) -> list[Said]:
    """The events that come on a call of a control client, to its end."""
    found: list[Said] = []
    while not found or found[-1]["type"] not in ("complete", "error", "cancelled"):
        found.append(call.hear())
    assert call.end()[0] == "OK"
    return found


def ready(edge: Peer, worker: str = "n1") -> Line:
    """Wait until an edge of ours has the node."""
    return edge.until(event="worker", worker=worker, state="ready")
