"""Updates whose texts all say the same, read by reckoning where those are."""

import json
from typing import Any

import pytest
from hypothesis import given as given_that
from hypothesis import strategies as st

from fleetgate.protocols.json_text import load_text
from fleetgate.protocols.kodelet.codec import decode
from fleetgate.protocols.kodelet.fold import Fold, folded
from fleetgate.protocols.kodelet.holes import ASIDE, COUNT, DISPLAY, OUTPUT, SEQUENCE, STAMP
from fleetgate.protocols.kodelet.stencil import Stencil, stencil_of
from fleetgate.protocols.kodelet.translate_events import read_update, text_of, unwrapped
from fleetgate.protocols.kodelet.wire import Notification, ToolUpdate

STAMPED = "2026-08-12T09:00:01Z"
SHAPES = ("bash", "display", "facing")


def written(shape: str, sequence: int, text: str, facing: str | None = None, **other: Any) -> bytes:
    """An update as Go writes it, of which all texts say `text`, or the model another."""
    about = {"command": "ls", "output": text, "executionTime": other.get("took", 3)}
    structured: dict[str, Any] = {"toolName": "x", "success": True}
    if shape == "bash":
        structured |= {"metadataType": "bash", "metadata": about}
    told = text if facing is None else facing
    result: dict[str, Any] = {"assistantFacing": f"<result>\n{told}\n</result>\n"}
    if shape == "display":
        result["displayOutput"] = text
    result["structured"] = {**structured, "timestamp": other.get("stamp", STAMPED)}
    params: dict[str, Any] = {"runId": "r1", "requestId": "server:7", "toolCallId": "call_1"}
    params |= {"sequence": sequence, "result": result}
    message = {"jsonrpc": "2.0", "method": "tool.update", "params": params}
    made = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return made.replace("<", "\\u003c").replace(">", "\\u003e").encode()


def read_whole(frame: bytes) -> ToolUpdate:
    """As a control plane reads it."""
    message = decode(frame)
    assert isinstance(message, Notification)
    return read_update(message.params)


def of(shape: str, text: str = "a line\n") -> tuple[Stencil, Fold]:
    """A stencil that has read one update, and what it reads the next one with."""
    first = written(shape, 1, text)
    stencil = stencil_of(first, read_whole(first))
    assert stencil is not None
    assert stencil.read(first) == (1, text)
    assert stencil.fold is not None
    return stencil, stencil.fold


def by_fold(stencil: Stencil, fold: Fold, frame: bytes) -> tuple[int, str] | None:
    """Without what is put around a text for a model, as its stencil hands it on."""
    read = fold.read(frame, stencil.stamp, stencil._stamped)
    return (read[0], unwrapped(read[1])) if read is not None and stencil.faces else read


texts = st.text(st.sampled_from('a"\\\n\u00e4\u2028\U0001f600{}[],:<0')) | st.text(max_size=9)
stamps = st.sampled_from([STAMPED, "2026-08-12T09:00:01.123456789+02:00", "2026-08-12T9:00:01,5Z"])


@pytest.mark.parametrize("shape", SHAPES)
@given_that(texts, st.integers(1, 10**18 - 1), st.integers(0, 10**12), stamps)
def test_whatever_they_say_it_is_read(
    shape: str, text: str, sequence: int, took: int, stamp: str
) -> None:
    frame = written(shape, sequence, text, took=took, stamp=stamp)
    assert by_fold(*of(shape), frame) == (sequence, text)


edits = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True), st.integers(0, 2), st.sampled_from(b'"\\{}09:u d')
    ),
    max_size=3,
)


