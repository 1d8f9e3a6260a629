import attrs
import pytest

from fleetgate.core.answers import Accepted, Answer, RunList
from fleetgate.core.commands import DescribeRun, Origin, StartRun
from fleetgate.core.errors import (
    Conflict,
    NoRoute,
    ResourceExhausted,
    RunNotFound,
    Stopping,
    Unavailable,
)
from fleetgate.core.events import Outcome, Reason, RunState
from fleetgate.core.ids import RunId, Seq
from fleetgate.protocols.api import Annotate, Follow, Submit
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.retained import FORGOTTEN
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
from fleetgate.protocols.testing import START, slot

RUN = RunId(f"hosts/{UUID}")
NONE = RunNotFound("no")
ACCEPT = w.CommandAccepted(UUID, 1, True)


def capacity(queued: int, running: int = 0, settings: ClientSettings | None = None) -> w.Payload:
    most = settings or ClientSettings()
    return w.ClientCapacity(running, queued, most.max_running, most.max_queued)


def looked(talk: Talk, dispatch: w.CommandDispatch, answer: Answer) -> Talk:
    """The dispatch comes, and the journal answers whether it knows the command."""
    key = slot()
    run = RunId(f"hosts/{dispatch.issue_uuid}")
    talk.put(dispatch).expect(Submit(DescribeRun(run), key))
    talk.reply(key, answer)
    return talk


def started(talk: Talk, dispatch: w.CommandDispatch, answer: Answer) -> Talk:
    """And it is new, so the core is asked to start it."""
    looked(talk, dispatch, NONE)
    (submit,) = talk.take()
    assert isinstance(submit, Submit)
    assert isinstance(submit.command, StartRun)
    talk.reply(submit.reply_to, answer)
    return talk


def rejection(talk: Talk, code: Code) -> None:
    (said,) = (p for p in talk.said() if isinstance(p, w.CommandAccepted))
    assert not said.accepted
    assert said.rejection is not None
    assert said.rejection.code == code


def test_a_new_command_is_accepted_once_it_is_durable_and_followed_from_its_start() -> None:
    dispatch = make_dispatch()
    with talk_to_client() as talk:
        greeted_client(talk)
        looked(talk, dispatch, NONE)
        key = slot()
        spec = to_run_spec(dispatch)
        talk.expect(Submit(StartRun(RUN, spec, Origin("hosts", UUID)), key))
        talk.reply(key, Accepted(None, make_command()))
        assert talk.steps() == [ACCEPT, Follow(RUN, Seq(0)), capacity(queued=1)]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"issue_uuid": "not-a-uuid"}, Code.INVALID_ARGUMENT),
        ({"issue_uuid": UUID.upper()}, Code.INVALID_ARGUMENT),
        ({"immutable_request_sha256": bytes(31)}, Code.INVALID_ARGUMENT),
        ({"immutable_request_sha256": b""}, Code.INVALID_ARGUMENT),
        ({"command_revision": 0}, Code.INVALID_ARGUMENT),
        ({"target_session_generation": 6}, Code.STALE_SESSION),
    ],
)
def test_a_dispatch_that_is_bad_by_itself_is_rejected(
    changes: dict[str, object], code: Code
) -> None:
    with talk_to_client() as talk:
        greeted_client(talk).put(make_dispatch(**changes))
        rejection(talk, code)


