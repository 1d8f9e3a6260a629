"""A host that names a command as ended, and what it sends of it then."""

import pytest

from fleetgate.core.answers import Held
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.protocols.api import Record, ReportCapacity
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.exits import UNTOLD
from fleetgate.protocols.rvbox.settings import ServerSettings
from fleetgate.protocols.rvbox.testing import UUID, Talk, admit, make_run, open_link, talk_to_server
from fleetgate.protocols.rvbox.translate import to_dispatch
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle
from fleetgate.protocols.testing import SECOND, START

RUN = make_run(accepted=True, native_seq=4, state=RunState.RUNNING)
DIGEST = to_dispatch(UUID, RUN.spec, RUN.created).immutable_request_sha256
EXIT = w.CommandExit(Lifecycle.EXITED, exit_code=0)


def snapshot(last: int = 4, lifecycle: Lifecycle = Lifecycle.EXITED) -> w.ReconcileSnapshot:
    state = w.ReconcileCommandState(UUID, lifecycle, last, 1, False, DIGEST)
    return w.ReconcileSnapshot((state,))


def reconciled(talk: Talk, said: w.ReconcileSnapshot) -> Talk:
    """A session in which the client has said this of the one run."""
    admit(open_link(talk), [Held(RUN, ())])
    talk.put(said).take()
    return talk


def output(seq: int) -> w.CommandEvent:
    return w.CommandEvent(UUID, 1, seq, event=w.OutputChunk(w.OutputStream.STDOUT, b"x", seq))


def lost() -> RunFinished:
    said = "its host says that it has ended, and does not send the exit"
    return RunFinished(Outcome(RunState.LOST, Reason.LOST, said))


def test_i5_a_host_that_never_sends_the_exit_loses_the_run_after_a_minute() -> None:
    with talk_to_server() as talk:
        reconciled(talk, snapshot()).tick()
        assert talk.now == START + 60 * SECOND
        request = w.ReconcileRequest()
        assert talk.steps() == [Record(RUN.id, (lost(),)), ReportCapacity(4), request]
        talk.put(snapshot())
        assert talk.steps()[0] == w.ReconcileResult((), (UUID,))
        late = w.CommandEvent(UUID, 1, 5, event=EXIT)
        talk.put(late).expect()


def test_an_exit_in_time_is_the_end() -> None:
    with talk_to_server(ServerSettings(ack_delay=0)) as talk:
        reconciled(talk, snapshot(last=5))
        talk.put(w.CommandEvent(UUID, 1, 5, event=EXIT))
        (record,) = talk.steps()
        assert isinstance(record, Record)
        assert record.events[0].outcome.state is RunState.SUCCEEDED  # type: ignore[union-attr]
        talk.later(60).tick().expect()
        talk.committed(RUN.id, 5)
        assert talk.steps()[0] == w.EventAck(UUID, 5)


def test_a_host_that_has_much_to_send_gets_as_long_for_each_event() -> None:
    with talk_to_server() as talk:
        reconciled(talk, snapshot(last=7))
        for seq, more in ((5, True), (6, True), (7, True), (8, False)):
            if more:
                talk.put(output(seq)).take()
            talk.later(60).tick()
            assert (Record(RUN.id, (UNTOLD,)) in talk.steps()) is not more


@pytest.mark.parametrize("lifecycle", [Lifecycle.RUNNING, Lifecycle.QUEUED])
def test_what_has_not_ended_there_may_take_any_time(lifecycle: Lifecycle) -> None:
    with talk_to_server() as talk:
        reconciled(talk, snapshot(lifecycle=lifecycle))
        talk.later(3600).tick().expect()


def test_another_reconcile_in_between_gives_no_more_time() -> None:
    with talk_to_server() as talk:
        reconciled(talk, snapshot()).later(40)
        talk.put(output(9)).take()
        talk.put(snapshot()).take()
        talk.later(20).tick()
        assert Record(RUN.id, (UNTOLD,)) in talk.steps()


def test_the_grace_can_be_set() -> None:
    with talk_to_server(ServerSettings(exit_grace=5)) as talk:
        reconciled(talk, snapshot()).tick()
        assert talk.now == START + 5 * SECOND
        assert Record(RUN.id, (UNTOLD,)) in talk.steps()
