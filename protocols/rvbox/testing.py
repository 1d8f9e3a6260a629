"""For tests of rvbox: Hypothesis strategies for its messages, and conversations under way.

Only this file imports Hypothesis; nothing that runs in production imports this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fleetgate.core.answers import Admission, Held, RunList
from fleetgate.core.commands import Order, Origin, RunSpec, ShellCommand, StartRun
from fleetgate.core.events import Event, Recorded
from fleetgate.core.ids import Epoch, OrderNumber, RunId
from fleetgate.core.run import Run
from fleetgate.protocols.api import (
    Close,
    Established,
    Opening,
    Report,
    Send,
    Step,
    Steps,
    Submit,
    Wake,
)
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.northbound import ClientConnection
from fleetgate.protocols.rvbox.settings import ClientSettings, ServerSettings
from fleetgate.protocols.rvbox.southbound import ServerConnection
from fleetgate.protocols.rvbox.translate import to_run_spec
from fleetgate.protocols.rvbox.wire import ControlErrorCode
from fleetgate.protocols.testing import START, Playbook, Sent, number, slot

SESSION: Final = "5e" * 16
"""The session of the conversations below."""

UUID: Final = "0b7e4a52-9d1c-4f0e-8a3b-2c5d6e7f8091"
OTHER: Final = "1c8f5b63-ae2d-4a1f-9b4c-3d6e7f8091a2"

# --- messages


def _uint(bits: int) -> SearchStrategy[int]:
    return st.integers(0, (1 << bits) - 1)


def _instants() -> SearchStrategy[int | None]:
    return st.none() | st.integers(-(10**18), 10**20)


def _words() -> SearchStrategy[str]:
    return st.text(st.characters(codec="utf-8"), max_size=12)


def _errors() -> SearchStrategy[w.ControlError]:
    return st.builds(w.ControlError, code=_uint(31), message=_words())


def specs() -> SearchStrategy[w.ExecutionSpec]:
    """Requests of every kind, good or bad."""
    args = st.lists(_words(), max_size=3).map(tuple)
    script = st.builds(w.ScriptRef, size_bytes=_uint(64), sha256=st.binary(max_size=40), args=args)
    return st.builds(
        w.ExecutionSpec,
        program=st.none() | _words() | st.builds(w.Argv, args=args) | script,
        shell=_uint(31),
        cwd=_words(),
        env=st.dictionaries(_words(), _words(), max_size=3),
        timeout=_instants(),
        open_stdin=st.booleans(),
        merge_stderr=st.booleans(),
        unknown=st.just(b"") | st.just(b"\xa2\x06\x02hi"),
    )


def happenings() -> SearchStrategy[w.Happening]:
    """What a command event may hold."""
    return st.one_of(
        st.builds(w.LifecycleChanged, lifecycle=_uint(31), pid=_uint(64)),
        st.builds(w.OutputChunk, stream=_uint(31), data=st.binary(max_size=40), offset=_uint(64)),
        st.builds(w.StdinAck, through_write_seq=_uint(64)),
        st.builds(
            w.CommandExit,
            lifecycle=_uint(31),
            exit_code=st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
            signal=_words(),
            error=st.none() | _errors(),
        ),
    )


def events() -> SearchStrategy[w.CommandEvent]:
    """Events of two commands or of none, every member drawn."""
    uuids = st.sampled_from([UUID, OTHER, ""])
    return st.builds(
        w.CommandEvent, uuids, _uint(64), _uint(64), _instants(), st.none() | happenings()
    )


def _versions() -> SearchStrategy[w.ProtocolVersion]:
    return st.builds(w.ProtocolVersion, _uint(32), _uint(32))


def payloads() -> SearchStrategy[w.Payload]:
    """Every message, with every member drawn."""
    ranges = st.builds(w.ProtocolRange, _versions(), _versions())
    uuids = st.sampled_from([UUID, OTHER, ""])
    digests = st.binary(max_size=34)
    texts = st.lists(_words(), max_size=3).map(tuple)
    targets = st.builds(w.ReconcileTarget, uuids, _uint(64), _uint(64), digests)
    states = st.builds(
        w.ReconcileCommandState, uuids, _uint(31), _uint(64), _uint(64), st.booleans(), digests
    )
    return st.one_of(
        st.builds(
            w.ClientHello,
            client_id=_words(),
            supported_protocol=st.none() | ranges,
            daemon_version=_words(),
            platform=_uint(31),
            architecture=_words(),
            daemon_cwd=_words(),
            supported_shells=st.lists(_uint(31), max_size=3).map(tuple),
            client_instance_id=_words(),
            max_running_commands=_uint(32),
            max_queued_commands=_uint(32),
            sent_at=_instants(),
        ),
        st.builds(w.ServerWelcome, _versions(), _instants()),
        st.builds(
            w.CommandDispatch,
            issue_uuid=uuids,
            command_revision=_uint(64),
            target_session_generation=_uint(64),
            issue_time=_instants(),
            spec=specs(),
            queue_expiry_time=_instants(),
            immutable_request_sha256=digests,
        ),
        st.builds(w.CommandAccepted, uuids, _uint(64), st.booleans(), st.none() | _errors()),
        events(),
        st.builds(w.EventAck, uuids, _uint(64)),
        st.builds(w.StdinWrite, uuids, _uint(64), st.binary(max_size=40), st.booleans()),
        st.builds(w.CloseStdin, uuids, _uint(64)),
        st.builds(w.SignalCommand, uuids, _uint(64), _uint(31)),
        st.builds(w.ScriptChunk, uuids, _uint(64), st.binary(max_size=40), digests),
        st.builds(w.ScriptCommit, uuids, _uint(64), digests),
        st.builds(w.ClientCapacity, _uint(32), _uint(32), _uint(32), _uint(32)),
        st.builds(w.ReconcileRequest, st.lists(targets, max_size=3).map(tuple)),
        st.builds(w.ReconcileSnapshot, st.lists(states, max_size=3).map(tuple)),
        st.builds(w.AgentError, _errors(), st.booleans()),
        st.builds(w.ReconcileResult, texts, texts),
        st.just(w.Unknown()),
    )


def envelopes() -> SearchStrategy[w.Envelope]:
    """Every message in its envelope."""
    return st.builds(w.Envelope, st.sampled_from(["", SESSION, "another"]), _uint(64), payloads())


# --- conversations


def make_hello(**changes: Any) -> w.ClientHello:
    """A hello that any server welcomes, but for `changes`."""
    one = w.ProtocolVersion(1, 0)
    hello = w.ClientHello(
        client_id="host-1",
        supported_protocol=w.ProtocolRange(one, one),
        daemon_version="1.2",
        platform=w.Platform.LINUX,
        architecture="x86_64",
        daemon_cwd="/home/agent",
        supported_shells=(w.ShellType.NONE, w.ShellType.SH),
        client_instance_id="instance-1",
        max_running_commands=2,
        max_queued_commands=3,
        sent_at=START,
    )
    return attrs.evolve(hello, **changes)


def make_run(id: str = UUID, **changes: Any) -> Run:
    """An open run with a shell command, as the journal has it."""
    spec = changes.pop("spec", RunSpec(ShellCommand(line="make test")))
    run = Run(RunId(id), spec, Origin("gui", id), created=START)
    return attrs.evolve(run, **changes)


def make_command(uuid: str = UUID, **changes: Any) -> Run:
    """A run of the link `hosts` as a client's journal has it."""
    dispatch = make_dispatch(uuid)
    spec = changes.pop("spec", to_run_spec(dispatch))
    run = Run(RunId(f"hosts/{uuid}"), spec, Origin("hosts", uuid), created=START)
    return attrs.evolve(run, **changes)


