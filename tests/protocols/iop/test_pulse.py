"""Signs of life."""

from __future__ import annotations

from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.iop.pulse import BEAT, DEAD, Pulse


def test_a_beat_comes_after_silence_and_death_after_more() -> None:
    deadlines = Deadlines()
    pulse = Pulse(deadlines, 15, 45)
    pulse.begin(100)
    assert deadlines.due(114) == []
    pulse.say(110)
    assert deadlines.due(115) == [BEAT]
    assert not pulse.beats(115)
    assert deadlines.due(125) == [BEAT]
    assert pulse.beats(125)
    pulse.hear(120)
    assert deadlines.due(145) == [BEAT, DEAD]
    assert not pulse.dead(145)
    assert deadlines.due(165) == [DEAD]
    assert pulse.dead(165)
