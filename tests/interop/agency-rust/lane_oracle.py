"""Our codec and the genuine types accept the same documents, and write the same of each."""

import json
import math
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from documents import CAPABILITIES, CLIENT, EVENT, SERVER, Drawing
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Program

from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.codec import decode_client, decode_server
from fleetgate.protocols.agency.encode import encode_client, encode_server
from fleetgate.protocols.agency.testing import CLIENT_FRAMES, SERVER_FRAMES
from fleetgate.protocols.api import RemoteProtocolError

EXAMPLES, BLOCK = 300, 20
"""Seeds for each test that draws, and documents from each: most of an example's time is
Hypothesis's own."""

AROUND = '{"kind":"event","run_id":"r","sequence":1,"event":'


def genuine(oracle: Program, kind: str, text: str) -> str | None:
    """What the genuine types write of `text`; None where they do not read it."""
    oracle.say(kind + json.dumps(text))
    said = oracle.line()
    return said[1:] if said[0] == "+" else None


def ours(kind: str, text: str) -> str | None:
    """What our codec writes of `text`; None where it does not read it."""
    try:
        if kind == "c":
            asked = decode_client(b"\0" + text.encode(), 3)
            assert isinstance(asked, wire.ClientFrame)
            return encode_client(asked)[1:].decode()
        said = decode_server(b"\0" + text.encode())
    except RemoteProtocolError:
        return None
    assert isinstance(said, wire.Response | w.EventFrame)
    return None if is_later(said) else encode_server(said)[1:].decode()


def is_later(said: wire.Response | w.EventFrame) -> bool:
    """Whether a later version's name is in it. A genuine client ends on such a name, and ours
    reads on (docs/divergence/agency.md)."""
    match said:
        case w.EventFrame(event=event):
            return isinstance(event, w.UnknownEvent)
        case wire.Response(response=wire.HelloAnswer(capabilities=names)):
            return not set(CAPABILITIES).issuperset(names)
        case _:
            return isinstance(said.response, wire.SessionInterrupted)


NAMES = {"type", "kind", "mode", "decision", "code", "state"}
RECORDS = {"version", "request", "run", "event"}


def is_unsent(text: str) -> bool:
    """Whether it has one of the forms of section 2.5: serde takes them, nobody sends them, and
    ours refuses them (docs/divergence/agency.md)."""
    todo = [json.loads(text)]
    for each in todo:
        if isinstance(each, list):
            return True
        for key, member in each.items():
            if key in NAMES and isinstance(member, int | dict | list):
                return True
            if key in RECORDS or (key == "payload" and isinstance(member, list)):
                todo.append(member)
    return False


FLOAT = re.compile(r"-?\d+(?:\.\d+)?[eE][-+]?\d+|-?\d+\.\d+")


def are_near(one: str, two: str) -> bool:
    """Whether two floats are the same or neighbours: the genuine types misread the last bit of
    some (docs/divergence/agency.md), and write each in another way than Python does."""
    a, b = float(one), float(two)
    return math.copysign(1, a) == math.copysign(1, b) and abs(a - b) <= math.ulp(max(a, b, -a, -b))


def check(oracle: Program, kind: str, text: str) -> None:
    """Both read it and write the same bytes but for the digits of floats, or neither reads it."""
    theirs, our = genuine(oracle, kind, text), ours(kind, text)
    if our is None and theirs is not None and is_unsent(text):
        return
    if theirs is None or our is None:
        assert (theirs, our) == (None, None), text
    else:
        assert FLOAT.sub("F", our) == FLOAT.sub("F", theirs), text
        floats = zip(FLOAT.findall(our), FLOAT.findall(theirs), strict=True)
        assert all(are_near(*pair) for pair in floats), text


OF_0_3 = [frame for frame in SERVER_FRAMES if b'"session_interrupted"' not in frame]


@pytest.mark.parametrize(("kind", "frames"), [("c", CLIENT_FRAMES), ("s", OF_0_3)])
def test_each_frame(
    oracle: Program,
    record_property: Callable[[str, object], None],
    kind: str,
    frames: Sequence[bytes],
) -> None:
    """The frames of section 3 are read, and written byte for byte"""
    for frame in frames:
        text = frame[1:].decode()
        assert genuine(oracle, kind, text) == text
        assert ours(kind, text) == text
    record_property("count", len(frames))


def drawn(
    oracle: Program, record_property: Callable[[str, object], None], form: Any, bends: Any
) -> None:
    """Compare on so many drawn documents."""
    count = 0

    @settings(max_examples=EXAMPLES)
    @given(st.integers(0, 2**64 - 1), bends)
    def compare(seed: int, bends: int) -> None:
        nonlocal count
        drawing = Drawing(Random(seed))
        for _ in range(BLOCK):
            text = drawing.frame(form, bends)
            if form is EVENT:
                text = AROUND + text + "}"
            check(oracle, "c" if form is CLIENT else "s", text)
            count += 1

    compare()
    record_property("count", count)


@pytest.mark.parametrize("form", [CLIENT, SERVER, EVENT], ids=["client", "server", "event"])
def test_valid(oracle: Program, record_property: Callable[[str, object], None], form: Any) -> None:
    """Valid frames: both read each, and write the same of it"""
    drawn(oracle, record_property, form, st.just(0))


@pytest.mark.parametrize("form", [CLIENT, SERVER, EVENT], ids=["client", "server", "event"])
def test_nearly_valid(
    oracle: Program, record_property: Callable[[str, object], None], form: Any
) -> None:
    """Nearly valid frames: both read it and write the same, or both refuse it"""
    drawn(oracle, record_property, form, st.integers(1, 3))
