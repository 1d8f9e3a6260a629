import hashlib

import pytest

from fleetgate.core.answers import Accepted, Answer
from fleetgate.core.commands import (
    CancelRun,
    CloseInput,
    DescribeRun,
    Prompt,
    ResolveApproval,
    RunSpec,
    SendInput,
    Signal,
    SignalRun,
    SupplyScript,
)
from fleetgate.core.errors import InvalidArgument, RunEnded, RunNotFound
from fleetgate.core.events import Decision, Outcome, Reason, RunState
from fleetgate.core.ids import RunId, Seq
from fleetgate.protocols.api import Annotate, Submit
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.retained import ANSWERS
from fleetgate.protocols.rvbox.settings import ClientSettings
from fleetgate.protocols.rvbox.testing import (
    OTHER,
    UUID,
    Talk,
    greeted_client,
    make_command,
    make_dispatch,
    talk_to_client,
)
from fleetgate.protocols.rvbox.translate import to_run_spec
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code
from fleetgate.protocols.testing import slot

RUN = RunId(f"hosts/{UUID}")
RUNNING = make_command(state=RunState.RUNNING)
ENDED = make_command(
    state=RunState.SUCCEEDED, outcome=Outcome(RunState.SUCCEEDED, Reason.EXITED), last_seq=Seq(3)
)


def error_of(talk: Talk, code: Code, says: str = "") -> None:
    (said,) = talk.said()
    assert isinstance(said, w.AgentError)
    assert not said.close_session
    assert said.error.code == code
    assert said.error.message.startswith(f"{UUID}: ")
    assert says in said.error.message


def write(seq: int, data: bytes = b"x", newline: bool = False) -> w.StdinWrite:
    return w.StdinWrite(UUID, seq, data, newline)


def submitted(
    talk: Talk, message: w.Payload, command: object, answer: Answer | None = None
) -> Talk:
    """The message makes us ask the core for exactly `command`, and the core answers."""
    talk.put(message)
    (submit,) = talk.take()
    assert isinstance(submit, Submit)
    assert submit.command == command
    talk.reply(submit.reply_to, answer if answer is not None else Accepted())
    return talk


# --- input


def test_writes_are_passed_on_to_the_byte_in_order() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING])
        submitted(talk, write(1, b"\xff\x00"), SendInput(RUN, b"\xff\x00"))
        submitted(talk, write(2, b"a", True), SendInput(RUN, b"a", True))
        submitted(talk, w.CloseStdin(UUID, 3), CloseInput(RUN))


def test_a_write_has_a_key_so_that_a_cut_link_does_not_double_it() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [make_command(state=RunState.RUNNING, inputs=4)])
        key = slot()
        talk.put(write(5)).expect(Submit(SendInput(RUN, b"x"), key, "write/5"))


def test_a_repeat_is_ignored_even_behind_the_close() -> None:
    closed = make_command(state=RunState.RUNNING, inputs=2, input_closed=True)
    with talk_to_client() as talk:
        greeted_client(talk, [closed])
        for message in (write(1), w.CloseStdin(UUID, 2)):
            talk.put(message)
            assert talk.steps() == []
        talk.put(write(3))
        error_of(talk, Code.INVALID_ARGUMENT)


def test_a_gap_is_out_of_order() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING]).put(write(2))
        error_of(talk, Code.OUT_OF_ORDER, "expected write 1")


def test_a_command_whose_stdin_is_not_open_takes_none() -> None:
    spec = to_run_spec(make_dispatch(spec=w.ExecutionSpec("ls")))
    with talk_to_client() as talk:
        greeted_client(talk, [make_command(spec=spec)]).put(write(1))
        error_of(talk, Code.INVALID_ARGUMENT)


@pytest.mark.parametrize(
    "message",
    [
        write(1),
        w.CloseStdin(UUID, 1),
        w.ScriptChunk(UUID),
        w.ScriptCommit(UUID),
    ],
)
@pytest.mark.parametrize("retained", [[], [ENDED]])
def test_what_is_for_an_unknown_or_ended_command_is_not_found(
    message: w.Payload, retained: list
) -> None:
    with talk_to_client() as talk:
        greeted_client(talk, retained).put(message)
        error_of(talk, Code.NOT_FOUND)


