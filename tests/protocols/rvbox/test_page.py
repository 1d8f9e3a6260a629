"""The protocol's page, sentence by sentence, with frames that are made and read by protobuf alone:
no codec of ours stands between the page and what is on the wire."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from fleetgate.core.answers import Accepted, Admission, RunList
from fleetgate.core.commands import DescribeRun, Order, Origin, RunSpec, ShellCommand, StartRun
from fleetgate.core.errors import RunNotFound
from fleetgate.core.events import OutputProduced, RunStarted, StateChanged
from fleetgate.core.ids import Epoch, OrderNumber, RunId
from fleetgate.core.run import Run
from fleetgate.protocols.api import (
    Annotate,
    AnnounceWorker,
    Close,
    Connection,
    Follow,
    Opening,
    Record,
    RemoteProtocolError,
    Send,
    Step,
    Submit,
)
from fleetgate.protocols.rvbox.northbound import ClientConnection
from fleetgate.protocols.rvbox.settings import ClientSettings, ServerSettings
from fleetgate.protocols.rvbox.southbound import ServerConnection
from fleetgate.protocols.rvbox.testing import happened, make_command
from fleetgate.protocols.testing import SECOND, START
from fleetgate.schemas.rvbox.v1 import agent_pb2 as agent
from fleetgate.schemas.rvbox.v1 import common_pb2 as common

UUID = "3f2b8c1d-5e6a-4b7c-8d9e-0f1a2b3c4d5e"
OTHER = "4a3c9d2e-6f7b-4c8d-9e0f-1a2b3c4d5e6f"
HASH = bytes(range(32))
RUN = RunId(f"hosts/{UUID}")


class Raw:
    """A connection of ours, and the peer's frames to and from it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.session: tuple[str, int] = ("", 0)
        self.steps: list[Step] = []
        self.now = START

    def hear(self, **payload: Any) -> list[agent.AgentEnvelope]:
        """The peer sends this in the session; what is answered."""
        return self.frame(self.envelope(**payload))

    def envelope(self, session: tuple[str, int] | None = None, **payload: Any) -> bytes:
        id, generation = self.session if session is None else session
        made = agent.AgentEnvelope(session_id=id, session_generation=generation, **payload)
        return made.SerializeToString()

    def frame(self, frame: bytes) -> list[agent.AgentEnvelope]:
        try:
            self.steps = [*self.connection.receive(frame, self.now)]
        except RemoteProtocolError as error:
            self.steps = [*error.steps]
        return self.said()

    def said(self) -> list[agent.AgentEnvelope]:
        frames = (step.frame for step in self.steps if isinstance(step, Send))
        return [agent.AgentEnvelope.FromString(frame) for frame in frames]

    def did(self, steps: Any) -> list[agent.AgentEnvelope]:
        self.steps = [*steps]
        return self.said()

    def only(self, kind: type[Step]) -> Any:
        (step,) = (step for step in self.steps if isinstance(step, kind))
        return step

    def none(self, *kinds: type[Step]) -> bool:
        return not any(isinstance(step, kinds) for step in self.steps)

    def ended(self, code: int, close: int) -> agent.AgentEnvelope:
        """The session was ended: the error is the last thing said, and the close comes behind."""
        last = self.said()[-1]
        assert last.error.error.code == code
        assert last.error.close_session
        assert isinstance(self.steps[-1], Close)
        assert self.steps[-1].code == close
        assert (last.session_id, last.session_generation) == self.session
        return last


def hello(most: int = 0, **changes: Any) -> agent.ClientHello:
    given: dict[str, Any] = {
        "client_id": "host-1",
        "supported_protocol": {
            "minimum": {"major": 1, "minor": 0},
            "maximum": {"major": 1, "minor": most},
        },
        "supported_shells": [common.SHELL_TYPE_NONE, common.SHELL_TYPE_SH],
        "client_instance_id": "i-1",
        "max_running_commands": 2,
        "max_queued_commands": 2,
    }
    return agent.ClientHello(**{**given, **changes})


