import attrs
import pytest

from fleetgate.core.answers import Accepted, RunList
from fleetgate.core.commands import CancelRun, DescribeRun, ListRuns, Signal, SignalRun
from fleetgate.core.errors import RunNotFound, Unavailable
from fleetgate.core.events import Outcome, Reason, RunState
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.run import Run
from fleetgate.protocols.api import Ack, Annotate, Close, Established, Follow, Submit, Unfollow
from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.retained import FORGOTTEN, LINES
from fleetgate.protocols.rvbox.settings import ClientSettings
from fleetgate.protocols.rvbox.testing import (
    OTHER,
    SESSION,
    UUID,
    Talk,
    greeted_client,
    make_command,
    make_dispatch,
    make_run,
    open_link,
    talk_to_client,
)
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code
from fleetgate.protocols.testing import SECOND, START, slot

RUN, OTHER_RUN = RunId(f"hosts/{UUID}"), RunId(f"hosts/{OTHER}")
DIGEST = b"h" * 32
RUNNING = make_command(state=RunState.RUNNING, last_seq=Seq(9), acknowledged=Seq(4))
ENDED = make_command(
    state=RunState.SUCCEEDED,
    outcome=Outcome(RunState.SUCCEEDED, Reason.EXITED),
    last_seq=Seq(5),
    acknowledged=Seq(4),
    ended=START,
)
GONE = attrs.evolve(ENDED, acknowledged=Seq(5))
LISTING = ListRuns("hosts", unacknowledged=True)


def target(uuid: str = UUID, last: int = 0, digest: bytes = DIGEST) -> w.ReconcileTarget:
    return w.ReconcileTarget(uuid, last, 1, digest)


def asked(talk: Talk, *targets: w.ReconcileTarget) -> object:
    """A new session, in which the server has asked for the snapshot."""
    open_link(talk)
    talk.session, talk.generation = SESSION, 7
    talk.put(w.ServerWelcome(w.ProtocolVersion(1, 0))).take()
    key = slot()
    talk.put(w.ReconcileRequest(targets)).expect(Submit(LISTING, key))
    return key


def snapshot(talk: Talk) -> tuple[w.ReconcileCommandState, ...]:
    (said,) = talk.said()
    assert isinstance(said, w.ReconcileSnapshot)
    return said.retained_commands


def state(run: Run, lifecycle: Lifecycle, **changes: object) -> w.ReconcileCommandState:
    made = w.ReconcileCommandState(run.origin.native_run, lifecycle, run.last_seq, 1, False, DIGEST)
    return attrs.evolve(made, **changes)


# --- the snapshot


def test_a_snapshot_is_always_sent_even_an_empty_one() -> None:
    with talk_to_client() as talk:
        talk.reply(asked(talk), RunList(()))
        assert snapshot(talk) == ()


def test_open_and_unacknowledged_commands_are_retained() -> None:
    ended = attrs.evolve(ENDED, id=OTHER_RUN, origin=make_command(OTHER).origin)
    forgotten = make_command(OTHER[:-1] + "0", notes={FORGOTTEN: True})
    with talk_to_client() as talk:
        runs = (RUNNING, ended, make_run("another-protocol"), forgotten)
        talk.reply(asked(talk), RunList(runs))
        assert snapshot(talk) == (
            state(RUNNING, Lifecycle.RUNNING),
            state(ended, Lifecycle.EXITED),
        )


def test_an_ended_command_that_was_terminated_is_acknowledged_for_good() -> None:
    forgotten = attrs.evolve(ENDED, notes={FORGOTTEN: True})
    with talk_to_client() as talk:
        talk.reply(asked(talk), RunList((forgotten,)))
        ack, snapshot = talk.steps()
        assert ack == Ack(RUN, limits.FAR)
        assert snapshot == w.ReconcileSnapshot()


def looked_up(talk: Talk, run: Run | None, named: w.ReconcileTarget) -> Talk:
    talk.reply(asked(talk, named), RunList(()))
    (look,) = talk.take()
    assert isinstance(look, Submit)
    assert look.command == DescribeRun(RUN)
    talk.reply(look.reply_to, RunNotFound("no") if run is None else Accepted(run, run))
    return talk


def test_a_target_of_which_only_the_tombstone_is_left_is_tombstoned() -> None:
    with talk_to_client() as talk:
        looked_up(talk, GONE, target())
        assert snapshot(talk) == (state(GONE, Lifecycle.EXITED, tombstoned=True),)


@pytest.mark.parametrize(
    ("run", "named"),
    [
        (None, target()),
        (GONE, target(digest=b"x" * 32)),
        (attrs.evolve(GONE, ended=START - 7 * 24 * 3600 * SECOND), target()),
    ],
)
def test_an_unknown_target_another_request_and_an_old_tombstone_are_left_out(
    run: Run | None, named: w.ReconcileTarget
) -> None:
    with talk_to_client() as talk:
        looked_up(talk, run, named)
        assert snapshot(talk) == ()


