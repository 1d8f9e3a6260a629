"""Which connections answer bytes that are no frame."""

from fleetgate.protocols import iop
from fleetgate.protocols.api import Connection
from fleetgate.protocols.unframed import AnswersUnframed


def test_an_edge_does_and_whoever_says_nothing_of_it_does_not() -> None:
    southbound = iop.ADAPTER.southbound
    assert southbound is not None
    assert isinstance(southbound.open(southbound.settings()), AnswersUnframed)
    assert not isinstance(Connection(), AnswersUnframed)