def server(most: int = 0) -> Raw:
    """Our server in an open session."""
    raw = Raw(ServerConnection(ServerSettings()))
    raw.connection.opened(Opening("hosts", entropy=bytes.fromhex("5e" * 16)), START)
    raw.hear(client_hello=hello(most))
    announced: AnnounceWorker = raw.only(AnnounceWorker)
    welcome, request = raw.did(
        raw.connection.reply(announced.reply_to, Admission(Epoch(4), ()), START)
    )
    raw.session = (welcome.session_id, welcome.session_generation)
    assert request.WhichOneof("payload") == "reconcile_request"
    raw.hear(reconcile_snapshot=agent.ReconcileSnapshot())
    return raw


def dispatched(raw: Raw) -> agent.CommandDispatch:
    """It has dispatched a command, and the client has accepted it."""
    spec = RunSpec(ShellCommand(argv=("make", "all")), environment={"B": "2", "A": "1"})
    start = StartRun(RunId(UUID), spec, Origin("gui", UUID))
    order = Order(start.run, OrderNumber(0), start, created=START)
    (sent,) = raw.did(raw.connection.perform(order, START))
    dispatch = sent.command_dispatch
    raw.hear(
        command_accepted=agent.CommandAccepted(
            issue_uuid=UUID, command_revision=dispatch.command_revision, accepted=True
        )
    )
    return dispatch


def event(seq: int, uuid: str = UUID, **event: Any) -> dict[str, Any]:
    given = event or {"output": {"stream": common.OUTPUT_STREAM_STDOUT, "data": b"x"}}
    return {
        "command_event": common.CommandEvent(
            issue_uuid=uuid, command_revision=1, event_seq=seq, **given
        )
    }


RUNNING = {"lifecycle": {"lifecycle": common.COMMAND_LIFECYCLE_RUNNING, "pid": 7}}
EXIT = {"exit": {"lifecycle": common.COMMAND_LIFECYCLE_EXITED, "exit_code": 0}}


# --- a server, whose client is raw


def test_the_welcome_carries_128_random_bits_and_every_later_envelope_the_same_pair() -> None:
    raw = server()
    assert raw.session == ("5e" * 16, 4)
    dispatched(raw)
    (again,) = raw.hear(**event(3))[:1]
    assert (again.session_id, again.session_generation) == raw.session


def test_an_error_before_hello_is_as_much_a_violation_as_anything_else() -> None:
    raw = Raw(ServerConnection(ServerSettings()))
    raw.connection.opened(Opening("hosts"), START)
    raw.hear(error=agent.AgentError(error={"code": 17, "message": "I am unwell"}))
    raw.ended(common.CONTROL_ERROR_CODE_PROTOCOL_VIOLATION, 1002)


def test_the_digest_is_over_uuid_time_spec_and_expiry_and_nothing_else() -> None:
    dispatch = dispatched(server())
    bare = agent.CommandDispatch(issue_uuid=dispatch.issue_uuid)
    bare.issue_time.CopyFrom(dispatch.issue_time)
    bare.spec.CopyFrom(dispatch.spec)
    digest = hashlib.sha256(bare.SerializeToString(deterministic=True)).digest()
    assert dispatch.immutable_request_sha256 == digest
    assert (dispatch.command_revision, dispatch.target_session_generation) == (1, 4)
    assert list(dispatch.spec.argv.args) == ["make", "all"]
    assert not dispatch.HasField("queue_expiry_time")


@pytest.mark.parametrize("pair", [("5e" * 16, 3), ("5e" * 16, 0), ("", 4), ("5E" * 16, 4)])
def test_any_other_pair_is_stale_and_what_it_brings_is_not_acted_on(pair: tuple[str, int]) -> None:
    raw = server()
    dispatched(raw)
    raw.frame(raw.envelope(pair, **event(1, **RUNNING)))
    raw.ended(common.CONTROL_ERROR_CODE_STALE_SESSION, 4001)
    assert raw.none(Record)
    raw.hear(**event(1, **RUNNING))
    assert raw.only(Record).native_seq == 1


def test_a_second_hello_is_a_violation_whatever_session_it_names() -> None:
    raw = server()
    raw.frame(raw.envelope(("gone", 1), client_hello=hello()))
    raw.ended(common.CONTROL_ERROR_CODE_PROTOCOL_VIOLATION, 1002)


@pytest.mark.parametrize("unknown", [b"", b"\x9a\x06\x02hi"])  # nothing; member 99
def test_an_unknown_payload_is_forgiven_to_a_higher_minor_only(unknown: bytes) -> None:
    raw = server()
    raw.frame(raw.envelope() + unknown)
    raw.ended(common.CONTROL_ERROR_CODE_PROTOCOL_VIOLATION, 1002)
    newer = server(most=3)
    assert newer.frame(newer.envelope() + unknown) == []
    assert newer.none(Close)


