"""What is secret in a message, and the same message without it.

A value is secret by the name that it stands under (`token`, `password`, `authorization`, …), as a
value of an environment, behind the word Bearer, or in an address (the password of who logs in,
members of the query with such a name). What a person or a program says (prompts, words
of a command line, output) is no secret by this, whatever it says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from fleetgate.core.json import Json
from fleetgate.protocols.json_text import Twice, deeper, once

REDACTED: Final = "[redacted]"
"""Stands in the place of what is secret."""

_SECRET: Final = re.compile(
    r"(tokens?|secrets?|passwords?|passwd|passphrase|authorization|api_?keys?|access_?key"
    r"|private_?key|credentials?|cookies?)$",
    re.IGNORECASE,
)
_ENVIRONMENT: Final = frozenset({"env", "environ", "environment"})
_BEARER: Final = re.compile(r"\b(bearer|dpop)\s+[\w.~+/=-]{4,}", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]{0,30}://[^\s\"'<>\\]+", re.IGNORECASE)
_LOGIN: Final = re.compile(r"(?<=://)([^/?#@:]*)(:?)([^/?#@]*)(?=@)")
_QUERY: Final = re.compile(r"([?&;])([^=&;#?]{1,100})=([^&;#]+)")
DEPTH: Final = 200
"""Objects and arrays inside each other that are looked into: more than any protocol takes, so that
a frame which is refused for its depth is shown, and few enough for Python's stack."""

TOKEN_LETTERS: Final = 12
"""Who logs in at an address with a name of so many letters, and no password, shows a token."""

_INNER: Final = re.compile(r"\s*[{\[]")
"""How a text begins that may be JSON itself, as answers of tools are."""


def is_secret(name: str) -> bool:
    """Whether text under this name is secret."""
    return _SECRET.search(name.replace("-", "_")) is not None


def is_environment(name: str) -> bool:
    """Whether what stands under this name is an environment."""
    return name.lower() in _ENVIRONMENT


class Redaction:
    """Takes secrets out of values, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def value(self, value: Json, name: str = "") -> Json:
        """A JSON value that stands under `name`, without its secrets."""
        if isinstance(value, str):
            return self.secret(value) if is_secret(name) else self.text(value)
        if isinstance(value, Mapping):
            if is_environment(name):
                return {key: self._inside(each) for key, each in value.items()}
            return {key: self.value(each, key) for key, each in value.items()}
        if isinstance(value, Sequence):
            if is_environment(name):
                return [self.assignment(each) for each in value]
            return [self.value(each, name) for each in value]
        return value

    def secret(self, value: str) -> str:
        """What stands in the place of a secret; nothing is none."""
        if value in ("", REDACTED):
            return value
        self.count += 1
        return REDACTED

    def assignment(self, value: Json) -> Json:
        """`NAME=VALUE`, without the value."""
        if not isinstance(value, str):
            return self._inside(value)
        name, equals, secret = value.partition("=")
        return f"{name}={self.secret(secret)}" if equals else value

    def text(self, text: str) -> str:
        """Text that anything may stand in: JSON, or the header of a request."""
        if _INNER.match(text):
            inner = self._json(text)
            if inner is not None:
                return inner
        found, count = _BEARER.subn(rf"\1 {REDACTED}", text)
        self.count += count
        return _ADDRESS.sub(self._address, found) if "://" in found else found

    def _address(self, found: re.Match[str]) -> str:
        """An address without the password, or the token alone, of who logs in, and without the
        secrets of its query."""
        return _QUERY.sub(self._parameter, _LOGIN.sub(self._login, found[0], count=1))

    def _login(self, found: re.Match[str]) -> str:
        name, colon, password = found.groups()
        if colon:
            return f"{name}:{self.secret(password)}"
        # A name alone is one of ssh, and a token of most others: only its length tells.
        return self.secret(name) if len(name) >= TOKEN_LETTERS else name

    def _parameter(self, found: re.Match[str]) -> str:
        before, name, value = found.groups()
        return f"{before}{name}={self.secret(value)}" if is_secret(name) else found[0]

    def _json(self, text: str) -> str | None:
        """The text as JSON without its secrets; None: it is none, or has none. Of what is too deep
        to be looked into nothing is shown."""
        try:
            value = json.loads(text)
        except ValueError:
            return None
        except RecursionError:
            return self.secret(text)
        if deeper(value, DEPTH):
            return self.secret(text)
        inner = Redaction()
        clean = inner.value(value)
        if not inner.count:
            return None
        self.count += inner.count
        return json.dumps(clean, ensure_ascii=False, separators=(",", ":"))

    def _inside(self, value: Json) -> Json:
        """All text of an environment's value is secret, however deep."""
        if isinstance(value, str):
            return self.secret(value)
        if isinstance(value, Mapping):
            return {key: self._inside(each) for key, each in value.items()}
        if isinstance(value, Sequence):
            return [self._inside(each) for each in value]
        return value


def read_json(data: bytes) -> tuple[Any, bool]:
    """Any JSON, for people: bytes that are no UTF-8 become halves of surrogate pairs. Whether it is
    plain, too: no key came twice, so that nothing stands in the bytes that the value does not show.

    Raises: `ValueError`, which says where and repeats nothing; also for what is deeper than
    `DEPTH`.
    """
    try:
        read = _read(data.decode("utf-8", "surrogateescape"))
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON at character {error.pos}: {error.msg}") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if deeper(read[0], DEPTH):
        raise ValueError(_TOO_DEEP)
    return read


_TOO_DEEP: Final = f"more than {DEPTH} objects and arrays inside each other"


def _read(text: str) -> tuple[Any, bool]:
    try:
        return json.loads(text, object_pairs_hook=once), True
    except Twice:
        return json.loads(text), False


def write_json(value: Json) -> bytes:
    """JSON, compact, in the order given; of text, what `read_json` read comes out as it was."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    marked = _NO_BYTE.sub(_escaped, text)
    plain = marked.encode("utf-8", "surrogateescape")
    if plain.decode("utf-8", "surrogateescape") == marked:
        return plain
    return _HALF.sub(_escaped, text).encode("utf-8", "surrogateescape")


_NO_BYTE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Halves of surrogate pairs that stand for no byte."""
_HALF: Final = re.compile("(?<![\ud800-\udbff])[\udc80-\udcff]|[\ud800-\udc7f\udd00-\udfff]")
"""Halves that are read again as what they are where they are escaped: a second one behind a first
would make a pair with it."""


def _escaped(half: re.Match[str]) -> str:
    return f"\\u{ord(half[0]):04x}"


def as_object(value: Any) -> dict[str, Any] | None:
    """The value, if it is a JSON object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
