"""JSON as Go's encoding/json reads and writes it, which is what both genuine peers do (W 4.1, 4.3).

Reading is more lenient than RFC 8259 asks: bytes that are no UTF-8 and halves of surrogate
pairs become U+FFFD, and of a key that comes twice the later one holds. Writing is compact,
in the order given, with `<`, `>` and `&` escaped. A number that Python would write otherwise
keeps its spelling until it goes to the core.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard

import orjson

from fleetgate.core.json import Json
from fleetgate.protocols.json_text import DEPTH, Malformed, deeper, plain

_HALF: Final = re.compile("[\ud800-\udfff]")
_ESCAPED_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPES: Final = (
    ("<", "\\u003c"),
    (">", "\\u003e"),
    ("&", "\\u0026"),
    ("\u2028", "\\u2028"),
    ("\u2029", "\\u2029"),
)
_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_LONGEST_INTEGER: Final = 20
"""Characters of -2^63 and of 2^64-1."""

# --- reading


def load(data: bytes) -> Any:
    """Read one JSON document.

    Integers beyond int64 and uint64 become floats, and a number that no float holds an
    infinity: it is refused only where it is read. `DEPTH` containers may be inside each other.
    A float that is written otherwise than Python would is `Spelt`.

    Raises: `Malformed`.
    """
    text = _decoded(data)
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise Malformed(f"not JSON at character {error.pos}: {error.msg}") from None
    except RecursionError:
        raise Malformed(f"more than {DEPTH} objects and arrays inside each other") from None
    if text.count("[") + text.count("{") > DEPTH and deeper(value, DEPTH):
        raise Malformed(f"more than {DEPTH} objects and arrays inside each other")
    return _whole(value) if _ESCAPED_HALF.search(text) is not None else value


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _HALF.sub("\ufffd", data.decode("utf-8", "surrogateescape"))


def _whole(value: Any) -> Any:
    """The value with every half of a surrogate pair replaced."""
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if is_object(value):
        return {_HALF.sub("\ufffd", key): _whole(member) for key, member in value.items()}
    if is_array(value):
        return [_whole(member) for member in value]
    return value


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether it is a JSON object as `load` gives it."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether it is a JSON array as `load` gives it."""
    return isinstance(value, list)


def is_tuple(value: Any) -> TypeGuard[tuple[Any, ...]]:
    """Whether it is a list of a struct of ours."""
    return isinstance(value, tuple)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    ordered: dict[str, Any] = {}
    for key, value in pairs:
        ordered.pop(key, None)  # the later one holds, and stands where it came
        ordered[key] = value
    return ordered


class Spelt(float):
    """A number as it came: `1E2` and `1.50` are passed through as they are (W 4.4)."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Spelt:
        made = super().__new__(cls, text)
        made.text = text
        return made


def _float(text: str) -> float:
    value = float(text)
    return value if repr(value) == text else Spelt(text)


def _integer(text: str) -> int | float:
    if text == "-0":
        return Spelt(text)
    if len(text) <= _LONGEST_INTEGER:
        value = int(text)
        if -(2**63) <= value < 2**64:
            return value
    return Spelt(text)


def _constant(text: str) -> Any:
    raise Malformed("NaN and Infinity are not JSON")


_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)


def _any_spelt(value: Json) -> bool:
    if isinstance(value, Mapping):
        return any(map(_any_spelt, value.values()))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(map(_any_spelt, value))
    return isinstance(value, Spelt)


def unspelt(value: Json) -> Json:
    """The value as the core keeps it: numbers, however they were written."""
    return _unspelt(value) if _any_spelt(value) else value


def _unspelt(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _unspelt(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_unspelt(each) for each in value]
    return float(value) if isinstance(value, Spelt) else value


def trim(text: str) -> str:
    """Without the white space at either end. Python takes U+001C to U+001F for space, too."""
    return text.strip(_SPACE)


def finite(value: Json) -> bool:
    """Whether every number in it is one that a 64-bit float holds."""
    if isinstance(value, str):  # first: what is no class of Python's own takes long to look for
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(map(finite, value.values()))
    if isinstance(value, Sequence):
        return all(map(finite, value))
    return True


def member(value: Mapping[str, Any], name: str) -> Any:
    """The member that Go takes for the field `name`: an exact match or one that differs in
    case, whichever comes last. Absent and null are the same."""
    found: Any = None
    for key, each in value.items():
        if key == name or matches(key, name):
            found = each
    return found


def has(value: Mapping[str, Any], name: str) -> bool:
    """Whether there is such a member at all, be it null."""
    return name in value or any(matches(key, name) for key in value)


def matches(key: str, name: str) -> bool:
    """Whether the two differ in case only."""
    return len(key) == len(name) and key.casefold() == name.casefold()


# --- writing


def quote(text: str) -> str:
    """A string as Go's encoder writes it. Halves of surrogate pairs become U+FFFD."""
    return _as_go(_encoder.encode(text))


def quoted(text: str) -> bytes:
    """As `quote`, of a text that may be long, on its way out."""
    try:
        data = orjson.dumps(text)
    except orjson.JSONEncodeError:
        return quote(text).encode()
    for bare, escaped in _ESCAPES:
        if bare in text:  # to look for three bytes takes fifty times as long as for one character
            data = data.replace(bare.encode(), escaped.encode())
    return data


def dump(value: Json) -> str:
    """Free-form JSON, compact, members in the order they have, numbers as they came."""
    if _any_spelt(value):
        return _spelt(value)
    return _as_go(_encoder.encode(value))


def _as_go(text: str) -> str:
    """JSON text with what Go escapes, too, and without halves of surrogate pairs. An update has up
    to a megabyte, several times a second: a look at each character of it would be Python's."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _HALF.sub("\ufffd", text)
    for bare, escaped in _ESCAPES:
        text = text.replace(bare, escaped)
    return text


def _spelt(value: Json) -> str:
    if isinstance(value, Mapping):
        members = (f"{quote(key)}:{_spelt(each)}" for key, each in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{','.join(map(_spelt, value))}]"
    return value.text if isinstance(value, Spelt) else dump(value)


_encoder: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain
)


def number(value: float) -> str:
    """A float64 as Go writes it (W 10.3): shortest digits, plain between 1e-6 and 1e21."""
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return f"{sign}0"
    digits, exponent = _digits(abs(value))
    if not 1e-6 <= abs(value) < 1e21:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        mark = "+" if exponent > 0 else "-"
        return f"{sign}{digits[0]}{fraction}e{mark}{abs(exponent)}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    if len(digits) <= exponent + 1:
        return f"{sign}{digits}{'0' * (exponent + 1 - len(digits))}"
    return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


def _digits(value: float) -> tuple[str, int]:
    """The shortest digits of a float above 0, and the exponent of the first one."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    first = len(whole) - 1 if whole != "0" else -(len(fraction) - len(fraction.lstrip("0")) + 1)
    return digits.rstrip("0"), first + int(exponent or 0)


def canonical(value: Json) -> str:
    """Free-form JSON after a trip through Go's `any`: keys by code point, numbers as floats."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return number(float(value))
        case str():
            return quote(value)
        case Mapping():
            members = (f"{quote(key)}:{canonical(value[key])}" for key in sorted(value))
            return f"{{{','.join(members)}}}"
        case _:
            return f"[{','.join(map(canonical, value))}]"