def make_dispatch(uuid: str = UUID, **changes: Any) -> w.CommandDispatch:
    """A dispatch that any client of the session accepts, but for `changes`."""
    dispatch = w.CommandDispatch(
        issue_uuid=uuid,
        command_revision=1,
        target_session_generation=7,
        issue_time=START,
        spec=w.ExecutionSpec("make test", open_stdin=True),
        immutable_request_sha256=b"h" * 32,
    )
    return attrs.evolve(dispatch, **changes)


class Talk(Playbook):
    """A playbook that puts messages into envelopes of one session."""

    def __init__(self, connection: ServerConnection | ClientConnection) -> None:
        super().__init__(connection, decode=codec.decode, encode=codec.encode)
        self.session = ""
        self.generation = 0

    def put(self, payload: w.Payload) -> Talk:
        """The peer sends this, in the session."""
        self.receive(w.Envelope(self.session, self.generation, payload))
        return self

    def sent(self, payload: w.Payload) -> Sent:
        """The step that sends this, in the session."""
        return Sent(w.Envelope(self.session, self.generation, payload))

    def said(self) -> list[w.Payload]:
        """What the last call sent, whatever else it asked for."""
        return [codec.decode(step.frame).payload for step in self.take() if isinstance(step, Send)]

    def ends(self, code: ControlErrorCode, close: int) -> None:
        """The last call raised, and ended the session with this error and this close code."""
        error, closed = slot(), slot()
        self.fails(error, closed)
        assert isinstance(closed.value, Close)
        assert closed.value.code == close
        message = codec.decode(error.value.frame)
        assert isinstance(message.payload, w.AgentError)
        assert message.payload.close_session
        assert message.payload.error.code == code
        assert (message.session_id, message.session_generation) == (self.session, self.generation)

    def steps(self) -> list[Step | w.Payload]:
        """The steps of the last call, as `clear` gives them."""
        return clear(self.take())


