import hashlib

import attrs
import pytest

from fleetgate.core.commands import (
    CancelRun,
    CloseInput,
    Order,
    Prompt,
    ResizeTerminal,
    ResolveApproval,
    RunCommand,
    RunSpec,
    Script,
    SendInput,
    ShellCommand,
    Signal,
    SignalRun,
    StartRun,
    SupplyScript,
)
from fleetgate.core.errors import InvalidArgument, UnsupportedInput
from fleetgate.core.events import Decision, Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.core.run import Run
from fleetgate.protocols.api import Annotate, Record, ReportCapacity, Send, Settle
from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.assigned import DIGEST, Standing
from fleetgate.protocols.rvbox.giving import MOST_REFUSALS
from fleetgate.protocols.rvbox.hearing import ACCEPTED
from fleetgate.protocols.rvbox.settings import ServerSettings
from fleetgate.protocols.rvbox.southbound import ServerConnection
from fleetgate.protocols.rvbox.stdin import LARGEST
from fleetgate.protocols.rvbox.testing import (
    OTHER,
    UUID,
    Talk,
    greeted_server,
    make_run,
    talk_to_server,
)
from fleetgate.protocols.rvbox.translate import to_dispatch, with_expiry
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code
from fleetgate.protocols.testing import SECOND, START

CAT = RunSpec(ShellCommand(line="cat"), interactive=True)
SCRIPT = bytes(range(256)) * 1024


def start(run: Run) -> Order:
    command = StartRun(run.id, run.spec, run.origin)
    return Order(run.id, OrderNumber(0), command, created=run.created)


def order(run: Run, command: RunCommand, input: int = 0, number: int = 1) -> Order:
    return Order(run.id, OrderNumber(number), command, input, created=START)


def ended(talk: Talk) -> Outcome:
    """How a run ends by the last call, which has the hub told of the room as well."""
    record, capacity = talk.steps()
    assert isinstance(record, Record)
    assert isinstance(capacity, ReportCapacity)
    (event,) = record.events
    assert isinstance(event, RunFinished)
    return event.outcome


def given(talk: Talk, run: Run, *, accepted: bool = True) -> Run:
    """An open session in which the client was given `run`."""
    greeted_server(talk).perform(start(run)).take()
    if accepted:
        talk.put(w.CommandAccepted(run.id, 1, True)).take()
    return run


def scripted() -> Run:
    script = Script(len(SCRIPT), hashlib.sha256(SCRIPT).digest(), data=SCRIPT)
    return make_run(spec=RunSpec(ShellCommand(script=script)))


def test_a_start_is_a_dispatch_of_the_current_session() -> None:
    run = make_run()
    with talk_to_server() as talk:
        greeted_server(talk).perform(start(run))
        dispatch = to_dispatch(run.id, run.spec, run.created)
        expected = attrs.evolve(dispatch, command_revision=1, target_session_generation=7)
        note = Annotate(run.id, DIGEST, dispatch.immutable_request_sha256.hex())
        assert talk.steps() == [note, expected]


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        (RunSpec(Prompt("hi")), "unsupported_input"),
        (RunSpec(ShellCommand(line="x" * 131_072)), "invalid_argument"),
        (RunSpec(ShellCommand(line="x"), environment={"A=B": ""}), "invalid_argument"),
        (RunSpec(ShellCommand(argv=("x" * 131_071,) * 9)), "invalid_argument"),
    ],
)
def test_what_a_host_cannot_take_is_refused_before_it_is_sent(spec: RunSpec, code: str) -> None:
    run = make_run(spec=spec)
    with talk_to_server() as talk:
        greeted_server(talk).perform(start(run))
        record, capacity = talk.steps()
        assert isinstance(record, Record)
        (event,) = record.events
        assert isinstance(event, RunFinished)
        assert (event.outcome.state, event.outcome.reason) == (RunState.FAILED, Reason.REFUSED)
        assert event.outcome.message.startswith(f"{code}: ")
        assert capacity == ReportCapacity(5)


@pytest.mark.limit("protocols/rvbox/limits.FRAME")
def test_no_frame_is_above_the_limit() -> None:
    spec = RunSpec(ShellCommand(argv=("x" * 131_071,) * 7 + ("y" * 131_000,)))
    with talk_to_server() as talk:
        greeted_server(talk).perform(start(make_run(spec=spec)))
        sends = [step for step in talk.take() if isinstance(step, Send)]
        assert [len(send.frame) <= limits.FRAME for send in sends] == [True] * len(sends)


