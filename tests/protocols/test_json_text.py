"""Reading and writing JSON text, strictly."""

import json
import math
from collections import UserDict, UserList

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.json_text import (
    Malformed,
    Repeating,
    deeper,
    dump,
    load,
    load_text,
    quote,
    quoted,
)

FREE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(FREE)
def test_what_is_written_reads_back_equal(value: object) -> None:
    again = load(dump(value).encode())  # type: ignore[arg-type]
    assert again == value
    assert repr(again) == repr(json.loads(json.dumps(value, sort_keys=True)))


@given(st.text())
def test_a_string_is_escaped_no_more_than_it_must_be(text: str) -> None:
    assert load(quote(text).encode()) == text
    for char in text:
        if ord(char) >= 0x20 and char not in '"\\':
            assert char in quote(text)


# Half of a surrogate pair among them, which no UTF-8 has.
ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT | st.text(st.sampled_from('"\\/\x00\x1f\n\x7f\u2028e\u0301')))
def test_bytes_of_a_string_are_those_of_its_text(text: str) -> None:
    assert quoted(text) == quote(text).encode("utf-8", "replace")


ESCAPES = ("\\n", "\\/", "\\u0041", "\\ud83d\\ude00", "\\ud800", "\\udc00", "\\x")
PIECES = st.sampled_from(
    ('"', "x", "e\u0301", "\n", "\x7f", " ", ",", "[", "1", "\ufeff", "\ud800", *ESCAPES)
)


@given(st.lists(PIECES, max_size=6).map("".join), st.booleans(), st.binary(max_size=1))
def test_a_text_is_read_as_strictly_by_itself(inner: str, whole: bool, behind: bytes) -> None:
    text = f'"{inner}"' if whole else inner
    data = text.encode("utf-8", "surrogatepass") + behind
    try:
        expected = load(data)
    except Malformed:
        expected = None
    found = load_text(data)
    assert found == (expected if isinstance(expected, str) and data[:1] == b'"' else None)


def test_short_escapes_are_short_and_others_are_lower_case() -> None:
    assert quote('"\\/\b\t\n\f\r\x1f\x7f\u2028é') == '"\\"\\\\/\\b\\t\\n\\f\\r\\u001f\x7f\u2028é"'


@pytest.mark.limit("protocols/json_text._LONGEST_INTEGER")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-0", -0.0),
        ("1.0", 1.0),
        ("1e3", 1000.0),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("18446744073709551616", 18446744073709551616.0),
        ("-9223372036854775809", -9223372036854775809.0),
        ("12345678901234567890123", 12345678901234567890123.0),
        (" \t\r\n1\n", 1),
        ("-21822516542373262588", -21822516542373262588.0),
        ("1e-400", 0.0),
        ("1E+2", 100.0),
    ],
)
def test_fault_30_numbers_stay_what_they_are_where_64_bits_hold_them(
    text: str, value: float
) -> None:
    read = load(text.encode())
    assert (type(read), repr(read)) == (type(value), repr(value))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "0x1",
        "1e400",
        "-1e999",
        '{"ignored":1e400}',
        "1" + "0" * 400,
        "1" + "0" * 5000,
        "NaN",
        "Infinity",
        "-Infinity",
        "nul",
        "True",
        "[1,]",
        '{"a":1,}',
        "{a:1}",
        "{'a':1}",
        "[1] x",
        "1 2",
        "/* x */ 1",
        '"a\nb"',
        '"\x1f"',
        '"\\x41"',
        '"\\u12"',
        '"\\ud83d"',
        '"\\ude00"',
        '"\\ud83d\\u0041"',
        '{"\\ud83d":1}',
        '[{"a":["\\uDEAD"]}]',
        "\ufeff1",
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        load(text.encode())


def test_what_is_no_utf8_is_refused_without_quoting_it() -> None:
    with pytest.raises(Malformed, match="byte 2 is not") as failure:
        load(b'"s\xff3cret"')
    assert "3cret" not in str(failure.value)


def test_a_whole_surrogate_pair_and_a_zero_character_are_fine() -> None:
    assert load(b'"\\ud83d\\ude00"') == "\U0001f600"
    assert load(b'"\\u0000"') == "\0"


@pytest.mark.limit("protocols/json_text.DEPTH")
@given(st.integers(1, 300), st.sampled_from(["[]", "{}", "1"]))
def test_depth_is_counted_over_the_whole_document(around: int, inner: str) -> None:
    text = ('{"a":[' * around)[: around * 6] + inner + "]}" * around
    depth = 2 * around + (inner != "1")
    if depth <= 127:
        load(text.encode())
    else:
        with pytest.raises(Malformed, match="inside each other"):
            load(text.encode())


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_hundred_thousand_brackets_cost_an_error_and_no_more(opening: str) -> None:
    with pytest.raises(Malformed):
        load((opening * 100_000).encode())


def test_brackets_in_strings_count_for_nothing() -> None:
    assert load(b'"' + b"[" * 500 + b'"') == "[" * 500


def test_repeated_keys_are_told_and_the_last_one_holds() -> None:
    read = load(b'{"a":1,"b":2,"a":3,"c":{"a":1}}')
    assert read == {"a": 3, "b": 2, "c": {"a": 1}}
    assert isinstance(read, Repeating)
    assert read.repeated == {"a"}
    assert type(read["c"]) is dict


def test_deeper_counts_containers() -> None:
    assert not deeper(1, 0)
    assert deeper([], 0)
    assert not deeper({"a": [1]}, 2)
    assert deeper(({"a": [1]},), 2)


def test_free_form_keys_are_written_in_byte_order() -> None:
    assert dump({"b": 1, "a": {"\U0001f600": 1, "\uffff": 2}}) == (
        '{"a":{"\uffff":2,"\U0001f600":1},"b":1}'
    )


def test_what_json_has_no_word_for_is_written_as_null() -> None:
    assert dump({"a": [math.nan, 1], "b": (math.inf,)}) == '{"a":[null,1],"b":[null]}'


def test_any_mapping_and_any_sequence_is_written_and_nothing_else() -> None:
    assert dump({"a": UserList([1, UserDict({"b": 2})])}) == '{"a":[1,{"b":2}]}'
    with pytest.raises(TypeError, match="a set is not JSON"):
        dump({1, 2})  # type: ignore[arg-type]


@given(FREE)
def test_nothing_of_a_refused_text_is_in_the_error(value: object) -> None:
    text = dump({"key": value, "secret-3f9a": "secret-3f9a"})[:-1]  # type: ignore[dict-item]
    with pytest.raises(Malformed) as failure:
        load(text.encode())
    assert "3f9a" not in str(failure.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"x":' + "[" * 127 + "]" * 127 + ',"x":1}',
        '{"x":"\\ud83d","x":1}',
        '{"x":{"\\ud83d":1},"x":1}',
        '{"a":{"x":[{"y":"\\ude00","y":2}],"x":1}}',
    ],
)
def test_what_a_repeated_key_overrides_is_judged_like_the_rest(text: str) -> None:
    """As serde_json judges it, which reads before it knows (`just interop agency-rust`)."""
    with pytest.raises(Malformed):
        load(text.encode())


def test_a_value_that_is_overridden_is_not_deeper_once_it_is_read() -> None:
    read = load(('{"x":' + "[" * 126 + "]" * 126 + ',"x":1}').encode())
    assert read == {"x": 1}
    assert not deeper(read, 1)