def clear(steps: Steps) -> list[Step | w.Payload]:
    """The steps without wakes and what only the driver hears; sent messages in the clear."""
    kept = (step for step in steps if not isinstance(step, Wake | Report | Established))
    return [codec.decode(s.frame).payload if isinstance(s, Send) else s for s in kept]


def talk_to_server(settings: ServerSettings | None = None) -> Talk:
    """A server's connection whose link is not open yet; it will choose `SESSION`."""
    return Talk(ServerConnection(settings or ServerSettings()))


def open_link(talk: Talk, **members: Any) -> Talk:
    """Open the link as the playbooks of this file expect it."""
    given: dict[str, Any] = {
        "link": "hosts",
        "gateway": "gw-1",
        "instance": "instance-1",
        "entropy": bytes.fromhex(SESSION),
    }
    talk.opened(Opening(**{**given, **members})).take()
    return talk


def admit(talk: Talk, held: Sequence[Held] = (), epoch: int = 7, **hello: Any) -> list[w.Payload]:
    """Say hello and be admitted; what the server says comes back, and it waits for the
    snapshot."""
    talk.put(make_hello(**hello))
    (announced,) = (s for s in talk.take() if not isinstance(s, Wake))
    talk.reply(announced.reply_to, Admission(Epoch(epoch), tuple(held)))  # type: ignore[union-attr]
    talk.session, talk.generation = SESSION, epoch
    return talk.said()


def greeted_server(talk: Talk, **hello: Any) -> Talk:
    """Bring a server's conversation to an open session with nothing open in it."""
    admit(open_link(talk), **hello)
    talk.put(w.ReconcileSnapshot()).take()
    return talk


def start_of(run: Run) -> Order:
    """The order that gives a run to its host."""
    command = StartRun(run.id, run.spec, run.origin)
    return Order(run.id, OrderNumber(0), command, created=run.created)


def accepted_run(talk: Talk) -> Run:
    """Bring a server's conversation to an open session with one command that the client has
    accepted."""
    run = make_run()
    greeted_server(talk).perform(start_of(run)).take()
    talk.put(w.CommandAccepted(UUID, 1, True)).take()
    return run


def greeted_client(talk: Talk, runs: Sequence[Run] = (), *targets: w.ReconcileTarget) -> Talk:
    """Bring a client's conversation to an open session in which `runs` are retained."""
    open_link(talk)
    talk.session, talk.generation = SESSION, 7
    talk.put(w.ServerWelcome(w.ProtocolVersion(1, 0), START)).take()
    talk.put(w.ReconcileRequest(targets))
    (listing,) = (step for step in talk.take() if isinstance(step, Submit))
    talk.reply(listing.reply_to, RunList(tuple(runs))).take()
    talk.put(w.ReconcileResult()).take()
    return talk


def talk_to_client(settings: ClientSettings | None = None) -> Talk:
    """A client's connection whose link is not open yet."""
    return Talk(ClientConnection(settings or ClientSettings()))


def happened(*events: Event, run: str = f"hosts/{UUID}", first: int = 1) -> tuple[Recorded, ...]:
    """Events of a run of the link `hosts`, numbered."""
    return number(run, *events, first=first)