@pytest.mark.limit("protocols/rvbox/taking._ECHO")
def test_a_rejection_repeats_no_more_of_an_id_than_it_must() -> None:
    with talk_to_client() as talk:
        greeted_client(talk).put(make_dispatch(issue_uuid="x" * 100_000))
        (said,) = talk.said()
        assert isinstance(said, w.CommandAccepted)
        assert len(said.issue_uuid) == 128


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"spec": w.ExecutionSpec()}, Code.INVALID_ARGUMENT),
        ({"spec": w.ExecutionSpec("ls", timeout=0)}, Code.INVALID_ARGUMENT),
        ({"spec": w.ExecutionSpec(w.ScriptRef(3, bytes(31)))}, Code.INVALID_ARGUMENT),
        ({"spec": w.ExecutionSpec("ls", shell=w.ShellType.ZSH)}, Code.UNSUPPORTED_SHELL),
        ({"spec": w.ExecutionSpec("ls", shell=42)}, Code.UNSUPPORTED_SHELL),
        ({"queue_expiry_time": START}, Code.QUEUE_EXPIRED),
        ({"queue_expiry_time": -(10**18)}, Code.QUEUE_EXPIRED),
    ],
)
def test_a_new_command_that_cannot_be_executed_is_rejected(
    changes: dict[str, object], code: Code
) -> None:
    with talk_to_client() as talk:
        greeted_client(talk)
        looked(talk, make_dispatch(**changes), NONE)
        rejection(talk, code)


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (NoRoute("no"), Code.INVALID_ARGUMENT),
        (ResourceExhausted("no"), Code.RESOURCE_EXHAUSTED),
        (Stopping("no"), Code.QUEUE_FULL),
        (Unavailable("no"), Code.RESOURCE_EXHAUSTED),
        (Conflict("no"), Code.CONFLICT),
    ],
)
def test_what_the_core_refuses_is_rejected(refusal: Answer, code: Code) -> None:
    with talk_to_client() as talk:
        started(greeted_client(talk), make_dispatch(), refusal)
        rejection(talk, code)


def test_a_journal_that_cannot_be_asked_takes_nothing() -> None:
    with talk_to_client() as talk:
        looked(greeted_client(talk), make_dispatch(), Unavailable("failing"))
        rejection(talk, Code.RESOURCE_EXHAUSTED)


# --- the same command again


def test_i6_a_retained_command_is_accepted_again_and_executed_once() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [make_command()])
        talk.put(make_dispatch(queue_expiry_time=START, spec=w.ExecutionSpec()))
        assert talk.steps() == [ACCEPT]


@pytest.mark.parametrize(
    "changes", [{"immutable_request_sha256": b"x" * 32}, {"command_revision": 2}]
)
def test_another_request_or_a_lower_revision_is_a_conflict(changes: dict[str, object]) -> None:
    retained = make_command(notes={"rvbox": {"revision": 3}})
    with talk_to_client() as talk:
        greeted_client(talk, [retained]).put(make_dispatch(**changes))
        rejection(talk, Code.CONFLICT)


def test_a_higher_revision_is_kept_before_it_is_accepted() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [make_command()]).put(make_dispatch(command_revision=4))
        note = Annotate(RUN, "rvbox", {"revision": 4})
        assert talk.steps() == [note, w.CommandAccepted(UUID, 4, True)]
        talk.put(make_dispatch(command_revision=3))
        rejection(talk, Code.CONFLICT)


OVER = {
    "state": RunState.SUCCEEDED,
    "outcome": Outcome(RunState.SUCCEEDED, Reason.EXITED),
    "last_seq": Seq(5),
    "acknowledged": Seq(5),
}


@pytest.mark.parametrize("changes", [OVER, {"notes": {FORGOTTEN: True}}])
def test_a_tombstoned_command_has_already_finished(changes: dict[str, object]) -> None:
    known = make_command(**changes)
    with talk_to_client() as talk:
        greeted_client(talk)
        looked(talk, make_dispatch(), Accepted(known, known))
        rejection(talk, Code.ALREADY_FINISHED)
        other = make_dispatch(immutable_request_sha256=b"x" * 32)
        looked(talk, other, Accepted(known, known))
        rejection(talk, Code.CONFLICT)


def test_a_run_that_the_journal_has_and_this_link_has_not_is_taken_up() -> None:
    known = make_command()
    with talk_to_client() as talk:
        greeted_client(talk)
        looked(talk, make_dispatch(), Accepted(known, known))
        assert talk.steps() == [ACCEPT, Follow(RUN, Seq(0)), capacity(queued=1)]


# --- room


def test_a_full_queue_is_said_to_be_full() -> None:
    settings = ClientSettings(max_running=1, max_queued=1)
    held = [make_command(OTHER), make_command(OTHER[:-1] + "0", state=RunState.RUNNING)]
    with talk_to_client(settings) as talk:
        greeted_client(talk, held)
        looked(talk, make_dispatch(), NONE)
        rejection(talk, Code.QUEUE_FULL)