def test_before_it_runs_a_command_takes_so_much_input_and_no_more() -> None:
    with talk_to_client(ClientSettings(early_stdin=5)) as talk:
        greeted_client(talk, [make_command()])
        submitted(talk, write(1, b"abc"), SendInput(RUN, b"abc"))
        talk.put(write(2, b"def"))
        error_of(talk, Code.RESOURCE_EXHAUSTED)
        submitted(talk, write(2, b"de"), SendInput(RUN, b"de"))


def test_what_the_core_refuses_is_said_and_not_counted() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING])
        submitted(talk, write(1), SendInput(RUN, b"x"), InvalidArgument("no"))
        error_of(talk, Code.INVALID_ARGUMENT)
        submitted(talk, write(1), SendInput(RUN, b"x"), RunEnded("over"))
        error_of(talk, Code.NOT_FOUND)
        submitted(talk, write(1), SendInput(RUN, b"x"))


# --- approvals


def waiting(**changes: object):
    return make_command(state=RunState.WAITING, approvals=("a1", "a2"), **changes)


@pytest.mark.parametrize(
    ("line", "decision"), [(b"y\n", Decision.ALLOW_ONCE), (b"no\n", Decision.DENY)]
)
def test_a_line_answers_the_oldest_approval_where_that_is_configured(
    line: bytes, decision: Decision
) -> None:
    with talk_to_client(ClientSettings(answer_approvals=True)) as talk:
        greeted_client(talk, [waiting()])
        submitted(talk, write(1, line), ResolveApproval(RUN, "a1", decision))
        assert talk.steps() == [Annotate(RUN, ANSWERS, {"answers": {"a1": 1}})]
        submitted(talk, write(2, line), ResolveApproval(RUN, "a2", decision)).take()
        submitted(talk, write(3, line), SendInput(RUN, line))


def test_any_other_line_is_input() -> None:
    with talk_to_client(ClientSettings(answer_approvals=True)) as talk:
        greeted_client(talk, [waiting()])
        submitted(talk, write(1, b"what?"), SendInput(RUN, b"what?"))


def test_and_so_is_every_line_where_it_is_not_configured() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [waiting()])
        submitted(talk, write(1, b"y"), SendInput(RUN, b"y"))


# --- signals


def signal(kind: int, revision: int = 1) -> w.SignalCommand:
    return w.SignalCommand(UUID, revision, kind)


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING])
def test_a_signal_is_passed_on(state: RunState) -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [make_command(state=state)])
        submitted(talk, signal(1), SignalRun(RUN, Signal.INTERRUPT))
        submitted(talk, signal(2), SignalRun(RUN, Signal.TERMINATE))


def test_a_kill_cannot_be_refused() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING])
        submitted(talk, signal(3), SignalRun(RUN, Signal.KILL), InvalidArgument("no signals"))
        (cancel,) = talk.take()
        assert isinstance(cancel, Submit)
        assert cancel.command == CancelRun(RUN, reason="signal kill")
        talk.reply(cancel.reply_to, Accepted())


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_what_runs_at_an_agent_is_canceled(kind: int) -> None:
    adapted = make_command(routed=RunSpec(Prompt("make")), state=RunState.RUNNING)
    name = w.SignalKind(kind).name.lower()
    with talk_to_client() as talk:
        greeted_client(talk, [adapted])
        submitted(talk, signal(kind), CancelRun(RUN, reason=f"signal {name}"))


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_any_signal_cancels_what_is_queued_at_an_agent(kind: int) -> None:
    adapted = make_command(routed=RunSpec(Prompt("make")), state=RunState.STARTING)
    name = w.SignalKind(kind).name.lower()
    with talk_to_client() as talk:
        greeted_client(talk, [adapted])
        submitted(talk, signal(kind), CancelRun(RUN, reason=f"signal {name}"))


def test_a_hangup_of_what_an_agent_works_on_is_its_workers_to_judge() -> None:
    adapted = make_command(routed=RunSpec(Prompt("make")), state=RunState.RUNNING)
    with talk_to_client() as talk:
        greeted_client(talk, [adapted])
        submitted(talk, signal(4), SignalRun(RUN, Signal.HANGUP))


@pytest.mark.parametrize("kind", [0, 5, 77])
def test_a_number_that_is_no_signal_is_an_invalid_argument(kind: int) -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING]).put(signal(kind))
        error_of(talk, Code.INVALID_ARGUMENT)


