"""What the updates of a call have in common, and what is read of them then."""

import json
from typing import Any

import pytest
from hypothesis import given as given_that
from hypothesis import strategies as st

from fleetgate.protocols.kodelet.codec import decode
from fleetgate.protocols.kodelet.stencil import _MOST, FOLDS, LONGEST, Stencil, stencil_of
from fleetgate.protocols.kodelet.translate_events import read_update, text_of
from fleetgate.protocols.kodelet.wire import Notification, ToolUpdate

UPDATE = (
    '{"jsonrpc":"2.0","method":"tool.update","params":{"runId":"r1","requestId":"server:7",'
    '"toolCallId":"call_1","sequence":1,"result":{"assistantFacing":"\\u003cresult\\u003e\\na\\n'
    '\\u003c/result\\u003e\\n","structured":{"toolName":"bash","success":true,"metadataType":"bash"'
    ',"metadata":{"command":"ls","exitCode":0,"output":"a","executionTime":3000000,"workingDir":'
    '"/srv"},"timestamp":"2026-08-12T09:00:01Z"}}}}'
)


def read_whole(frame: bytes) -> ToolUpdate:
    """As a control plane reads it."""
    message = decode(frame)
    assert isinstance(message, Notification)
    return read_update(message.params)


def made(text: str) -> Stencil | None:
    frame = text.encode()
    return stencil_of(frame, read_whole(frame))


def of(text: str) -> Stencil:
    stencil = made(text)
    assert stencil is not None
    assert stencil.read(text.encode()) is not None, "it fits what it was made of"
    return stencil


@pytest.mark.parametrize(
    ("old", "new", "read"),
    [
        ('"sequence":1', '"sequence":12', (12, "a")),
        ('"output":"a"', '"output":"a\\"b\\n\\u00e4\\ud83d\\ude00"', (1, 'a"b\nä\U0001f600')),
        ('"output":"a"', '"output":""', (1, "")),
        ("\\na\\n", "\\nanything\\n", (1, "a")),
        ("3000000", "0", (1, "a")),
        ("09:00:01Z", "10:59:59.123456789+02:00", (1, "a")),
        ("09:00:01Z", "9:00:01,5Z", (1, "a")),
    ],
)
def test_what_may_change_is_read(old: str, new: str, read: tuple[int, str]) -> None:
    assert UPDATE.count(old) == 1
    frame = UPDATE.replace(old, new).encode()
    assert of(UPDATE).read(frame) == read
    update = read_whole(frame)
    assert (update.sequence, text_of(update.result)) == read


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bash", "other"),
        ('"sequence":1', '"sequence":01'),
        ('"sequence":1', '"sequence":-1'),
        ('"sequence":1', '"sequence":1.0'),
        ('"sequence":1', '"sequence":"1"'),
        ('"sequence":1', '"sequence":' + "1" * 19),
        ('"sequence":1', '"sequence":'),
        ('"output":"a"', '"output":'),
        ("3000000", ""),
        ('"2026-08-12T09:00:01Z"', ""),
        ('"output":"a"', '"output":"\\ud800"'),
        ('"output":"a"', '"output":"\\x"'),
        ('"output":"a"', '"output":"\t"'),
        ('"output":"a"', '"output":null'),
        ('"output":"a"', '"output":["a"]'),
        ('"output":"a"', '"output":"a","Output":"b"'),
        ('"output":"a"', '"output":"a","output":"b"'),
        ("server:7", "server:8"),
        ("09:00:01Z", "25:00:01Z"),
        ("2026-08-12", "2026-02-30"),
        ("Z", 'Z","x":"'),
        ("}}}}", "}}}},"),
        ("}}}}", "}}}} "),
        ("}}}}", "}}}"),
    ],
)
def test_what_is_otherwise_is_left_to_be_read_whole(old: str, new: str) -> None:
    assert old in UPDATE
    frame = UPDATE.replace(old, new).encode()
    unread = made(UPDATE)
    assert unread is not None
    assert unread.read(frame) is None
    assert of(UPDATE).read(frame) is None
    assert of(UPDATE).read(UPDATE.replace(old, new).encode() + b"}}}}") is None


def test_bytes_that_are_no_text_are_left_to_be_read_whole() -> None:
    assert of(UPDATE).read(UPDATE.encode().replace(b'"output":"a"', b'"output":"\xff"')) is None


def test_a_time_that_was_found_good_is_no_text_that_was_read() -> None:
    stencil = of(UPDATE)
    stamp = '"2026-08-12T09:00:01Z"'
    shown = UPDATE.replace('"output":"a"', f'"output":{stamp}').encode()
    assert stencil.read(shown) == (1, json.loads(stamp))


def test_the_text_is_the_one_that_counts() -> None:
    plain = UPDATE.replace('"metadataType":"bash"', '"metadataType":"x"')
    assert of(plain).read(plain.replace("\\na\\n", "\\nb\\n").encode()) == (1, "b")
    nothing = plain.replace("\\na\\n", "\\n(No output)\\n").encode()
    assert of(plain).read(nothing) == (1, "")
    shown = plain.replace('"structured"', '"displayOutput":"d","structured"')
    stencil = of(shown)
    assert stencil.read(shown.replace('"d"', '"e"').encode()) == (1, "e")
    assert stencil.read(shown.replace('"d"', '""').encode()) is None, "then it is the other one"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"output":"a"', '"Output":"b","output":"a"'),
        ('"output":"a"', '"output":"b","output":"a"'),
        ('"metadata"', '"Metadata"'),
        ('"structured"', '"DisplayOutput":"d","structured"'),
        ('"sequence"', '"\u017fequence"'),
        ('"sequence":1', '"sequence":' + "1" * 19),
        ('"sequence":1,', ""),
        ('"jsonrpc"', '"METHOD":"x","jsonrpc"'),
        ('"jsonrpc"', '"own":' + "1" * 5000 + ',"jsonrpc"'),
    ],
)
def test_where_it_is_not_plain_what_a_member_is_there_is_no_stencil(old: str, new: str) -> None:
    assert made(UPDATE.replace(old, new)) is None