def test_commands_that_are_being_started_count() -> None:
    with talk_to_client(ClientSettings(max_running=1, max_queued=0)) as talk:
        looked(greeted_client(talk), make_dispatch(), NONE).take()
        looked(talk, make_dispatch(OTHER), NONE)
        rejection(talk, Code.QUEUE_FULL)


def test_a_client_that_retains_too_many_commands_takes_no_more() -> None:
    with talk_to_client(ClientSettings(retained=1)) as talk:
        greeted_client(talk, [make_command(OTHER, **{**OVER, "acknowledged": Seq(1)})])
        looked(talk, make_dispatch(), NONE)
        rejection(talk, Code.QUEUE_FULL)


def test_a_gateway_that_stops_leaves_no_room() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [make_command(OTHER)]).drain()
        talk.expect(talk.sent(w.ClientCapacity(0, 1, 0, 1)))
        looked(talk, make_dispatch(), NONE)
        rejection(talk, Code.QUEUE_FULL)


# --- order


def test_messages_about_a_command_wait_for_the_answer_about_it() -> None:
    with talk_to_client() as talk:
        key = slot()
        greeted_client(talk).put(make_dispatch()).expect(Submit(DescribeRun(RUN), key))
        talk.put(w.StdinWrite(UUID, 1, b"x"))
        talk.put(make_dispatch())
        other = slot()
        talk.put(make_dispatch(OTHER))
        talk.expect(Submit(DescribeRun(RunId(f"hosts/{OTHER}")), other))
        talk.reply(key, NONE)
        (start,) = talk.take()
        talk.reply(start.reply_to, Accepted(None, make_command()))  # type: ignore[union-attr]
        accept, _, write, _ = talk.steps()
        assert accept == ACCEPT
        assert isinstance(write, Submit)
        talk.reply(write.reply_to, Accepted())
        assert talk.steps() == [ACCEPT]


def test_an_acceptance_that_comes_while_the_two_sides_compare_waits_for_the_result() -> None:
    with talk_to_client() as talk:
        looked(greeted_client(talk), make_dispatch(), NONE)
        (start,) = talk.take()
        talk.put(w.ReconcileRequest())
        (listing,) = talk.take()
        talk.reply(start.reply_to, Accepted(None, make_command()))  # type: ignore[union-attr]
        assert talk.steps() == []
        talk.reply(listing.reply_to, RunList((make_command(),)))  # type: ignore[union-attr]
        (snapshot,) = talk.steps()
        assert isinstance(snapshot, w.ReconcileSnapshot)
        talk.put(w.ReconcileResult())
        assert talk.steps() == [ACCEPT, Follow(RUN, Seq(0)), capacity(queued=1)]


@pytest.mark.parametrize("listed", [True, False])
def test_a_command_started_while_the_two_sides_compare_is_followed(listed: bool) -> None:
    """The list of what is retained may have been made before or after the start."""
    run = make_command()
    with talk_to_client() as talk:
        looked(greeted_client(talk), make_dispatch(), NONE)
        (start,) = talk.take()
        talk.put(w.ReconcileRequest())
        (listing,) = talk.take()
        talk.reply(start.reply_to, Accepted(None, run)).take()  # type: ignore[union-attr]
        runs = RunList((run,) if listed else ())
        talk.reply(listing.reply_to, runs).take()  # type: ignore[union-attr]
        talk.put(w.ReconcileResult())
        assert talk.steps() == [ACCEPT, Follow(RUN, Seq(0)), capacity(queued=1)]


def test_the_native_part_keeps_the_digest_as_it_came() -> None:
    digest = bytes(range(32))
    dispatch = make_dispatch(immutable_request_sha256=digest)
    native = to_run_spec(dispatch).native["rvbox"]
    assert native == {"sha256": digest.hex(), "revision": 1, "issue_time": START}
    assert attrs.evolve(dispatch) == dispatch