def test_windows_has_no_hangup() -> None:
    with talk_to_client(ClientSettings(platform="windows")) as talk:
        greeted_client(talk, [RUNNING]).put(signal(4))
        error_of(talk, Code.INVALID_ARGUMENT)
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING])
        submitted(talk, signal(4), SignalRun(RUN, Signal.HANGUP))


def test_a_signal_of_another_revision_is_a_conflict() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING]).put(signal(2, revision=2))
        error_of(talk, Code.CONFLICT)


def test_a_signal_for_what_has_ended_is_not_found() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [ENDED]).put(signal(2))
        error_of(talk, Code.NOT_FOUND)


def test_a_signal_for_a_tombstone_is_ignored_and_for_an_unknown_command_not_found() -> None:
    with talk_to_client() as talk:
        greeted_client(talk)
        submitted(talk, signal(2), DescribeRun(RUN), Accepted(ENDED, ENDED))
        assert talk.steps() == []
        submitted(talk, signal(2), DescribeRun(RUN), RunNotFound("no"))
        error_of(talk, Code.NOT_FOUND)


def test_a_signal_for_what_is_no_uuid_asks_nobody() -> None:
    with talk_to_client() as talk:
        greeted_client(talk).put(w.SignalCommand("x", 1, 2))
        (said,) = talk.said()
        assert isinstance(said, w.AgentError)
        assert said.error == w.ControlError(Code.NOT_FOUND, "x: this command is not known here")


# --- scripts

SCRIPT = b"#!/bin/sh\necho hi\n" * 9000


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def scripted(uuid: str = UUID):
    ref = w.ScriptRef(len(SCRIPT), digest(SCRIPT))
    return make_command(uuid, spec=to_run_spec(make_dispatch(uuid, spec=w.ExecutionSpec(ref))))


def chunk(at: int, data: bytes | None = None, uuid: str = UUID) -> w.ScriptChunk:
    piece = SCRIPT[at : at + 65536] if data is None else data
    return w.ScriptChunk(uuid, at, piece, digest(piece))


COMMIT = w.ScriptCommit(UUID, len(SCRIPT), digest(SCRIPT))


def upload(talk: Talk) -> None:
    for at in range(0, len(SCRIPT), 65536):
        talk.put(chunk(at))
        assert talk.steps() == []


def test_a_whole_script_is_supplied_to_its_run() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [scripted()])
        upload(talk)
        submitted(talk, COMMIT, SupplyScript(RUN, SCRIPT))
        talk.put(chunk(0))
        error_of(talk, Code.INVALID_ARGUMENT)


def test_a_chunk_out_of_order_keeps_the_position() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [scripted()]).put(chunk(65536))
        error_of(talk, Code.OUT_OF_ORDER)
        upload(talk)


def test_a_wrong_sum_begins_the_upload_again() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [scripted()]).put(chunk(0)).take()
        talk.put(w.ScriptChunk(UUID, 65536, b"x", bytes(32)))
        error_of(talk, Code.CHECKSUM_MISMATCH)
        upload(talk)
        talk.put(w.ScriptCommit(UUID, len(SCRIPT), bytes(32)))
        error_of(talk, Code.CHECKSUM_MISMATCH)
        upload(talk)
        submitted(talk, COMMIT, SupplyScript(RUN, SCRIPT))


def test_a_script_that_the_core_refuses_may_be_uploaded_again() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [scripted()])
        upload(talk)
        submitted(talk, COMMIT, SupplyScript(RUN, SCRIPT), InvalidArgument("no"))
        error_of(talk, Code.INVALID_ARGUMENT)
        upload(talk)


def test_a_chunk_that_nobody_waits_for_is_an_invalid_argument() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING]).put(chunk(0))
        error_of(talk, Code.INVALID_ARGUMENT)


def test_i9_scripts_under_way_share_a_bounded_memory() -> None:
    with talk_to_client(ClientSettings(script_memory=100_000)) as talk:
        greeted_client(talk, [scripted(), scripted(OTHER)])
        talk.put(chunk(0, uuid=OTHER))
        assert talk.steps() == []
        talk.put(chunk(0))
        error_of(talk, Code.RESOURCE_EXHAUSTED)