def test_a_gap_is_not_journaled_but_said_and_reconciled_from_the_last_journaled_event() -> None:
    raw = server()
    dispatch = dispatched(raw)
    raw.hear(**event(1, **RUNNING))
    raw.did(raw.connection.committed(RunId(UUID), 1, raw.now))
    error, request = raw.hear(**event(3))
    assert raw.none(Record)
    assert error.error.error.code == common.CONTROL_ERROR_CODE_OUT_OF_ORDER
    assert error.error.error.message.startswith(f"{UUID}: ")
    assert not error.error.close_session
    (target,) = request.reconcile_request.targets
    assert (target.issue_uuid, target.last_server_event_seq) == (UUID, 1)
    assert target.immutable_request_sha256 == dispatch.immutable_request_sha256


def test_a_repeat_is_dropped_and_acknowledged_again_within_100_ms() -> None:
    raw = server()
    dispatched(raw)
    raw.hear(**event(1, **RUNNING))
    raw.did(raw.connection.committed(RunId(UUID), 1, raw.now))
    (ack,) = raw.did(raw.connection.tick(raw.now + SECOND // 10))
    assert ack.event_ack.through_event_seq == 1
    raw.hear(**event(1, **RUNNING))
    assert raw.none(Record)
    (ack,) = raw.did(raw.connection.tick(raw.now + SECOND // 5))
    assert ack.event_ack.through_event_seq == 1


def test_64_events_are_acknowledged_once_durable_and_not_before() -> None:
    raw = server()
    dispatched(raw)
    for seq in range(1, 65):
        assert raw.hear(**event(seq, **(RUNNING if seq == 1 else {}))) == []
        assert raw.only(Record).native_seq == seq
    (ack,) = raw.did(raw.connection.committed(RunId(UUID), 64, raw.now))
    assert (ack.event_ack.issue_uuid, ack.event_ack.through_event_seq) == (UUID, 64)


def test_an_event_of_an_unknown_command_is_not_found_and_one_behind_the_exit_is_dropped() -> None:
    raw = server()
    dispatched(raw)
    (error,) = raw.hear(**event(1, OTHER))
    assert error.error.error.code == common.CONTROL_ERROR_CODE_NOT_FOUND
    assert error.error.error.message.startswith(f"{OTHER}: ")
    raw.hear(**event(1, **EXIT))
    assert raw.hear(**event(2)) == []
    assert raw.none(Record)
    (ack,) = raw.did(raw.connection.committed(RunId(UUID), 1, raw.now))
    assert ack.event_ack.through_event_seq == 1
    assert raw.hear(**event(2)) == []
    assert raw.none(Record)


def test_an_event_implies_acceptance_and_running_may_be_repeated() -> None:
    raw = server()
    spec = RunSpec(ShellCommand(line="make"))
    start = StartRun(RunId(UUID), spec, Origin("gui", UUID))
    raw.did(raw.connection.perform(Order(start.run, OrderNumber(0), start, created=START), START))
    raw.hear(**event(1, **RUNNING))
    assert raw.only(Record).events == (RunStarted(7),)
    raw.hear(**event(2, **RUNNING))
    (change,) = raw.only(Record).events
    assert isinstance(change, StateChanged)
    raw.hear(**event(3))
    (output,) = raw.only(Record).events
    assert isinstance(output, OutputProduced)
    assert output.data == b"x"


# --- a client, whose server is raw


def client(*runs: Run) -> Raw:
    """Our client in an open session in which `runs` are retained."""
    raw = Raw(ClientConnection(ClientSettings()))
    (greeting,) = raw.did(raw.connection.opened(Opening("hosts", instance="i-1"), START))
    assert (greeting.session_id, greeting.session_generation) == ("", 0)
    assert greeting.client_hello.client_instance_id == "i-1"
    raw.session = ("a1" * 16, 9)
    raw.hear(server_welcome=agent.ServerWelcome(selected_protocol={"major": 1}))
    raw.hear(reconcile_request=agent.ReconcileRequest())
    listing: Submit = raw.only(Submit)
    (snapshot,) = raw.did(raw.connection.reply(listing.reply_to, RunList(runs), START))
    retained = snapshot.reconcile_snapshot.retained_commands
    assert [state.issue_uuid for state in retained] == [run.origin.native_run for run in runs]
    capacity = raw.hear(reconcile_result=agent.ReconcileResult())[-1]
    assert capacity.WhichOneof("payload") == "client_capacity"
    return raw


def dispatch(**changes: Any) -> agent.CommandDispatch:
    given: dict[str, Any] = {
        "issue_uuid": UUID,
        "command_revision": 1,
        "target_session_generation": 9,
        "spec": {"command_line": "make"},
        "immutable_request_sha256": HASH,
    }
    return agent.CommandDispatch(**{**given, **changes})


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"issue_uuid": UUID.upper()}, common.CONTROL_ERROR_CODE_INVALID_ARGUMENT),
        ({"immutable_request_sha256": HASH[1:]}, common.CONTROL_ERROR_CODE_INVALID_ARGUMENT),
        ({"target_session_generation": 8}, common.CONTROL_ERROR_CODE_STALE_SESSION),
        ({"target_session_generation": 0}, common.CONTROL_ERROR_CODE_STALE_SESSION),
    ],
)
def test_a_bad_dispatch_is_answered_and_asks_nobody(changes: dict[str, Any], code: int) -> None:
    raw = client()
    (answer,) = raw.hear(command_dispatch=dispatch(**changes))
    assert not answer.command_accepted.accepted
    assert answer.command_accepted.rejection.code == code
    assert raw.none(Submit, Close)


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({}, common.CONTROL_ERROR_CODE_INVALID_ARGUMENT),
        ({"argv": {"args": [""]}}, common.CONTROL_ERROR_CODE_INVALID_ARGUMENT),
        ({"command_line": "a", "env": {"": "x"}}, common.CONTROL_ERROR_CODE_INVALID_ARGUMENT),
        ({"command_line": "a", "env": {"A=B": "x"}}, common.CONTROL_ERROR_CODE_INVALID_ARGUMENT),
        ({"command_line": "a\0b"}, common.CONTROL_ERROR_CODE_INVALID_ARGUMENT),
        ({"command_line": "a", "timeout": {}}, common.CONTROL_ERROR_CODE_INVALID_ARGUMENT),
        (
            {"command_line": "a", "shell": common.SHELL_TYPE_NONE},
            common.CONTROL_ERROR_CODE_INVALID_ARGUMENT,
        ),
        (
            {"script": {"size_bytes": (16 << 20) + 1, "sha256": HASH}},
            common.CONTROL_ERROR_CODE_INVALID_ARGUMENT,
        ),
        (
            {"script": {"size_bytes": 1, "sha256": HASH[1:]}},
            common.CONTROL_ERROR_CODE_INVALID_ARGUMENT,
        ),
        ({"command_line": "a", "shell": 77}, common.CONTROL_ERROR_CODE_UNSUPPORTED_SHELL),
    ],
)
def test_a_bad_spec_is_rejected_with_its_code(spec: dict[str, Any], code: int) -> None:
    raw = client()
    raw.hear(command_dispatch=dispatch(spec=spec))
    look: Submit = raw.only(Submit)
    assert look.command == DescribeRun(RUN)
    (answer,) = raw.did(raw.connection.reply(look.reply_to, RunNotFound("no"), START))
    assert (answer.command_accepted.accepted, answer.command_accepted.rejection.code) == (
        False,
        code,
    )