def test_bytes_that_go_reads_as_another_character_are_none_for_a_stencil() -> None:
    frame = UPDATE.encode().replace(b"/srv", b"/\xff")
    assert stencil_of(frame, read_whole(frame)) is None


@pytest.mark.limit("protocols/kodelet/stencil.LONGEST")
def test_of_an_update_that_says_much_beside_its_output_there_is_none() -> None:
    fixed = sum(len(each) for _, _, each in of(UPDATE).parts) + len(of(UPDATE).head)
    longest = UPDATE.replace("/srv", "/srv" + "." * (LONGEST - fixed))
    assert made(longest) is not None
    assert made(longest.replace("/srv", "/srv.")) is None
    assert made(UPDATE.replace('"a"', f'"{"a" * LONGEST}"')) is not None, "its output counts not"


@pytest.mark.limit("protocols/kodelet/stencil._MOST")
def test_of_an_update_with_an_object_of_many_members_there_is_none() -> None:
    has = len(json.loads(UPDATE)["params"]["result"]["structured"]["metadata"])
    for more, there in ((_MOST - has, True), (_MOST - has + 1, False)):
        members = "".join(f'"x{n}":1,' for n in range(more))
        many = UPDATE.replace('"command"', f'{members}"command"')
        assert (made(many) is not None) is there


def saying(text: str, facing: str | None = None) -> bytes:
    """An update that shows `text`, and a model the same or another one."""
    shown = UPDATE.replace('"output":"a"', f'"output":"{text}"')
    return shown.replace("\\na\\n", f"\\n{text if facing is None else facing}\\n").encode()


def test_once_its_texts_have_said_the_same_it_reckons_where_they_are() -> None:
    stencil = of(UPDATE)
    assert stencil.fold is not None
    assert stencil.read(saying("b")) == (1, "b")
    assert stencil.read(saying("b", "c")) == (1, "b"), "and looks where they do not"
    silent = made(UPDATE.replace('"output":"a"', '"output":""'))
    assert silent is not None
    assert silent.read(saying("", "(No output)")) == (1, "")
    assert (silent.fold, silent.folds) == (None, 0), "nothing can be seen of that"
    assert silent.read(saying("b")) == (1, "b")
    assert silent.fold is not None
    assert silent.read(saying("", "")) == (1, "")


@pytest.mark.limit("protocols/kodelet/stencil.FOLDS")
def test_one_whose_texts_never_say_the_same_is_read_without_reckoning() -> None:
    for others, folds in ((FOLDS - 2, True), (FOLDS - 1, False)):
        stencil = of(UPDATE)  # which has made one
        for nth in range(others):
            assert stencil.read(saying(f"b{nth}", "c")) == (1, f"b{nth}")
            assert stencil.fold is None
        assert stencil.read(saying("d")) == (1, "d")
        assert (stencil.fold is not None) is folds
        assert stencil.read(saying("ef")) == (1, "ef")
        assert stencil.folds == (0 if folds else FOLDS)


def test_a_time_of_any_length_is_read_and_only_a_short_one_is_kept() -> None:
    stencil = of(UPDATE)
    for digits in (3, LONGEST):
        text = UPDATE.replace("09:00:01Z", f"09:00:01.{'5' * digits}Z")
        assert stencil.read(text.encode()) == (1, "a")
        assert len(stencil.stamp or b"") < LONGEST


texts = st.text(st.sampled_from('a"\\\n\u00e4\U0001f600{}[],:')) | st.text(max_size=9)
edits = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.sampled_from('"\\{}[],:019-.eE aZT\n\u00e4')),
    max_size=2,
)


@given_that(texts, texts, st.integers(1, 2**64 - 1), st.booleans(), edits)
def test_what_is_read_is_what_is_read_whole(
    output: str, facing: str, sequence: int, spaced: bool, changed: list[tuple[float, str]]
) -> None:
    message: Any = json.loads(UPDATE)
    stencil = of(json.dumps(message) if spaced else UPDATE)
    result = message["params"]["result"]
    message["params"]["sequence"] = sequence
    result["assistantFacing"], result["structured"]["metadata"]["output"] = facing, output
    text = json.dumps(message, ensure_ascii=False, separators=None if spaced else (",", ":"))
    for at, by in changed:
        where = int(at * len(text))
        text = text[:where] + by + text[where + 1 :]
    read = stencil.read(text.encode())
    if read is not None:
        update = read_whole(text.encode())
        assert (update.sequence, text_of(update.result)) == read
        assert update.run_id == "r1"
        assert update.request_id == "server:7"
        assert update.tool_call_id == "call_1"
    elif not changed:
        assert sequence >= 10**18


@pytest.mark.limit("protocols/kodelet/holes.DIGITS")
def test_a_number_that_may_be_beyond_64_bits_is_left_to_be_read_whole() -> None:
    numbered = (UPDATE.replace('"sequence":1', f'"sequence":{"9" * n}') for n in (18, 19))
    longest, longer = (of(UPDATE).read(each.encode()) for each in numbered)
    assert longest == (10**18 - 1, "a")
    assert longer is None
