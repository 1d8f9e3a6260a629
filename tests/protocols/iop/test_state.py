"""Which message may come when."""

from __future__ import annotations

from typing import get_args

from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.state import EDGE_MAY, NODE_MAY, Phase


def test_a_node_begins_with_register_and_never_says_it_again() -> None:
    assert NODE_MAY[Phase.NEW] == {w.RegisterRequest}
    assert NODE_MAY[Phase.LIVE] == set(get_args(w.NodePayload)) - {w.RegisterRequest}


def test_an_edge_answers_or_says_why_not_before_it_says_anything_else() -> None:
    assert EDGE_MAY[Phase.NEW] == {w.RegisterResponse, w.Error, w.Heartbeat}
    assert EDGE_MAY[Phase.LIVE] == set(get_args(w.EdgePayload)) - {w.RegisterResponse}


def test_nothing_may_follow_the_end() -> None:
    assert NODE_MAY[Phase.OVER] == EDGE_MAY[Phase.OVER] == frozenset()
    assert not NODE_MAY[Phase.ADMITTING]
