"""A client on a WebSocket is spoken to in MCP, any other in frames."""

import attrs

from fleetgate.protocols.agency.door import Door
from fleetgate.protocols.agency.settings import AgencyNorthboundSettings
from fleetgate.protocols.api import Close, Opening, Pause, Send, Submit
from fleetgate.protocols.testing import Playbook

SETTINGS = AgencyNorthboundSettings()
HELLO = b'\0{"requestId":1,"type":"hello","client_name":"t","version":{"major":0,"minor":3}}'


def test_a_client_on_a_stream_says_hello() -> None:
    with Playbook(Door(SETTINGS)) as play:
        play.opened(Opening(link="gui")).take()
        play.receive(HELLO)
        (answer,) = play.take()
        assert isinstance(answer, Send)
        assert b'"type":"hello"' in answer.frame
        play.receive(b'\0{"requestId":2,"type":"list_runs"}')
        assert [type(step) for step in play.take()] == [Pause, Submit]
        play.drain().expect()
        play.closed()


def test_a_client_on_a_stream_that_says_nothing_is_left() -> None:
    with Playbook(Door(SETTINGS)) as play:
        play.opened(Opening(link="gui")).take()
        play.tick()
        assert isinstance(play.take()[0], Close)


def test_a_client_on_a_websocket_shows_a_key() -> None:
    with Playbook(Door(SETTINGS)) as play:
        play.opened(attrs.evolve(Opening(link="gui"), headers={"host": "x"}))
        play.expect(Close(None, "no key among the subprotocols"))