def test_a_target_that_was_started_meanwhile_is_retained() -> None:
    with talk_to_client() as talk:
        looked_up(talk, RUNNING, target())
        assert snapshot(talk) == (state(RUNNING, Lifecycle.RUNNING),)


def test_a_target_that_is_no_uuid_asks_nobody() -> None:
    with talk_to_client() as talk:
        talk.reply(asked(talk, target("x" * 1000)), RunList(()))
        assert snapshot(talk) == ()


def test_more_tombstones_than_allowed_stay_unsaid() -> None:
    with talk_to_client(ClientSettings(tombstones=0)) as talk:
        looked_up(talk, GONE, target())
        assert snapshot(talk) == ()


@pytest.mark.parametrize("where", ["list", "look"])
def test_a_journal_that_cannot_tell_ends_the_link_to_try_later(where: str) -> None:
    with talk_to_client() as talk:
        key = asked(talk, target())
        if where == "look":
            talk.reply(key, RunList(()))
            (look,) = talk.take()
            key = look.reply_to  # type: ignore[union-attr]
        talk.reply(key, Unavailable("failing"))
        (close,) = talk.take()
        assert isinstance(close, Close)
        assert (close.code, close.retry) == (1013, True)


def uuids(count: int) -> list[str]:
    return [f"{n:08x}{UUID[8:]}" for n in range(count)]


@pytest.mark.limit("protocols/rvbox/limits.RETAINED")
def test_a_snapshot_of_8000_commands_fits_a_frame() -> None:
    run = attrs.evolve(RUNNING, last_seq=Seq(1 << 40), notes={"rvbox": {"revision": 1 << 40}})
    runs = [
        attrs.evolve(run, id=RunId(f"hosts/{uuid}"), origin=make_command(uuid).origin)
        for uuid in uuids(limits.RETAINED)
    ]
    with talk_to_client() as talk:
        talk.reply(asked(talk), RunList(tuple(runs)))
        assert len(snapshot(talk)) == limits.RETAINED


def test_tombstones_that_do_not_fit_the_frame_stay_unsaid() -> None:
    names = uuids(12_000)
    named = [target(uuid) for uuid in names]
    with talk_to_client(ClientSettings(tombstones=12_000)) as talk:
        talk.reply(asked(talk, *named), RunList(()))
        looks = talk.take()
        for look, uuid in zip(looks, names, strict=True):
            run = attrs.evolve(
                GONE,
                last_seq=Seq(1 << 62),
                acknowledged=Seq(1 << 62),
                origin=make_command(uuid).origin,
            )
            talk.reply(look.reply_to, Accepted(run, run))  # type: ignore[union-attr]
        assert 9_000 < len(snapshot(talk)) < 12_000


# --- the result


def resumed(talk: Talk, run: Run, *targets: w.ReconcileTarget) -> list:
    talk.reply(asked(talk, *targets), RunList((run,))).take()
    talk.put(w.ReconcileResult())
    return talk.steps()


def test_a_session_is_established_by_its_first_result_and_not_before() -> None:
    with talk_to_client() as talk:
        talk.reply(asked(talk), RunList(()))
        assert Established() not in talk.take()
        talk.put(w.ReconcileResult((), ()))
        assert Established() in talk.take()
        talk.put(w.ReconcileResult((), ()))
        assert Established() not in talk.take()


@pytest.mark.parametrize(
    ("run", "named", "after"),
    [
        (RUNNING, [target(last=6)], 6),
        (RUNNING, [target(last=0)], 0),
        (RUNNING, [], 4),
        (RUNNING, [target(last=99)], 9),
        (ENDED, [target(last=2)], 2),
        (attrs.evolve(RUNNING, notes={LINES: True}), [target(last=6)], 0),
    ],
)
def test_events_are_sent_from_where_the_server_stands(
    run: Run, named: list[w.ReconcileTarget], after: int
) -> None:
    with talk_to_client() as talk:
        follow, capacity = resumed(talk, run, *named)
        assert follow == Follow(RUN, Seq(after))
        assert isinstance(capacity, w.ClientCapacity)


def test_capacity_is_told_behind_every_reconcile() -> None:
    settings = ClientSettings(max_running=3, max_queued=4)
    with talk_to_client(settings) as talk:
        greeted_client(talk, [RUNNING, make_command(OTHER)]).put(w.ReconcileResult())
        assert talk.steps() == [w.ClientCapacity(1, 1, 3, 4)]