def test_the_same_request_is_accepted_again_and_another_or_a_lower_revision_conflicts() -> None:
    known = make_command(UUID)
    raw = client(known)
    kept = bytes.fromhex("68" * 32)  # what `make_command` was asked with
    (again,) = raw.hear(command_dispatch=dispatch(immutable_request_sha256=kept))
    assert again.command_accepted.accepted
    (higher,) = raw.hear(
        command_dispatch=dispatch(immutable_request_sha256=kept, command_revision=3)
    )
    assert higher.command_accepted.command_revision == 3
    assert isinstance(raw.steps[0], Annotate)  # durable before it is answered
    for changes in ({"immutable_request_sha256": kept}, {"command_revision": 3}):
        (conflict,) = raw.hear(command_dispatch=dispatch(**changes))
        assert conflict.command_accepted.rejection.code == common.CONTROL_ERROR_CODE_CONFLICT
    assert raw.none(Submit)


def test_events_carry_their_numbers_and_an_ack_beyond_them_ends_the_session() -> None:
    raw = client(make_command(UUID))
    batch = happened(RunStarted(7), run=RUN)
    (told,) = raw.did(raw.connection.deliver(batch, START))[:1]
    assert (told.command_event.event_seq, told.command_event.lifecycle.pid) == (1, 7)
    for through in (0, 1, 1):
        raw.hear(event_ack=agent.EventAck(issue_uuid=UUID, through_event_seq=through))
        assert raw.none(Close)
    raw.hear(event_ack=agent.EventAck(issue_uuid=OTHER, through_event_seq=99))
    assert raw.none(Close)
    raw.hear(event_ack=agent.EventAck(issue_uuid=UUID, through_event_seq=2))
    raw.ended(common.CONTROL_ERROR_CODE_PROTOCOL_VIOLATION, 1002)