# --- input


def test_input_waits_for_the_acceptance_and_for_the_window() -> None:
    with talk_to_server(ServerSettings(stdin_window=4)) as talk:
        run = given(talk, make_run(spec=CAT), accepted=False)
        for n, data in enumerate((b"abc", b"de", b"f"), 1):
            talk.perform(order(run, SendInput(run.id, data), n))
            assert not talk.take()
        talk.put(w.CommandAccepted(UUID, 1, True))
        assert talk.steps()[2:] == [w.StdinWrite(UUID, 1, b"abc")]
        talk.put(w.CommandEvent(UUID, 1, 1, event=w.StdinAck(1)))
        assert talk.steps()[1:] == [w.StdinWrite(UUID, 2, b"de"), w.StdinWrite(UUID, 3, b"f")]


def test_close_input_takes_the_next_number() -> None:
    with talk_to_server() as talk:
        run = given(talk, make_run(spec=CAT))
        talk.perform(order(run, SendInput(run.id, b"a", True), 1))
        talk.expect(talk.sent(w.StdinWrite(UUID, 1, b"a", True)))
        talk.perform(order(run, CloseInput(run.id), 2))
        talk.expect(talk.sent(w.CloseStdin(UUID, 2)))


def test_an_input_too_long_for_a_frame_is_refused_and_keeps_its_number() -> None:
    with talk_to_server() as talk:
        run = given(talk, make_run(spec=CAT))
        talk.perform(order(run, SendInput(run.id, b"x" * (LARGEST + 1)), 1))
        settled, write = talk.steps()
        assert isinstance(settled, Settle)
        assert isinstance(settled.error, InvalidArgument)
        assert write == w.StdinWrite(UUID, 1)


def test_a_closed_input_takes_none() -> None:
    with talk_to_server() as talk:
        run = given(talk, make_run())
        talk.perform(order(run, SendInput(run.id, b"x"), 1))
        (settled,) = talk.steps()
        assert isinstance(settled, Settle)
        assert isinstance(settled.error, UnsupportedInput)


# --- signals and the rest


@pytest.mark.parametrize(
    ("signal", "kind"),
    [
        (Signal.INTERRUPT, w.SignalKind.INTERRUPT),
        (Signal.TERMINATE, w.SignalKind.TERMINATE),
        (Signal.KILL, w.SignalKind.KILL),
        (Signal.HANGUP, w.SignalKind.HANGUP),
    ],
)
def test_a_signal_is_settled_once_it_is_sent(signal: Signal, kind: w.SignalKind) -> None:
    with talk_to_server() as talk:
        run = given(talk, make_run())
        talk.perform(order(run, SignalRun(run.id, signal), number=3))
        talk.expect(talk.sent(w.SignalCommand(UUID, 1, kind)), Settle(run.id, OrderNumber(3)))


def test_a_cancel_is_a_terminate_that_stays_open_until_the_end() -> None:
    with talk_to_server() as talk:
        run = given(talk, make_run())
        talk.perform(order(run, CancelRun(run.id)))
        assert talk.steps() == [w.SignalCommand(UUID, 1, w.SignalKind.TERMINATE)]


def test_a_canceled_command_that_goes_on_is_killed_once() -> None:
    with talk_to_server(ServerSettings(cancel_kill_after=3)) as talk:
        run = given(talk, make_run())
        talk.perform(order(run, CancelRun(run.id))).take()
        talk.later(1).perform(order(run, CancelRun(run.id), number=2)).take()
        talk.tick()
        assert talk.steps() == [w.SignalCommand(UUID, 1, w.SignalKind.KILL)]
        assert talk.now == START + 3 * SECOND
        assert talk.wake is None


def test_a_canceled_command_that_ends_is_not_killed() -> None:
    with talk_to_server() as talk:
        run = given(talk, make_run())
        talk.perform(order(run, CancelRun(run.id))).take()
        exit = w.CommandExit(Lifecycle.CANCELED, signal="SIGTERM")
        talk.put(w.CommandEvent(UUID, 1, 1, event=exit)).take()
        talk.tick()
        assert talk.said() == []


def test_a_signal_that_is_no_cancel_is_followed_by_none() -> None:
    with talk_to_server() as talk:
        run = given(talk, make_run())
        talk.perform(order(run, SignalRun(run.id, Signal.TERMINATE))).take()
        talk.later(60).tick()
        assert talk.said() == []


