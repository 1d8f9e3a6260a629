"""What of a run no field of a request holds: JSON in its metadata, for another gateway. Pure.

A foreign node passes over it; what a field can say stands in that field, too.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Any, Final, cast

import attrs

from fleetgate.core import commands as c
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.times import SECOND
from fleetgate.core.worker import NAMED
from fleetgate.protocols.iop.errors import Refused
from fleetgate.protocols.iop.names import BODY
from fleetgate.protocols.json_text import Malformed, load

FIELDS: Final = frozenset({"adapter", "target", NAMED})
"""Labels that fields of a request, or metadata of their own, are made of."""


def surplus(spec: c.RunSpec) -> dict[str, Json]:
    """What a gateway that is asked for this run is told beside the fields."""
    labels = {key: value for key, value in spec.labels.items() if key not in FIELDS}
    timeout = spec.timeout if spec.timeout is not None and spec.timeout % SECOND else None
    said: dict[str, Json] = {
        "environment": dict(spec.environment),
        "labels": labels,
        "timeout": timeout,
        "input": _of_input(spec.input),
    }
    return {key: value for key, value in said.items() if value}


def _of_input(given: c.Input) -> dict[str, Json]:
    said: dict[str, Json]
    match given:
        case c.Prompt(provider=provider, model=model, extra_thinking=extra):
            said = {"provider": provider or None, "model": model or None, "extra_thinking": extra}
        case c.ShellCommand():
            stdin, script = given.stdin, given.script
            said = {
                "shell": given.shell or None,
                "cwd": given.cwd or None,
                "merge_stderr": given.merge_stderr or None,
                "stdin_base64": None if stdin is None else base64.b64encode(stdin).decode(),
                "script_args": None if script is None else list(script.args),
            }
        case _:
            said = {}
    return {key: value for key, value in said.items() if value is not None}


def read(metadata: Mapping[str, str]) -> Mapping[str, Json]:
    """What such a request says, with each member of the type that it must have.

    Raises: `Refused`.
    """
    text = metadata.get(BODY)
    if text is None:
        return NOTHING
    try:
        said: Json = load(text.encode())
    except Malformed:
        said = None
    if not isinstance(said, Mapping):
        raise _wrong("a JSON object")
    given = _table(said, "input")
    for key, kind in _KINDS.items():
        if given.get(key) is not None and type(given[key]) is not kind:
            raise _wrong(f"an object whose input.{key} is a {kind.__name__}")
    for key in ("environment", "labels"):
        if not all(isinstance(value, str) for value in _table(said, key).values()):
            raise _wrong(f"an object whose {key} are texts")
    return said


_KINDS: Final[Mapping[str, type[Any]]] = {
    "provider": str,
    "model": str,
    "extra_thinking": bool,
    "shell": str,
    "cwd": str,
    "merge_stderr": bool,
    "stdin_base64": str,
    "script_args": list,
}


def _wrong(expected: str) -> Refused:
    return Refused("invalid_argument", f"metadata {BODY} of a request must be {expected}")


def _table(said: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    value = said.get(key)
    if value is None:
        return NOTHING
    if not isinstance(value, Mapping):
        raise _wrong(f"an object whose {key} is one")
    return value


def put(spec: c.RunSpec, said: Mapping[str, Json]) -> c.RunSpec:
    """The run with what was read. Raises: `Refused`."""
    if not said:
        return spec
    labels = {key: value for key, value in _table(said, "labels").items() if key not in FIELDS}
    timeout = said.get("timeout")
    exact = timeout if isinstance(timeout, int) and 0 < timeout < 1 << 63 else None
    return attrs.evolve(
        spec,
        input=put_input(spec.input, said),
        environment=cast("Mapping[str, str]", _table(said, "environment")),
        labels={**cast("Mapping[str, str]", labels), **spec.labels},
        timeout=exact or spec.timeout,
    )


def put_input(given: c.Input, said: Mapping[str, Json]) -> c.Input:
    """The input with what was read. Raises: `Refused`."""
    members: dict[str, Any] = {k: v for k, v in _table(said, "input").items() if v is not None}
    match given:
        case c.Prompt():
            names = ("provider", "model", "extra_thinking")
            return attrs.evolve(given, **{key: members[key] for key in names if key in members})
        case c.ShellCommand():
            return _command(given, members)
        case _:
            return given


def _command(given: c.ShellCommand, members: Mapping[str, Any]) -> c.ShellCommand:
    names = ("shell", "cwd", "merge_stderr")
    plain = attrs.evolve(given, **{key: members[key] for key in names if key in members})
    if "stdin_base64" in members:
        try:
            stdin = base64.b64decode(members["stdin_base64"], validate=True)
        except (binascii.Error, ValueError):
            raise _wrong("an object whose input.stdin_base64 is base64") from None
        plain = attrs.evolve(plain, stdin=stdin)
    if "script_args" not in members:
        return plain
    args, argv = tuple(members["script_args"]), given.argv or ()
    if len(argv) < 4 or argv[1] != "-c" or argv[4:] != args:
        raise _wrong("an object whose input.script_args end the command")
    data = argv[2].encode()
    script = c.Script(len(data), hashlib.sha256(data).digest(), args, data)
    return attrs.evolve(plain, argv=None, script=script)