def complaint(said: list[agent.AgentEnvelope]) -> tuple[int, bool]:
    """The code of the one error about the command; the session goes on."""
    (error,) = said
    assert error.error.error.message.startswith(f"{UUID}: ")
    return error.error.error.code, error.error.close_session


def test_writes_come_in_turn() -> None:
    raw = client(make_command(UUID, inputs=1))

    def write(seq: int) -> list[agent.AgentEnvelope]:
        return raw.hear(stdin_write=agent.StdinWrite(issue_uuid=UUID, write_seq=seq, data=b"a"))

    assert write(1) == []  # a repeat
    assert raw.none(Submit)
    assert complaint(write(3)) == (common.CONTROL_ERROR_CODE_OUT_OF_ORDER, False)
    write(2)
    raw.connection.reply(raw.only(Submit).reply_to, Accepted(), START)
    close = agent.CloseStdin(issue_uuid=UUID, write_seq=3)
    raw.hear(close_stdin=close)
    raw.connection.reply(raw.only(Submit).reply_to, Accepted(), START)
    assert raw.hear(close_stdin=close) == []
    assert complaint(write(4)) == (common.CONTROL_ERROR_CODE_INVALID_ARGUMENT, False)


def test_a_signal_names_the_revision_and_a_signal_that_is_one() -> None:
    raw = client(make_command(UUID))

    def signal(kind: int, revision: int = 1) -> list[agent.AgentEnvelope]:
        message = agent.SignalCommand(issue_uuid=UUID, command_revision=revision)
        message.signal = kind  # type: ignore[assignment]
        return raw.hear(signal_command=message)

    assert complaint(signal(2, 2)) == (common.CONTROL_ERROR_CODE_CONFLICT, False)
    assert complaint(signal(0)) == (common.CONTROL_ERROR_CODE_INVALID_ARGUMENT, False)
    assert complaint(signal(99)) == (common.CONTROL_ERROR_CODE_INVALID_ARGUMENT, False)
    assert signal(2) == []
    assert raw.only(Submit).command.run == RUN


def test_a_mid_session_reconcile_is_answered_by_the_snapshot_and_nothing_else() -> None:
    raw = client(make_command(UUID))
    assert raw.hear(reconcile_request=agent.ReconcileRequest()) == []
    listing: Submit = raw.only(Submit)
    assert list(raw.connection.deliver(happened(RunStarted(7), run=RUN), START)) == []
    (snapshot,) = raw.did(
        raw.connection.reply(listing.reply_to, RunList((make_command(UUID),)), START)
    )
    assert len(snapshot.reconcile_snapshot.retained_commands) == 1
    (capacity,) = raw.hear(reconcile_result=agent.ReconcileResult())
    assert capacity.client_capacity.queued_commands == 1
    assert raw.only(Follow).run == RUN
    assert raw.hear(reconcile_result=agent.ReconcileResult()) != []  # the figures, once more
    assert raw.none(Follow, Submit, Close)


@pytest.mark.parametrize("unknown", [b"", b"\x9a\x06\x02hi"])
def test_a_client_forgives_no_unknown_payload(unknown: bytes) -> None:
    raw = client()
    raw.frame(raw.envelope() + unknown)
    raw.ended(common.CONTROL_ERROR_CODE_PROTOCOL_VIOLATION, 1002)
