"""Questions of a peer. The conversations are in test_northbound and test_control."""

from __future__ import annotations

from fleetgate.core.answers import Accepted
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.inquiries import Inquiries, to_command, to_response
from fleetgate.protocols.iop.settings import NorthSettings

REQUEST = w.NodeCommandRequest("q", 1, metadata={"gateway.node": "n7"})


def test_only_an_edge_places_a_question() -> None:
    assert to_command(REQUEST, "edge", 5).labels == {}
    assert to_command(REQUEST, "edge", 5, placed=True).labels == {"gateway.node": "n7"}


def test_an_answer_of_another_kind_is_none() -> None:
    assert to_response(REQUEST, Accepted()).error == "usage is not supported here"


def test_a_late_deadline_is_nobodys() -> None:
    assert Inquiries(NorthSettings(), Deadlines()).overdue("inquiry q") == ()
