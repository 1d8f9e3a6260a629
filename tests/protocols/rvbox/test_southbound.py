import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.answers import Admission
from fleetgate.core.commands import (
    Order,
    SendInput,
)
from fleetgate.core.errors import InstanceConflict, Unavailable
from fleetgate.core.ids import Epoch, OrderNumber
from fleetgate.protocols.api import (
    AnnounceWorker,
    Close,
    Settle,
    Wake,
    WorkerReady,
)
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.testing import (
    SESSION,
    UUID,
    accepted_run,
    admit,
    greeted_server,
    make_hello,
    make_run,
    open_link,
    start_of,
    talk_to_server,
)
from fleetgate.protocols.rvbox.translate import to_worker
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code
from fleetgate.protocols.testing import SECOND, START, outcome, slot

# --- hello and admission


def test_a_session_begins_with_hello_admission_welcome_and_a_reconcile() -> None:
    with talk_to_server() as talk:
        open_link(talk)
        key = slot()
        talk.put(make_hello()).expect(AnnounceWorker(to_worker("hosts", make_hello()), key))
        talk.reply(key, Admission(Epoch(7), ()))
        talk.session, talk.generation = SESSION, 7
        talk.expect(
            talk.sent(w.ServerWelcome(w.ProtocolVersion(1, 0), START)),
            talk.sent(w.ReconcileRequest()),
            slot(),
        )
        talk.put(w.ReconcileSnapshot())
        assert talk.steps() == [w.ReconcileResult(), WorkerReady(5)]


def test_no_hello_in_10_seconds_is_a_violation() -> None:
    with talk_to_server() as talk:
        open_link(talk).tick()
        assert talk.now == START + 10 * SECOND
        talk.ends(Code.PROTOCOL_VIOLATION, 1002)


def test_no_snapshot_in_30_seconds_is_a_violation() -> None:
    with talk_to_server() as talk:
        admit(open_link(talk))
        talk.later(30).tick()
        talk.ends(Code.PROTOCOL_VIOLATION, 1002)


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        (make_hello(client_id=""), Code.INVALID_ARGUMENT),
        (make_hello(client_id="h" * 129), Code.INVALID_ARGUMENT),
        (make_hello(client_instance_id=""), Code.INVALID_ARGUMENT),
        (make_hello(supported_shells=()), Code.INVALID_ARGUMENT),
        (
            make_hello(
                supported_protocol=w.ProtocolRange(w.ProtocolVersion(2, 0), w.ProtocolVersion(2, 1))
            ),
            Code.UNSUPPORTED_VERSION,
        ),
    ],
)
def test_a_bad_hello_is_refused_and_closes_with_1008(hello: w.ClientHello, code: Code) -> None:
    with talk_to_server() as talk:
        open_link(talk).put(hello)
        talk.ends(code, 1008)


def test_a_client_id_that_the_link_does_not_prove_is_unauthenticated() -> None:
    with talk_to_server() as talk:
        open_link(talk, authenticated=True, identities=("host-2",)).put(make_hello())
        talk.ends(Code.UNAUTHENTICATED, 1008)


def test_another_live_instance_is_client_id_in_use() -> None:
    with talk_to_server() as talk:
        key = slot()
        open_link(talk).put(make_hello()).expect(slot_announce(key))
        talk.reply(key, InstanceConflict("taken"))
        error, close = talk.take()
        assert codec.decode(error.frame).payload.error.code == Code.CLIENT_ID_IN_USE
        assert isinstance(close, Close)
        assert close.code == 1008


def slot_announce(key: object) -> AnnounceWorker:
    return AnnounceWorker(to_worker("hosts", make_hello()), key)


def test_a_gateway_that_cannot_admit_asks_to_try_later() -> None:
    with talk_to_server() as talk:
        key = slot()
        open_link(talk).put(make_hello()).expect(slot_announce(key))
        talk.reply(key, Unavailable("the journal is failing"))
        error, close = talk.take()
        assert codec.decode(error.frame).payload.error.code == Code.RESOURCE_EXHAUSTED
        assert isinstance(close, Close)
        assert (close.code, close.retry) == (1013, True)


@pytest.mark.parametrize(
    "payload",
    [
        w.ReconcileSnapshot(),
        w.ClientCapacity(),
        w.AgentError(),
        w.ServerWelcome(),
        w.Unknown(),
    ],
)
def test_anything_before_hello_is_a_violation(payload: w.Payload) -> None:
    with talk_to_server() as talk:
        open_link(talk).put(payload)
        talk.ends(Code.PROTOCOL_VIOLATION, 1002)


def test_a_second_hello_is_a_violation() -> None:
    with talk_to_server() as talk:
        greeted_server(talk).put(make_hello())
        talk.ends(Code.PROTOCOL_VIOLATION, 1002)


@pytest.mark.parametrize(("id", "generation"), [("", 0), ("other", 7), (SESSION, 6)])
def test_i7_another_session_is_stale_and_nothing_in_it_is_acted_on(
    id: str, generation: int
) -> None:
    with talk_to_server() as talk:
        greeted_server(talk)
        talk.receive(w.Envelope(id, generation, w.ClientCapacity(0, 0, 9, 9)))
        talk.ends(Code.STALE_SESSION, 4001)


