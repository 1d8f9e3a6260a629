"""The strategies and frames that tests of iop draw on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.testing import (
    EDGE_KINDS,
    NODE_KINDS,
    frames_for_edge,
    frames_for_node,
    payloads,
)


@pytest.mark.parametrize("kind", sorted({*NODE_KINDS, *EDGE_KINDS}, key=lambda k: k.__name__))
@settings(max_examples=3)
@given(data=st.data())
def test_every_kind_is_drawn(kind: Any, data: st.DataObject) -> None:
    assert isinstance(data.draw(payloads(kind)), kind)


def test_the_frames_hold_every_kind_that_an_end_may_hear() -> None:
    assert {type(codec.decode_node(frame)) for frame in frames_for_edge()} == set(NODE_KINDS)
    assert {type(codec.decode_edge(frame)) for frame in frames_for_node()} == set(EDGE_KINDS)
    assert w.Unknown in EDGE_KINDS