def test_what_is_terminated_is_killed_forgotten_and_heard_of_no_more() -> None:
    with talk_to_client() as talk:
        talk.reply(asked(talk), RunList((RUNNING,))).take()
        talk.put(w.ReconcileResult((UUID, OTHER)))
        nobody = slot()
        steps = talk.steps()
        assert steps[:-1] == [
            Unfollow(RUN),
            Annotate(RUN, FORGOTTEN, True),
            Submit(SignalRun(RUN, Signal.KILL), nobody),
            Submit(CancelRun(RUN, reason="given up"), nobody),
            Ack(RUN, limits.FAR),
        ]
        assert steps[-1] == w.ClientCapacity(0, 0, 16, 256)
        talk.reply(nobody, Accepted())
        assert talk.steps() == []


@pytest.mark.parametrize("result", [w.ReconcileResult((UUID,)), w.ReconcileResult((), (UUID,))])
def test_what_a_result_has_ended_is_a_tombstone_before_the_journal_shows_it(
    result: w.ReconcileResult,
) -> None:
    with talk_to_client() as talk:
        talk.reply(asked(talk), RunList((ENDED,))).take()
        talk.put(result).take()
        talk.put(make_dispatch())
        (answer,) = talk.said()
        assert isinstance(answer, w.CommandAccepted)
        assert answer.rejection is not None
        assert answer.rejection.code == Code.ALREADY_FINISHED
        talk.put(w.ReconcileRequest((target(),)))
        (listing,) = talk.take()
        talk.reply(listing.reply_to, RunList((ENDED,)))  # type: ignore[union-attr]
        (look,) = talk.take()
        talk.reply(look.reply_to, Accepted(ENDED, ENDED))  # type: ignore[union-attr]
        assert snapshot(talk) == (state(ENDED, Lifecycle.EXITED, tombstoned=True),)


def test_an_ended_command_that_is_terminated_is_only_forgotten() -> None:
    with talk_to_client() as talk:
        talk.reply(asked(talk), RunList((ENDED,))).take()
        talk.put(w.ReconcileResult((UUID,)))
        assert talk.steps()[:-1] == [
            Unfollow(RUN),
            Annotate(RUN, FORGOTTEN, True),
            Ack(RUN, limits.FAR),
        ]


def test_what_is_discarded_is_acknowledged_to_its_end() -> None:
    with talk_to_client() as talk:
        talk.reply(asked(talk), RunList((ENDED,))).take()
        talk.put(w.ReconcileResult((), (UUID,)))
        assert talk.steps()[:-1] == [Unfollow(RUN), Ack(RUN, 5)]


def test_what_runs_is_not_discarded() -> None:
    with talk_to_client() as talk:
        talk.reply(asked(talk), RunList((RUNNING,))).take()
        talk.put(w.ReconcileResult((), (UUID,)))
        assert talk.steps()[0] == Follow(RUN, Seq(4))


def test_a_repeated_result_changes_nothing() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING]).put(w.ReconcileResult((OTHER,), (OTHER,)))
        assert talk.steps() == [w.ClientCapacity(1, 0, 16, 256)]


# --- in mid-session


def test_a_second_reconcile_holds_back_all_events_until_its_result() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING])
        key = slot()
        talk.put(w.ReconcileRequest((target(last=7),)))
        talk.expect(Unfollow(RUN), Submit(LISTING, key))
        talk.reply(key, RunList((attrs.evolve(RUNNING, last_seq=Seq(12)),)))
        assert snapshot(talk)[0].last_client_event_seq == 12
        talk.put(w.ReconcileResult())
        assert talk.steps()[0] == Follow(RUN, Seq(7))


def test_what_was_acknowledged_meanwhile_is_dropped() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING])
        key = slot()
        talk.put(w.ReconcileRequest()).expect(Unfollow(RUN), Submit(LISTING, key))
        talk.reply(key, RunList(()))
        assert snapshot(talk) == ()
        talk.put(w.ReconcileResult())
        assert talk.steps() == [w.ClientCapacity(0, 0, 16, 256)]


def test_writes_counted_on_this_link_are_not_forgotten_by_a_reconcile() -> None:
    with talk_to_client() as talk:
        greeted_client(talk, [RUNNING]).put(w.StdinWrite(UUID, 1, b"x"))
        (write,) = talk.take()
        talk.reply(write.reply_to, Accepted())  # type: ignore[union-attr]
        key = slot()
        talk.put(w.ReconcileRequest()).expect(Unfollow(RUN), Submit(LISTING, key))
        talk.reply(key, RunList((RUNNING,))).take()
        talk.put(w.ReconcileResult()).take()
        talk.put(w.StdinWrite(UUID, 1, b"x"))
        assert talk.steps() == []