# --- what may not be sent, or not any more


def expiring(id: str = UUID, after_ms: int = 500) -> Run:
    spec = RunSpec(ShellCommand(line="ls"), native={"rvbox": {"queue_expiry_ms": after_ms}})
    return make_run(id, spec=with_expiry(spec, START))


@pytest.mark.parametrize(
    "run",
    [expiring(), make_run(spec=RunSpec(ShellCommand(line="ls"), expires=START + SECOND // 2))],
)
def test_what_has_expired_before_its_dispatch_is_never_sent(run: Run) -> None:
    with talk_to_server() as talk:
        greeted_server(talk).later(0.5).perform(start(run))
        outcome = ended(talk)
        assert (outcome.state, outcome.reason) == (RunState.FAILED, Reason.EXPIRED)


def test_what_has_not_expired_is_sent() -> None:
    with talk_to_server() as talk:
        greeted_server(talk).later(0.499).perform(start(expiring()))
        assert isinstance(talk.steps()[1], w.CommandDispatch)


def test_what_expires_while_it_waits_for_room_ends_then() -> None:
    with talk_to_server() as talk:
        given(talk, expiring(OTHER, 90_000), accepted=False)
        talk.put(w.CommandAccepted(OTHER, 1, False, w.ControlError(Code.QUEUE_FULL))).take()
        talk.perform(start(expiring())).take()
        talk.put(w.CommandAccepted(UUID, 1, False, w.ControlError(Code.QUEUE_FULL))).take()
        talk.tick()
        assert talk.now == START + SECOND // 2
        assert ended(talk).reason is Reason.EXPIRED
        talk.put(w.ClientCapacity(0, 0, 2, 3))
        assert [p.issue_uuid for p in talk.steps() if isinstance(p, w.CommandDispatch)] == [OTHER]


def test_what_expired_while_the_two_sides_compared_is_not_sent_behind_the_result() -> None:
    with talk_to_server() as talk:
        given(talk, make_run(OTHER))
        given_ = expiring()
        talk.perform(start(given_)).take()
        full = w.ControlError(Code.QUEUE_FULL)
        talk.put(w.CommandAccepted(UUID, 1, False, full)).take()
        talk.put(w.CommandEvent(OTHER, 1, 2)).take()
        talk.tick()
        assert talk.steps() == []
        state = w.ReconcileCommandState(OTHER, Lifecycle.QUEUED, 2, 1, False, digest(OTHER))
        talk.put(w.ReconcileSnapshot((state,)))
        result, record, *_ = talk.steps()
        assert isinstance(result, w.ReconcileResult)
        assert isinstance(record, Record)
        assert record.run == UUID


def digest(id: str) -> bytes:
    run = make_run(id)
    return to_dispatch(run.id, run.spec, run.created).immutable_request_sha256


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_that_the_hello_did_not_offer_is_refused_here(shell: str) -> None:
    run = make_run(spec=RunSpec(ShellCommand(line="ls", shell=shell)))
    with talk_to_server() as talk:
        greeted_server(talk).perform(start(run))
        outcome = ended(talk)
        assert outcome.reason is Reason.REFUSED
        text = f"unsupported_input: this host does not offer the shell {shell}; it offers none, sh"
        assert outcome.message == text


@pytest.mark.parametrize("shell", ["", "sh"])
def test_a_shell_that_it_offers_or_its_default_is_asked_for(shell: str) -> None:
    run = make_run(spec=RunSpec(ShellCommand(line="ls", shell=shell)))
    with talk_to_server() as talk:
        greeted_server(talk).perform(start(run))
        assert isinstance(talk.steps()[1], w.CommandDispatch)


# --- more about signals and the rest


@pytest.mark.parametrize(
    "command",
    [
        ResolveApproval(RunId(UUID), "a", Decision.DENY),
        ResizeTerminal(RunId(UUID), 24, 80),
    ],
)
def test_what_a_host_does_not_know_is_refused(command: RunCommand) -> None:
    with talk_to_server() as talk:
        run = given(talk, make_run())
        talk.perform(order(run, command))
        (settled,) = talk.steps()
        assert isinstance(settled, Settle)
        assert isinstance(settled.error, UnsupportedInput)


def test_what_the_host_already_has_is_settled() -> None:
    with talk_to_server() as talk:
        run = given(talk, make_run())
        talk.perform(order(run, SupplyScript(run.id, b"")))
        talk.expect(Settle(run.id, OrderNumber(1)))


def test_an_order_for_a_command_that_has_ended_needs_nothing() -> None:
    with talk_to_server() as talk:
        run = make_run()
        greeted_server(talk).perform(order(run, CancelRun(run.id)))
        assert not talk.take()


# --- want of room


def test_a_dispatch_refused_for_want_of_room_is_sent_again_once_there_is_some() -> None:
    with talk_to_server() as talk:
        given(talk, make_run(), accepted=False)
        full = w.ControlError(Code.QUEUE_FULL, "full")
        talk.put(w.CommandAccepted(UUID, 1, False, full))
        assert talk.steps() == [ReportCapacity(0)]
        talk.put(w.ClientCapacity(2, 3, 2, 3))
        assert talk.steps() == [ReportCapacity(0)]
        talk.put(w.ClientCapacity(2, 2, 2, 3))
        again, capacity = talk.steps()
        assert isinstance(again, w.CommandDispatch)
        assert capacity == ReportCapacity(0)
        talk.put(w.CommandAccepted(UUID, 1, True))
        assert talk.steps()[1] == ReportCapacity(0)


@pytest.mark.limit("protocols/rvbox/giving.MOST_REFUSALS")
@pytest.mark.parametrize("counts", [(5,), (4, 5)])
def test_a_client_that_reports_room_and_refuses_is_not_asked_without_end(
    counts: tuple[int, ...],
) -> None:
    """By whatever figures: one counts a command for as long as it thinks of it."""
    with talk_to_server() as talk:
        given(talk, make_run(), accepted=False)
        error, asked = w.ControlError(Code.RESOURCE_EXHAUSTED, "the disk is full"), 1
        while asked < 50:
            talk.put(w.CommandAccepted(UUID, 1, False, error))
            steps = [*talk.steps()]
            for free in counts:
                talk.put(w.ClientCapacity(0, 5 - free, 0, 5))
                steps += talk.steps()
            if not any(isinstance(step, w.CommandDispatch) for step in steps):
                break
            asked += 1
        assert asked == MOST_REFUSALS
        assert talk.now == START
        talk.tick()
        assert talk.now == START + 30 * SECOND
        assert isinstance(talk.steps()[0], w.CommandDispatch)
        talk.put(w.CommandAccepted(UUID, 1, True))
        assert Record(make_run().id, (ACCEPTED,)) in talk.steps()


def test_or_after_a_while_if_nothing_is_heard() -> None:
    with talk_to_server() as talk:
        given(talk, make_run(), accepted=False)
        error = w.ControlError(Code.RESOURCE_EXHAUSTED)
        talk.put(w.CommandAccepted(UUID, 1, False, error)).take()
        talk.tick()
        assert isinstance(talk.steps()[0], w.CommandDispatch)


@pytest.mark.parametrize("signal", [None, Signal.INTERRUPT])
def test_one_that_waits_for_room_is_canceled_here(signal: Signal | None) -> None:
    with talk_to_server() as talk:
        run = given(talk, make_run(), accepted=False)
        talk.put(w.CommandAccepted(UUID, 1, False, w.ControlError(Code.QUEUE_FULL))).take()
        command = CancelRun(run.id) if signal is None else SignalRun(run.id, signal)
        talk.perform(order(run, command))
        record = talk.steps()[0]
        assert isinstance(record, Record)
        canceled = Outcome(RunState.CANCELED, Reason.CANCELED, "canceled before its host took it")
        assert record.events == (RunFinished(canceled),)


def test_a_cancel_under_way_counts_when_the_client_has_no_room() -> None:
    with talk_to_server() as talk:
        run = given(talk, make_run(), accepted=False)
        talk.perform(order(run, CancelRun(run.id))).take()
        talk.put(w.CommandAccepted(UUID, 1, False, w.ControlError(Code.QUEUE_FULL)))
        record = talk.steps()[0]
        assert isinstance(record, Record)
        (event,) = record.events
        assert isinstance(event, RunFinished)
        assert event.outcome.state is RunState.CANCELED


def test_what_waits_for_room_is_no_target_and_comes_behind_a_reconcile() -> None:
    first, second = make_run(), make_run(OTHER)
    with talk_to_server() as talk:
        given(talk, first, accepted=False)
        talk.put(w.CommandAccepted(UUID, 1, False, w.ControlError(Code.QUEUE_FULL))).take()
        talk.later(1).perform(start(second)).take()
        talk.put(w.CommandAccepted(OTHER, 1, True)).take()
        talk.put(w.CommandEvent(OTHER, 1, 2))
        (request,) = [s for s in talk.steps() if isinstance(s, w.ReconcileRequest)]
        assert [target.issue_uuid for target in request.targets] == [OTHER]
        talk.put(w.ClientCapacity(0, 0, 2, 3))
        assert talk.steps() == [ReportCapacity(4)]
        kept = request.targets[0]
        state = w.ReconcileCommandState(
            OTHER, Lifecycle.QUEUED, 2, 1, False, kept.immutable_request_sha256
        )
        talk.put(w.ReconcileSnapshot((state,)))
        again = talk.steps()[1]
        assert isinstance(again, w.CommandDispatch)
        assert again.issue_uuid == UUID


# --- scripts


def uploaded(talk: Talk) -> list[w.Payload]:
    """All of an upload, however many ticks it takes."""
    pieces: list[w.Payload] = []
    while not any(isinstance(piece, w.ScriptCommit) for piece in pieces):
        talk.tick()
        pieces += [p for p in talk.said() if isinstance(p, w.ScriptChunk | w.ScriptCommit)]
    return pieces


def test_a_script_is_sent_in_windows_once_the_command_is_accepted() -> None:
    run = scripted()
    with talk_to_server(ServerSettings(script_window=100_000)) as talk:
        given(talk, run)
        talk.tick()
        first = talk.said()
        assert [piece.offset for piece in first] == [0, 65536]  # type: ignore[union-attr]
        pieces = first + uploaded(talk)
        assert b"".join(p.data for p in pieces if isinstance(p, w.ScriptChunk)) == SCRIPT
        digest = hashlib.sha256(SCRIPT).digest()
        assert pieces[-1] == w.ScriptCommit(UUID, len(SCRIPT), digest)


def complain(talk: Talk, code: Code) -> Talk:
    error = w.ControlError(code, f"{UUID}: no")
    talk.put(w.AgentError(error))
    return talk


def test_a_damaged_upload_begins_again_and_at_last_ends_the_command() -> None:
    with talk_to_server(ServerSettings(script_attempts=2)) as talk:
        given(talk, scripted())
        first = uploaded(talk)
        complain(talk, Code.CHECKSUM_MISMATCH).take()
        assert uploaded(talk) == first
        complain(talk, Code.CHECKSUM_MISMATCH)
        record, signal = talk.steps()
        assert isinstance(record, Record)
        assert signal == w.SignalCommand(UUID, 1, w.SignalKind.TERMINATE)


def test_uploads_take_turns_and_an_ended_command_gives_up_its_own() -> None:
    first = scripted()
    second = attrs.evolve(first, id=RunId(OTHER))
    with talk_to_server(ServerSettings(script_window=1)) as talk:
        given(talk, first)
        talk.perform(start(second)).take()
        talk.put(w.CommandAccepted(OTHER, 1, True)).take()
        talk.tick()
        assert [piece.issue_uuid for piece in talk.said()] == [UUID]  # type: ignore[union-attr]
        exit = w.CommandExit(Lifecycle.CANCELED)
        talk.put(w.CommandEvent(UUID, 1, 1, event=exit)).take()
        talk.tick()
        assert talk.said() == []
        pieces = uploaded(talk)
        assert {piece.issue_uuid for piece in pieces} == {OTHER}  # type: ignore[union-attr]


def test_an_upload_under_way_is_not_begun_again_by_a_reconcile() -> None:
    run = scripted()
    with talk_to_server() as talk:
        given(talk, run)
        uploaded(talk)
        talk.put(w.CommandEvent(UUID, 1, 2)).take()
        digest = to_dispatch(run.id, run.spec, run.created).immutable_request_sha256
        state = w.ReconcileCommandState(UUID, Lifecycle.AWAITING_SCRIPT, 2, 1, False, digest)
        talk.put(w.ReconcileSnapshot((state,))).take()
        connection = talk.connection
        assert isinstance(connection, ServerConnection)
        command = connection._desk.books.by_uuid[UUID]
        assert command.standing is Standing.TAKEN
        assert command.upload is not None
        assert command.upload.attempts == 1
        assert command.upload.done
