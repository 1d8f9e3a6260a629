import pytest

from fleetgate.protocols.api import Close, RemoteProtocolError, Send, Wake
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.session import Session, about, closing, until_close
from fleetgate.protocols.rvbox.state import Peer, Phase
from fleetgate.protocols.rvbox.testing import SESSION, UUID
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code


def server() -> Session:
    session = Session(Peer.SERVER)
    session.take(codec.encode(w.Envelope("", 0, w.ClientHello())))
    session.open(SESSION, 7)
    session.send(w.ServerWelcome())
    session.send(w.ReconcileRequest())
    return session


def refusal(session: Session, envelope: w.Envelope | bytes) -> tuple[w.Envelope, Close]:
    frame = envelope if isinstance(envelope, bytes) else codec.encode(envelope)
    before = session.phase
    with pytest.raises(RemoteProtocolError) as caught:
        session.take(frame)
    assert session.phase is before
    error, close = caught.value.steps
    assert isinstance(error, Send)
    assert isinstance(close, Close)
    return codec.decode(error.frame), close


def code_of(envelope: w.Envelope) -> int:
    assert isinstance(envelope.payload, w.AgentError)
    assert envelope.payload.close_session
    return envelope.payload.error.code


@pytest.mark.parametrize(("id", "generation"), [("", 0), (SESSION, 6), ("0" * 32, 7), (SESSION, 0)])
def test_an_envelope_of_another_session_is_stale_and_closes_with_4001(
    id: str, generation: int
) -> None:
    error, close = refusal(server(), w.Envelope(id, generation, w.ReconcileSnapshot()))
    assert code_of(error) == Code.STALE_SESSION
    assert (error.session_id, error.session_generation) == (SESSION, 7)
    assert close.code == 4001


def test_an_undecodable_envelope_is_a_violation_and_closes_with_1002() -> None:
    error, close = refusal(server(), b"\xff")
    assert code_of(error) == Code.PROTOCOL_VIOLATION
    assert close.code == 1002


def test_a_second_hello_is_looked_at_before_the_fence() -> None:
    for id, generation in (("", 0), (SESSION, 7)):
        error, close = refusal(server(), w.Envelope(id, generation, w.ClientHello()))
        assert code_of(error) == Code.PROTOCOL_VIOLATION
        assert close.code == 1002


def test_an_unknown_payload_is_a_violation_unless_the_peer_speaks_a_higher_version() -> None:
    unknown = w.Envelope(SESSION, 7, w.Unknown())
    assert code_of(refusal(server(), unknown)[0]) == Code.PROTOCOL_VIOLATION
    session = server()
    session.lenient = True
    assert session.take(codec.encode(unknown)) == w.Unknown()


def test_before_the_welcome_errors_carry_no_session() -> None:
    error, _ = refusal(Session(Peer.SERVER), w.Envelope("", 0, w.ClientCapacity()))
    assert (error.session_id, error.session_generation) == ("", 0)


@pytest.mark.parametrize(("id", "generation"), [("x", 0), ("", 1)])
def test_a_hello_with_a_session_is_a_violation(id: str, generation: int) -> None:
    error, close = refusal(Session(Peer.SERVER), w.Envelope(id, generation, w.ClientHello()))
    assert code_of(error) == Code.PROTOCOL_VIOLATION
    assert close.code == 1002


def test_a_client_takes_the_session_of_the_welcome() -> None:
    session = Session(Peer.CLIENT)
    session.send(w.ClientHello())
    session.take(codec.encode(w.Envelope(SESSION, 7, w.ServerWelcome())))
    assert (session.id, session.generation, session.phase) == (SESSION, 7, Phase.REQUEST)


@pytest.mark.parametrize(("id", "generation"), [("", 7), (SESSION, 0)])
def test_a_welcome_without_a_session_is_a_violation(id: str, generation: int) -> None:
    session = Session(Peer.CLIENT)
    session.send(w.ClientHello())
    error, _ = refusal(session, w.Envelope(id, generation, w.ServerWelcome()))
    assert code_of(error) == Code.PROTOCOL_VIOLATION


@pytest.mark.limit("protocols/rvbox/session._QUOTED")
def test_an_error_about_a_command_begins_with_its_uuid() -> None:
    error = about(UUID, Code.CONFLICT, "no").error
    assert error == w.ControlError(Code.CONFLICT, f"{UUID}: no")
    assert len(about("x" * 10_000, Code.CONFLICT, "no").error.message) < 200


@pytest.mark.limit("protocols/rvbox/session._REASON")
def test_a_close_reason_fits_a_close_frame() -> None:
    assert closing(1002, "ä" * 500).reason == "?" * 123


def test_nothing_comes_behind_a_close() -> None:
    close = Close(1000, "over")
    assert until_close([Wake(1), close, Wake(2)]) == [Wake(1), close]
    assert until_close([Wake(1)]) == [Wake(1)]