@pytest.mark.parametrize("shape", SHAPES)
@given_that(texts, texts | st.none(), st.integers(1, 2**64 - 1), stamps | texts, edits)
def test_what_is_read_is_what_is_read_whole(
    shape: str,
    text: str,
    facing: str | None,
    sequence: int,
    stamp: str,
    changed: list[tuple[float, int, int]],
) -> None:
    frame = written(shape, sequence, text, facing, stamp=stamp)
    for place, out, by in changed:
        at = int(place * len(frame))
        frame = frame[:at] + bytes([by]) + frame[at + out :]
    stencil, fold = of(shape)
    read = by_fold(stencil, fold, frame)
    if read is not None:
        update = read_whole(frame)
        assert (update.run_id, update.request_id) == ("r1", "server:7")
        if read[1]:  # or else another text may be the one that counts
            assert (update.sequence, text_of(update.result)) == read
            assert stencil.read(frame) == read


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"sequence":2', b'"sequence":02'),
        (b'"sequence":2', b'"sequence":-2'),
        (b'"sequence":2', b'"sequence":'),
        (b'"executionTime":3', b'"executionTime":3.0'),
        (b'"executionTime":3', b'"executionTime":'),
        (b'"executionTime":3', b'"executionTime":3,"output":"x"'),
        (b"09:00:01Z", b"25:00:01Z"),
        (b'Z"', b'Z" '),
        (b"server:7", b"server:8"),
        (b'"command"', b'"comment"'),
        (b"}}}}", b"}}} "),
        (b"}}}}", b"}}}}}"),
        (b'":"b"', b'":"c"'),
        (b'":"b"', b'":"\\u0062"'),
        (b'":"b"', b'":""'),
        (b'":"b"', b'":"b","output":"b"'),
    ],
)
def test_what_is_otherwise_is_none(old: bytes, new: bytes) -> None:
    frame = written("bash", 2, "b")
    assert frame.count(old) == 1
    stencil, fold = of("bash")
    assert by_fold(stencil, fold, frame) == (2, "b")
    assert by_fold(stencil, fold, frame.replace(old, new)) is None
    for cut in range(len(frame)):
        assert by_fold(stencil, fold, frame[:cut]) is None
        assert by_fold(stencil, fold, frame[cut + 1 :]) is None


@pytest.mark.parametrize("spelt", [b"\\ud800", b"\\x", b"\t", b"\xff", b"\\", b'"'])
def test_what_is_no_text_twice_is_none(spelt: bytes) -> None:
    frame = written("bash", 2, "b").replace(b'":"b"', b'":"%b"' % spelt)
    assert by_fold(*of("bash"), frame.replace(b"nb\\", b"n%b\\" % spelt)) is None


# --- making one


def made(facing: bytes, output: bytes) -> Fold | None:
    pieces, holes = (b"{", b",", b",", b"}"), (SEQUENCE, ASIDE, OUTPUT)
    return folded(pieces, holes, (b"1", facing, output))


def test_one_reads_what_it_was_made_of_and_more() -> None:
    fold = made(b'"<a>"', b'"a"')
    assert fold is not None
    assert fold.read(b'{7,"<b\\"c>","b\\"c"}', None, bool) == (7, 'b"c')
    assert fold.read(b'{7,"<b\\"c>","b\\"d"}', None, bool) is None
    assert fold.read(b'{7,"<b>","bc"}', None, bool) is None, "and more than the other"
    assert fold.read(b'{7,"<>",""}', None, bool) == (7, "")
    assert fold.read(b'{7,"<",""}', None, bool) is None


@pytest.mark.parametrize(
    ("facing", "output"),
    [
        (b'"<b>"', b'"a"'),
        (b'"<a>a"', b'"a"'),
        (b'"<>"', b'""'),
        (b'"\\n"', b'"n"'),
        (b'"\\ud83d\\ude00"', b'"\\ude00"'),
        (b'"\\ud83d\\ude00"', b'"\\ud83d"'),
        (b'"\xc3\xa4"', b'"\xa4"'),
    ],
)
def test_where_it_is_not_plain_where_they_say_the_same_there_is_none(
    facing: bytes, output: bytes
) -> None:
    assert load_text(facing) is not None
    assert made(facing, output) is None


@pytest.mark.parametrize(
    "holes",
    [(SEQUENCE, ASIDE, COUNT, DISPLAY), (COUNT, ASIDE, DISPLAY), (ASIDE, DISPLAY, SEQUENCE)],
)
def test_where_what_else_may_differ_stands_elsewhere_there_is_none(holes: tuple[int, ...]) -> None:
    pieces = (b"[", *([b","] * (len(holes) - 1)), b"]")
    values = [b'"a"' if hole >= ASIDE else b"1" for hole in holes]
    assert folded(pieces, holes, values) is None


def test_any_number_of_texts_may_say_the_same() -> None:
    pieces = (b"[", b",", b",", b",", b",", b",", b"]")
    holes = (SEQUENCE, ASIDE, DISPLAY, ASIDE, STAMP, COUNT)
    fold = folded(pieces, holes, (b"1", b'"<a>"', b'"a"', b'"a."', b'"t"', b"0"))
    assert fold is not None
    assert fold.read(b'[25,"<bc>","bc","bc.","t",4]', b'"t"', bool) == (25, "bc")
    assert fold.read(b'[25,"<bc>","bc","bd.","t",4]', b'"t"', bool) is None
    single = folded((b"[", b",", b"]"), (SEQUENCE, DISPLAY), (b"1", b'"a"'))
    assert single is not None
    assert single.read(b'[2,"bc"]', None, bool) == (2, "bc")
