"""Lines of keys, found beside tomllib."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.toml_lines import Path, line_numbers, line_of

TEXT = """\
# a comment with [brackets] and = signs
top = 1
[gateway]
name = "a # not a comment = \\" ["   # a comment
journal = '''
[not.a.table]
x = 1'''

[[south]]
name = "one"
tls = { certificate = "c", key = "k",
}
[south.extra]
deep = [
  1,
  { a = 2 },
  [ 'x',
    "y" ],
]
[[south]]
"quoted.key" = \"\"\"
[[south]] \\\"\"\" still a string\"\"\"
a.b . c = 2
[other]
date = 1979-05-27T07:32:00Z
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 2),
        (("gateway",), 3),
        (("gateway", "name"), 4),
        (("gateway", "journal"), 5),
        (("south",), 9),
        (("south", 0), 9),
        (("south", 0, "name"), 10),
        (("south", 0, "tls"), 11),
        (("south", 0, "tls", "key"), 11),
        (("south", 0, "extra"), 13),
        (("south", 0, "extra", "deep", 0), 15),
        (("south", 0, "extra", "deep", 1, "a"), 16),
        (("south", 0, "extra", "deep", 2, 1), 18),
        (("south", 1), 20),
        (("south", 1, "quoted.key"), 21),
        (("south", 1, "a"), 23),
        (("south", 1, "a", "b", "c"), 23),
        (("other", "date"), 25),
    ],
)
def test_lines(path: Path, line: int) -> None:
    text = TEXT.replace('"k",\n}', '"k" }\n')  # inline tables are one line in TOML 1.0
    assert tomllib.loads(text)
    assert line_numbers(text)[path] == line


def test_what_has_no_line_is_on_that_of_what_holds_it() -> None:
    lines = line_numbers("[gateway]\nname = 'x'\n")
    assert line_of(lines, ("gateway", "missing")) == 1
    assert line_of(lines, ("gateway", "name", 0, "deep")) == 2
    assert line_of(lines, ("nothing",)) == 1
    assert line_of({}, ()) == 1


keys = st.text("abc_-1", min_size=1, max_size=3) | st.text("a.#=[]'\" \\", min_size=1)
texts = st.text("ab#=[]{}'\"\\\n,")
values = st.recursive(
    st.integers() | st.booleans() | texts | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _write(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _quote(value)
        case list():
            return "[\n # , ] {\n" + ",\n".join(map(_write, value)) + "\n]"
        case dict():
            pairs = (f"{_quote(key)} = {_write(member)}" for key, member in value.items())
            return "{" + ", ".join(pairs) + "}"
        case _:
            return repr(value)


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(member, (*path, key))


@given(
    st.dictionaries(keys, values, max_size=3),
    st.lists(st.dictionaries(keys, values, max_size=3), max_size=3),
)
def test_every_key_has_the_line_that_it_stands_on(
    top: dict[str, Any], tables: list[dict[str, Any]]
) -> None:
    pairs = [f"{_quote(key)} = {_write(value)}" for key, value in top.items()]
    for table in tables:
        pairs.append("[['an array']] # of tables")
        pairs.extend(f"{_quote(key)} = {_write(value)}" for key, value in table.items())
    text = "\n".join(pairs)
    whole = tomllib.loads(text)
    lines = line_numbers(text)
    rows = text.split("\n")
    for path in _paths(whole):
        assert path in lines
        if isinstance(path[-1], str) and path[0] != "an array":
            assert _quote(path[-1]) in rows[lines[path] - 1]
    assert set(lines) == set(_paths(whole))
