"""Our codec and the genuine types accept the same frames, and write the same of them."""

import json
from collections.abc import Sequence

import pytest
from programs import Program

from fleetgate.protocols.agency.testing import CLIENT_FRAMES, SERVER_FRAMES

OF_0_3 = [frame for frame in SERVER_FRAMES if b'"session_interrupted"' not in frame]


@pytest.mark.parametrize(("kind", "frames"), [("c", CLIENT_FRAMES), ("s", OF_0_3)])
def test_each_frame(oracle: Program, kind: str, frames: Sequence[bytes]) -> None:
    """One of each frame, byte for byte"""
    for frame in frames:
        text = frame[1:].decode()
        oracle.say(kind + json.dumps(text))
        assert oracle.line() == "+" + text
