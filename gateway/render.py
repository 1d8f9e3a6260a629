"""Core values as JSON lines: one vocabulary for the admin API, `--json` and the fakes.

An event's `type` is the name of its core class and its members keep their names. Bytes
are in `NAME_base64`, and beside it in `text` where they are UTF-8. Times are Unix
nanoseconds. No run's input or environment is rendered.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, TypeAlias, cast

import attrs

from fleetgate.core.events import Recorded
from fleetgate.core.run import Run
from fleetgate.core.worker import WorkerStatus, kind_of
from fleetgate.gateway.printable import escaped

Line: TypeAlias = dict[str, Any]
"""One JSON object, of dicts, lists and scalars only."""


def event_line(recorded: Recorded) -> Line:
    """An event with its place."""
    line: Line = {
        "run": recorded.run,
        "seq": recorded.seq,
        "time": recorded.time,
        "type": type(recorded.event).__name__,
    }
    if recorded.source is not None and recorded.source.seq is not None:
        line["native_seq"] = recorded.source.seq
    return line | _members(recorded.event)


def run_line(run: Run) -> Line:
    """A run as it stands."""
    return {
        "run": run.id,
        "link": run.origin.link,
        "native_run": run.origin.native_run,
        "state": run.state.value,
        "input": kind_of(run.spec.input).value,
        "worker": run.worker,
        "epoch": run.epoch,
        "session": run.spec.session,
        "native_session": run.native_session,
        "model": run.model,
        "labels": dict(run.spec.labels),
        "created": run.created,
        "started": run.started or None,
        "ended": run.ended or None,
        "last_seq": run.last_seq,
        "acknowledged": run.acknowledged,
        "inputs": run.inputs,
        "inputs_accepted": run.inputs_accepted,
        "approvals": list(run.approvals),
        "canceling": run.canceling,
        "usage": None if run.usage is None else _members(run.usage),
        "outcome": None if run.outcome is None else _members(run.outcome),
    }


def worker_line(status: WorkerStatus) -> Line:
    """A worker as it stands."""
    info = status.info
    return {
        "worker": info.id,
        "pool": info.pool,
        "liveness": status.liveness.value,
        "since": status.since,
        "epoch": status.epoch,
        "runs": status.runs,
        "free": status.free,
        "inputs": sorted(kind.value for kind in info.inputs),
        "instance": info.instance,
        "providers": [_members(report) for report in info.providers],
        "detail": plain(info.detail),
    }


def encode(line: Line) -> bytes:
    """The object as JSON text on one line, with its newline. On a terminal nothing in it acts."""
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    return escaped(text).encode() + b"\n"


def plain(value: object) -> Any:
    """A core value as what `json` knows."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such numbers
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        members = cast(Mapping[object, object], value)
        return {str(key): plain(member) for key, member in members.items()}
    if isinstance(value, Sequence):
        return [plain(item) for item in cast(Sequence[object], value)]
    return _members(value)


def _members(value: object) -> Line:
    line: Line = {}
    for name in attrs.fields_dict(cast(Any, type(value))):
        member = getattr(value, name)
        if isinstance(member, bytes):
            line |= _bytes_members(name, member)
        else:
            line[name] = plain(member)
    return line


def _bytes_members(name: str, data: bytes) -> Line:
    members: Line = {f"{name}_base64": b64encode(data).decode()}
    with suppress(UnicodeDecodeError):
        members["text"] = data.decode()
    return members
