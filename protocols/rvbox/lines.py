"""What a server shows of an event that rvbox has no member for: bytes on an output stream."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fleetgate.core import events as e
from fleetgate.core.events import MAX_BODY, Stream
from fleetgate.core.json import Json


def line_of(event: e.Event) -> tuple[Stream, bytes]:
    """The stream and the bytes, at most `MAX_BODY` of them. No bytes: the event keeps its
    number and is not shown."""
    if isinstance(event, e.TextProduced):
        return Stream.STDOUT, _bytes(event.text)
    if isinstance(event, e.ReasoningProduced):
        return Stream.STDERR, _bytes(event.text)
    text = _line(event)
    return Stream.STDERR, _cut(_bytes(text + "\n")) if text else b""


def _line(event: e.Event) -> str:
    match event:
        case e.ToolCalled(name=name, input=given):
            return f"[tool] {name} {_json(given)}".rstrip()
        case e.ToolProgressed(text=text):
            return f"[tool] {text}"
        case e.ToolReturned(output=output, ok=ok):
            return f"[tool {_verdict(ok)}] {output}"
        case e.ApprovalRequested(approval=approval, title=title, detail=detail):
            return f"[approval {approval}] {title} {_json(detail)}".rstrip()
        case e.Diagnosed(message=message, code=code):
            return f"[{code or 'warning'}] {message}"
        case e.GapFound(from_seq=first, to_seq=last, reason=reason):
            return f"[gap] the worker's events {first} to {last} are gone: {reason}"
        case _:
            return ""


def _verdict(ok: bool | None) -> str:
    return {True: "ok", False: "failed", None: "returned"}[ok]


def _json(value: Json) -> str:
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except RecursionError:
        return "(too deeply nested to be shown)"


def _plain(value: Json) -> Json:
    """A mapping or sequence of another class, as the encoder takes it."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Sequence) else str(value)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _cut(data: bytes) -> bytes:
    return data if len(data) <= MAX_BODY else data[: MAX_BODY - len(_MORE)] + _MORE


_MORE = "…\n".encode()