def test_an_undecodable_envelope_is_a_violation() -> None:
    with talk_to_server() as talk:
        greeted_server(talk).receive(b"\xff\xff")
        talk.ends(Code.PROTOCOL_VIOLATION, 1002)


@pytest.mark.parametrize(
    "payload",
    [w.ServerWelcome(), w.CommandDispatch(), w.EventAck(UUID, 1), w.ReconcileResult()],
)
def test_a_payload_of_the_wrong_direction_is_a_violation(payload: w.Payload) -> None:
    with talk_to_server() as talk:
        greeted_server(talk).put(payload)
        talk.ends(Code.PROTOCOL_VIOLATION, 1002)


def test_an_unknown_payload_is_a_violation_from_a_client_of_our_version() -> None:
    with talk_to_server() as talk:
        greeted_server(talk).put(w.Unknown())
        talk.ends(Code.PROTOCOL_VIOLATION, 1002)


def test_an_unknown_payload_from_a_higher_minor_is_ignored_and_counted() -> None:
    offered = w.ProtocolRange(w.ProtocolVersion(1, 0), w.ProtocolVersion(1, 3))
    with talk_to_server() as talk:
        greeted_server(talk, supported_protocol=offered).put(w.Unknown())
        (report,) = talk.take()
        assert report.what == "rvbox_unknown_payload"  # type: ignore[union-attr]


def test_i7_a_newer_link_of_the_same_client_supersedes_this_one() -> None:
    with talk_to_server() as talk:
        greeted_server(talk).fenced()
        error, close = talk.take()
        assert codec.decode(error.frame).payload.error.code == Code.SUPERSEDED
        assert isinstance(close, Close)
        assert close.code == 4002


def test_who_may_be_here_no_more_is_told_in_the_last_message() -> None:
    """A stream of bytes has no code to close with, and its client would come again and again."""
    with talk_to_server() as talk:
        greeted_server(talk).dismissed("the token was revoked")
        (said,) = talk.take()
        error = codec.decode(said.frame).payload
        assert (error.error.code, error.error.message) == (
            Code.UNAUTHENTICATED,
            "the token was revoked",
        )
        assert error.close_session


def test_orders_that_are_refused_are_settled_and_not_tried_again() -> None:
    with talk_to_server() as talk:
        run = accepted_run(talk)
        talk.perform(Order(run.id, OrderNumber(1), SendInput(run.id, b"x"), 1))
        (settled,) = talk.take()
        assert isinstance(settled, Settle)
        assert settled.error is not None


def test_a_wake_is_always_asked_for_while_something_is_due() -> None:
    with talk_to_server() as talk:
        greeted_server(talk).later(1).perform(start_of(make_run()))
        assert Wake(START + 31 * SECOND) in talk.take()


# --- the short way of output

OUTPUT = w.OutputChunk(1, b"x", 5)
OTHER = "11111111-2222-4333-8444-555555555555"

few = st.integers(0, 3)
chunks = st.builds(w.OutputChunk, few, st.binary(max_size=3) | st.just(bytes(65 * 1024)), few)
happenings = st.one_of(
    chunks,
    chunks,
    st.builds(w.LifecycleChanged, st.sampled_from([Lifecycle.RUNNING, Lifecycle.QUEUED])),
    st.builds(w.StdinAck, few),
    st.just(w.CommandExit(Lifecycle.EXITED, 0)),
    st.none(),
)
told = st.one_of(
    st.tuples(
        st.sampled_from([1, 1, 1, 1, 1, 1, 0, 2]), happenings, st.sampled_from([UUID, OTHER])
    ),  # how far ahead, and what, of which command
    st.sampled_from([w.ReconcileSnapshot(), w.ClientCapacity(0, 0, 2, 2), w.CloseStdin(UUID, 1)]),
    st.sampled_from(["", "another"]),  # output in an envelope of another session
)


@given(st.lists(told, max_size=12))
def test_output_comes_to_the_same_by_the_short_way_as_by_the_long_one(
    script: list[tuple[int, w.Happening | None, str] | w.Payload | str],
) -> None:
    with talk_to_server() as short, talk_to_server() as long:
        for talk in (short, long):
            greeted_server(talk).perform(start_of(make_run())).take()
            talk.put(w.CommandAccepted(UUID, 1, True)).take()
            talk.perform(start_of(make_run(OTHER))).take()
            talk.put(w.CommandAccepted(OTHER, 1, True)).take()
        frames: list[bytes] = []
        seq = {UUID: 0, OTHER: 0}
        for each in script:
            event: w.Payload | tuple[int, w.Happening | None, str]
            session, event = (each, (1, OUTPUT, UUID)) if isinstance(each, str) else (SESSION, each)
            if isinstance(event, tuple):
                ahead, happening, uuid = event
                event = w.CommandEvent(uuid, 1, seq[uuid] + ahead, START, happening)
                seq[uuid] += ahead == 1
            frames.append(codec.encode(w.Envelope(session, 7, event)))
        by_short_way = outcome(short.connection, frames, short.now, bulk=True)
        assert by_short_way == outcome(long.connection, frames, long.now, bulk=False)
