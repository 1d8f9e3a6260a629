from hypothesis import given

from fleetgate.protocols.api import Opening, Report, Send, Wake, WorkerReady
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.hello import check_hello
from fleetgate.protocols.rvbox.limits import check_spec
from fleetgate.protocols.rvbox.state import Phase
from fleetgate.protocols.rvbox.testing import (
    SESSION,
    UUID,
    admit,
    clear,
    envelopes,
    greeted_client,
    greeted_server,
    make_dispatch,
    make_hello,
    open_link,
    talk_to_client,
    talk_to_server,
)


def test_what_is_made_here_is_good() -> None:
    assert check_hello(make_hello(), Opening(link="hosts")) == w.ProtocolVersion(1, 0)
    assert check_spec(make_dispatch().spec) is None


@given(envelopes())
def test_every_message_can_be_put_into_a_frame(envelope: w.Envelope) -> None:
    assert codec.encode(envelope) is not None


def test_steps_are_told_in_the_clear() -> None:
    send = Send(codec.encode(w.Envelope(SESSION, 7, w.EventAck(UUID, 1))))
    assert clear([Wake(1), send, Report("what"), WorkerReady(1)]) == [
        w.EventAck(UUID, 1),
        WorkerReady(1),
    ]


def test_conversations_come_to_an_open_session() -> None:
    with talk_to_server() as talk:
        welcome, request = admit(open_link(talk))
        assert isinstance(welcome, w.ServerWelcome)
        assert isinstance(request, w.ReconcileRequest)
    with talk_to_server() as talk:
        greeted_server(talk)
        assert talk.connection._desk.session.phase is Phase.OPEN  # type: ignore[attr-defined]
    with talk_to_client() as talk:
        greeted_client(talk)
        assert talk.connection._daemon.session.phase is Phase.OPEN  # type: ignore[attr-defined]
