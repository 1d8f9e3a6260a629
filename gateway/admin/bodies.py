"""The bodies of operators' requests, as commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from fleetgate.core import commands as c
from fleetgate.core.errors import InvalidArgument
from fleetgate.core.events import Decision
from fleetgate.core.ids import RunId
from fleetgate.gateway.spec import SPEC_KEYS, read_base64, read_object, read_spec, read_utf8

MAX_NAME: Final = 128
"""Characters of a run's name: what rvbox allows for ids."""


@attrs.frozen(slots=True)
class _Input:
    text: str | None = None
    data_base64: str | None = None
    newline: bool = False


@attrs.frozen(slots=True)
class _Nothing:
    pass


@attrs.frozen(slots=True)
class _Signal:
    signal: c.Signal


@attrs.frozen(slots=True)
class _Cancel:
    scope: c.CancelScope = c.CancelScope.RUN
    reason: str = ""


@attrs.frozen(slots=True)
class _Approve:
    approval: str
    decision: Decision
    value: str | None = None


@attrs.frozen(slots=True)
class _Drain:
    on: bool = True


@attrs.frozen(slots=True)
class _Name:
    run: str | None = None


def read_start(body: Mapping[str, Any]) -> tuple[str | None, c.RunSpec]:
    """The name, if one was given, and the spec.

    Raises: `InvalidArgument`.
    """
    spec = read_spec({key: value for key, value in body.items() if key in SPEC_KEYS})
    rest = {key: value for key, value in body.items() if key not in SPEC_KEYS}
    name = read_object(_Name, rest, also=SPEC_KEYS).run
    if name is not None and not _is_name(name):
        raise InvalidArgument(f"run: expected 1 to {MAX_NAME} printable ASCII characters")
    return name, spec


def _is_name(text: str) -> bool:
    return 1 <= len(text) <= MAX_NAME and all("!" <= char <= "~" for char in text)


def read_drain(body: Mapping[str, Any]) -> bool:
    """Whether a worker is to be drained, or to take runs again.

    Raises: `InvalidArgument`.
    """
    return read_object(_Drain, body).on


def read_command(verb: str, run: RunId, body: Mapping[str, Any]) -> tuple[str | None, c.RunCommand]:
    """The key, if one was given, and the command.

    Raises: `InvalidArgument`.
    """
    rest = dict(body)
    key = rest.pop("key", None)
    if key is not None and not (isinstance(key, str) and _is_name(key)):
        raise InvalidArgument(f"key: expected 1 to {MAX_NAME} printable ASCII characters")
    return key, COMMANDS[verb](run, rest)


def _input(run: RunId, body: Mapping[str, Any]) -> c.SendInput:
    raw = read_object(_Input, body)
    if (raw.text is None) == (raw.data_base64 is None):
        raise InvalidArgument("expected one of text and data_base64")
    if raw.data_base64 is not None:
        data = read_base64(raw.data_base64, "data_base64")
    else:
        data = read_utf8(raw.text or "", "text")
    return c.SendInput(run, data, raw.newline)


def _close(run: RunId, body: Mapping[str, Any]) -> c.CloseInput:
    read_object(_Nothing, body)
    return c.CloseInput(run)


def _signal(run: RunId, body: Mapping[str, Any]) -> c.SignalRun:
    return c.SignalRun(run, read_object(_Signal, body).signal)


def _cancel(run: RunId, body: Mapping[str, Any]) -> c.CancelRun:
    raw = read_object(_Cancel, body)
    return c.CancelRun(run, raw.scope, raw.reason)


def _approve(run: RunId, body: Mapping[str, Any]) -> c.ResolveApproval:
    raw = read_object(_Approve, body)
    if (raw.decision is Decision.VALUE) != (raw.value is not None):
        raise InvalidArgument("value: goes with the decision value, and only with it")
    return c.ResolveApproval(run, raw.approval, raw.decision, raw.value)


COMMANDS: Final[Mapping[str, Callable[[RunId, Mapping[str, Any]], c.RunCommand]]] = {
    "input": _input,
    "close": _close,
    "signal": _signal,
    "cancel": _cancel,
    "approve": _approve,
}
"""What may be posted to a run, by the last part of the path."""
