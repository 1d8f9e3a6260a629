"""Updates on their way out."""

import attrs
import pytest
from hypothesis import given as given_that
from hypothesis import strategies as st

from fleetgate.core import events as e
from fleetgate.core.times import nanos
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.codec import decode, encode
from fleetgate.protocols.kodelet.showing import PACE, Showing, frame_of
from fleetgate.protocols.kodelet.transcript import DISPLAY_LIMIT, Transcript, Work, snapshot
from fleetgate.protocols.testing import START

SAID = wire.ToolUpdate("r1", "call_1", "server:7", 3)
WORK = Work("bash", {"command": "ls"}, "/srv", START)
MARK = "\U0010fffe"

texts = st.text(max_size=20) | st.text(st.sampled_from(f'<>&\u2028\u2029"\\\n\0\x7f\ud800é{MARK}'))


@given_that(texts, texts, st.sampled_from(["bash", "echo"]))
def test_a_frame_is_what_it_would_be_if_it_were_written_whole(
    text: str, command: str, tool: str
) -> None:
    work = attrs.evolve(WORK, name=tool, input={"command": command})
    update = attrs.evolve(SAID, result=snapshot(work, text, START))
    assert frame_of(SAID, work, text, START) == encode(wire.Notification("tool.update", update))


def next_of(showing: Showing, text: str) -> str:
    """What the next update shows."""
    transcript = Transcript(1 << 20)
    transcript.tell(e.TextProduced(text))
    message = decode(showing.next(SAID, WORK, transcript, START, 0.05))
    assert isinstance(message, wire.Notification)
    shown: str = message.params["result"]["structured"]["metadata"]["output"]
    return shown


def test_an_update_shows_as_much_as_a_display_and_then_there_is_none() -> None:
    showing = Showing()
    assert next_of(showing, "é" * (DISPLAY_LIMIT // 2)) == "é" * (DISPLAY_LIMIT // 2)
    assert not showing.over
    assert next_of(showing, "é" * (DISPLAY_LIMIT // 2) + "a") == "é" * (DISPLAY_LIMIT // 2)
    assert showing.over


@pytest.mark.limit("protocols/kodelet/showing.PACE")
def test_behind_a_long_update_the_next_one_comes_later() -> None:
    showing = Showing()
    next_of(showing, "a" * (PACE // 3))
    assert showing.due == START + nanos(0.05)
    next_of(showing, "a" * PACE)
    assert START + nanos(0.1) < showing.due < START + nanos(0.102)
