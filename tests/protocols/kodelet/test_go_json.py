"""JSON as Go has it: what is taken, what is written."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import go_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_written_is_read_again(value: object) -> None:
    assert go_json.load(go_json.dump(value).encode()) == value


@given(st.text(st.sampled_from('<>&\u2028\u2029"\\\n\t\b\0\x1f\x7f\ud800é') | st.characters()))
def test_a_long_text_is_written_as_a_short_one(text: str) -> None:
    assert go_json.quoted(text) == go_json.quote(text).encode()


@given(VALUES)
def test_canonical_text_is_json_of_the_same_value(value: object) -> None:
    assert json.loads(go_json.canonical(value), parse_int=float) == json.loads(
        json.dumps(value), parse_int=float
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_the_same_float_again(value: float) -> None:
    text = go_json.number(value)
    assert float(text) == value
    assert math.copysign(1, float(text)) == math.copysign(1, value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "-0"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-9, "1.5e-9"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-1.25e300, "-1.25e+300"),
        (123456789.5, "123456789.5"),
        (0.1, "0.1"),
    ],
)
def test_numbers_as_go_writes_them(value: float, text: str) -> None:
    assert go_json.number(value) == text


def test_strings_as_go_writes_them() -> None:
    text = 'a<b>&c \u2028\u2029 \x7f\x01\b\f"\\é'
    assert go_json.quote(text) == (
        '"a\\u003cb\\u003e\\u0026c \\u2028\\u2029 \x7f\\u0001\\b\\f\\"\\\\é"'
    )
    assert go_json.quote("\ud800") == '"\ufffd"'


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'"\\ud800"', "\ufffd"),
        (b'{"\\ud800": ["\\udfff"]}', {"\ufffd": ["\ufffd"]}),
        (b'"\\ud83d\\ude00"', "😀"),
        (b'"\xff\xe2\x82"', "\ufffd\ufffd\ufffd"),
        (b'{"a":1,"b":2,"a":3}', {"b": 2, "a": 3}),
        (b" \r\n\t1 ", 1),
        (b"18446744073709551616", 2.0**64),
    ],
)
def test_what_go_reads_leniently(data: bytes, value: object) -> None:
    assert go_json.load(data) == value


@pytest.mark.parametrize(
    "data", [b"", b" ", b"\xef\xbb\xbf{}", b"NaN", b"{}{}", b"{'a':1}", b"//x\n1", b"[" * 128]
)
def test_what_nobody_reads(data: bytes) -> None:
    with pytest.raises(Malformed):
        go_json.load(data)


def test_depth_has_an_end_before_ours_has() -> None:
    assert go_json.load(b"[" * 127 + b"]" * 127)
    for depth in (128, 100_000):
        with pytest.raises(Malformed, match="inside each other"):
            go_json.load(b"[" * depth + b"]" * depth)


def test_a_number_that_no_float_holds_is_refused_where_it_is_read() -> None:
    assert not go_json.finite(go_json.load(b'{"a":[1e999]}'))
    assert go_json.finite(go_json.load(b'{"a":[1e99,"1e999"]}'))


def test_members_are_found_whatever_their_case_and_the_last_one_holds() -> None:
    given_ = go_json.load(b'{"Method":"a","method":"b","METHOD":"c"}')
    assert go_json.member(given_, "method") == "c"
    assert go_json.has({"JsonRpc": None}, "jsonrpc")
    assert not go_json.has({"jsonrpcs": 1}, "jsonrpc")
    assert not go_json.matches("meßages", "messages")


SPELT = '{"z":1E2,"a":[1.50,-0,1e-7,123456789012345678901234567890],"b":1.5}'


@pytest.mark.limit("protocols/kodelet/go_json._LONGEST_INTEGER")
def test_w_4_4_numbers_keep_their_spelling_until_they_go_to_the_core() -> None:
    value = go_json.load(SPELT.encode())
    assert go_json.dump(value) == SPELT
    core = go_json.unspelt(value)
    assert core == value
    assert go_json.dump(core) == ('{"z":100.0,"a":[1.5,-0.0,1e-07,1.2345678901234568e+29],"b":1.5}')
    assert go_json.canonical(value) == go_json.canonical(core)


def test_what_has_no_spelling_of_its_own_is_left_alone() -> None:
    value = go_json.load(b'{"a":[1,2.5,"x",null]}')
    assert go_json.unspelt(value) is value


@given(st.text(st.sampled_from("a \t\x1c\x1d\x1e\x1f\x85\xa0\u2003\u3000\u200b\ufeff"), max_size=6))
def test_white_space_is_what_go_takes_for_it(text: str) -> None:
    """As Python, but for four control characters."""
    hidden = text.translate({0x1C + at: 0xE000 + at for at in range(4)})
    shown = {0xE000 + at: 0x1C + at for at in range(4)}
    assert go_json.trim(text) == hidden.strip().translate(shown)
