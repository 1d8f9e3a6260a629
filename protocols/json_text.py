"""JSON text, strictly: what every JSON codec reads and writes with.

`load` takes what RFC 8259 calls JSON and nothing else, keeps every number that fits, and
refuses what no peer could have meant. Errors are `Malformed`: they say what was expected
and what came, and never repeat it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from json.encoder import encode_basestring as _quote
from typing import Any, Final, cast

import orjson

from fleetgate.core.json import Json

# --- reading

DEPTH: Final = 127
"""Containers within containers, over a whole document: what serde_json takes."""

_INT64_MIN: Final = -(2**63)
_UINT64_MAX: Final = 2**64 - 1
_LONGEST_INTEGER: Final = 20
"""Characters of -2^63 and of 2^64-1; a longer text is out of range without looking."""

_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Malformed(ValueError):
    """The bytes are not the JSON that was expected. The text never holds any of them."""


class Repeating(dict[str, Any]):
    """An object in which some keys came more than once; the last one of each holds."""

    repeated: frozenset[str] = frozenset()
    overridden: tuple[Any, ...] = ()
    """The values that do not hold. They are text of the document like any other."""


def load(data: bytes, *, depth: int = DEPTH) -> Any:
    """Read one JSON document.

    Integers outside of int64 and uint64 become floats, `-0` becomes `-0.0`, and a number
    that no float can hold is refused. So are invalid UTF-8, a byte order mark, half of a
    surrogate pair, NaN and Infinity, and more than `depth` containers inside each other.

    Raises: `Malformed`.
    """
    try:
        text = data.decode()
        value = _decoder.decode(text)
    except UnicodeDecodeError as error:
        raise Malformed(f"expected UTF-8, byte {error.start} is not") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"not JSON at character {error.pos}: {error.msg}") from None
    except RecursionError:
        raise Malformed(_too_deep(depth)) from None
    if text.count("[") + text.count("{") > depth and _deeper(value, depth, _read_members):
        raise Malformed(_too_deep(depth))
    if _ESCAPED_SURROGATE.search(text) is not None:
        _refuse_lone_surrogates(value)
    return value


def load_text(data: bytes) -> str | None:
    """The text that `load` would find in a document that is one, with nothing before it; None for
    every other."""
    try:
        value = orjson.loads(data) if data[:1] == b'"' else None
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, str) else None


class Twice(Exception):
    """An object has a `key` twice."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `object_pairs_hook` of a decoder: each key may be there once.

    Raises: `Twice`, with the first that is not.
    """
    made = dict(pairs)
    if len(made) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise Twice(next(name for name, count in counts.items() if count > 1))
    return made


def _too_deep(depth: int) -> str:
    return f"more than {depth} objects and arrays inside each other"


_SCALARS: Final = (str, int, float, type(None))
"""All that `Json` is beside its containers, `bool` being an `int`."""


def deeper(value: Json, depth: int) -> bool:
    """Whether `value` has more than `depth` containers inside each other."""
    return _deeper(value, depth, _values)


def _deeper(value: Json, depth: int, members: Callable[[Any], Iterable[Json]]) -> bool:
    level = [] if isinstance(value, _SCALARS) else [value]
    for _ in range(depth):
        if not level:
            return False
        level = [
            member for each in level for member in members(each) if not isinstance(member, _SCALARS)
        ]
    return bool(level)


def _values(container: Any) -> Iterable[Json]:
    if isinstance(container, Mapping):
        return cast(Mapping[str, Json], container).values()
    return cast(Sequence[Json], container)


def _read_members(container: Any) -> Iterable[Json]:
    """All that was read inside, with keys, and what does not hold."""
    if not isinstance(container, dict):
        return cast(Sequence[Json], container)
    read = cast(dict[str, Any], container)
    over = container.overridden if isinstance(container, Repeating) else ()
    return (*read, *read.values(), *over)


def _refuse_lone_surrogates(value: Json) -> None:
    todo: list[Json] = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, str) and _LONE_SURROGATE.search(each) is not None:
            raise Malformed("a string has half of a surrogate pair")
        todo += () if isinstance(each, _SCALARS) else _read_members(each)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    again = Repeating(made)
    last = {key: at for at, (key, _) in enumerate(pairs)}
    over = [(key, value) for at, (key, value) in enumerate(pairs) if last[key] != at]
    again.repeated = frozenset(key for key, _ in over)
    again.overridden = tuple(value for _, value in over)
    return again


def _integer(text: str) -> int | float:
    if text == "-0":
        return -0.0
    if len(text) <= _LONGEST_INTEGER:
        value = int(text)
        if _INT64_MIN <= value <= _UINT64_MAX:
            return value
    return _float(text)


def _float(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise Malformed("a number is too large for a 64-bit float")
    return value


def _constant(text: str) -> Any:
    raise Malformed("NaN and Infinity are not JSON")


_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
)

# --- writing


def quote(text: str) -> str:
    """A JSON string: `"`, `\\` and what is below U+0020 escaped, all else as it is."""
    return _quote(text)


def quoted(text: str) -> bytes:
    """As `quote`, on its way out: half of a surrogate pair is written as `?`."""
    try:
        return orjson.dumps(text)
    except orjson.JSONEncodeError:
        return quote(text).encode("utf-8", "replace")


def plain(value: Any) -> Any:
    """For `default` of an encoder: the containers that `Json` allows and `json` does not know."""
    if isinstance(value, Mapping):
        return dict(cast(Mapping[str, Any], value))
    if isinstance(value, Sequence):
        return list(cast(Any, value))
    raise TypeError(f"a {type(value).__name__} is not JSON")


_encoder: Final = json.JSONEncoder(
    ensure_ascii=False,
    allow_nan=False,
    sort_keys=True,
    separators=(",", ":"),
    default=plain,
)


def dump(value: Json) -> str:
    """Free-form JSON, compact, keys in byte order. A float that JSON has no word for (NaN,
    an infinity) is written as null."""
    try:
        return _encoder.encode(value)
    except ValueError:
        return _encoder.encode(_finite(value))


def _finite(value: Json) -> Json:
    if isinstance(value, float):
        return value if value - value == 0.0 else None
    if isinstance(value, Mapping):
        return {key: _finite(member) for key, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(member) for member in value]
    return value
