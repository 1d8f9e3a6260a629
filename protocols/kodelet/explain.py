"""The frames for people: requests by their method, answers by the method that they answer."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

import attrs

from fleetgate.core.json import Json
from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.explaining import (
    NOWHERE,
    SPEAKERS,
    Explained,
    Explainer,
    Showing,
    Speaker,
    Whence,
    other,
)
from fleetgate.protocols.kodelet import codec, state
from fleetgate.protocols.redaction import Redaction, as_object, read_json, write_json

_OPEN: Final = 4096
"""Requests that are remembered until they are answered: more than either side may have open."""

_OF_RUNNERS: Final = state.RUNNER_REQUESTS | state.RUNNER_NOTIFICATIONS


@attrs.frozen(slots=True)
class _Asked:
    """A request that waits for its answer."""

    method: str
    secret: bool


class KodeletExplainer(Explainer):
    """Explains JSON-RPC. What a person enters where a `ui.input` says `secret` is one."""

    ids = frozenset(
        {"id", "runnerId", "runId", "connectionId", "conversationId", "generation", "requestId"}
        | {"toolCallId", "activeRunId", "activeRunIds", "instanceId", "hostId", "lifecycle"}
        | {"digest", "manifestDigest", "pid"}
    )
    times = frozenset({"timestamp", "startedAt"})
    idle = frozenset({"runner.heartbeat", "tool.update"})
    farewells = frozenset({"runner.goodbye"})

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[Speaker | None, str], _Asked] = OrderedDict()

    def explain(self, frame: bytes, whence: Whence = NOWHERE) -> Explained:
        """A message of either side."""
        try:
            value, plain = read_json(frame)
        except ValueError as error:
            return Explained(rule=f"no JSON-RPC message: {error}", sender=whence.sender)
        members = as_object(value) or {}
        method = members.get("method")
        redaction = Redaction()
        if isinstance(method, str) and method:
            name, sender = method, whence.sender or _sender(method)
            self._remember(members, method, sender)
        else:
            name, sender = self._answered(members, whence.sender, redaction)
        body = redaction.value(value)
        kept = write_json(body) if redaction.count or not plain else frame
        return Explained(name, body, kept, _rule(frame), redaction.count, sender)

    def encode(self, body: Json, whence: Whence) -> bytes:
        """The frame of a message."""
        return write_json(body)

    def answers(self, explained: Explained) -> bool:
        """Results and errors."""
        return self.own(explained, "method") is None and self.own(explained, "id") is not None

    def _remember(self, members: dict[str, Any], method: str, sender: Speaker | None) -> None:
        id = members.get("id")
        if not isinstance(id, str):
            return
        params = as_object(members.get("params")) or {}
        asked = as_object(params.get("request")) or {}
        self._open[sender, id] = _Asked(method, bool(asked.get("secret")))
        if len(self._open) > _OPEN:
            self._open.popitem(last=False)

    def _answered(
        self, members: dict[str, Any], sender: Speaker | None, redaction: Redaction
    ) -> tuple[str, Speaker | None]:
        """The name of an answer. A secret that somebody entered is taken out of it."""
        id = members.get("id")
        end = "error" if members.get("error") is not None else "result"
        if not isinstance(id, str):
            return end, sender
        askers: tuple[Speaker | None, ...] = (None, *SPEAKERS)
        for asker in askers if sender is None else (other(sender), None):
            asked = self._open.pop((asker, id), None)
            if asked is not None:
                result = as_object(members.get("result")) or {}
                if asked.secret and isinstance(result.get("value"), str):
                    result["value"] = redaction.secret(result["value"])
                return f"{asked.method} {end}", sender or (other(asker) if asker else None)
        return end, sender


def _sender(method: str) -> Speaker | None:
    if method in _OF_RUNNERS:
        return "worker"
    return None if method == "operation.cancel" else "controller"


def _rule(frame: bytes) -> str:
    """What is wrong with it; empty: nothing."""
    try:
        codec.decode(frame)
    except RemoteProtocolError as error:
        return str(error)
    return ""


def dials(path: str) -> Speaker:
    """Runners dial their control plane."""
    return "worker"


_SECTIONS: Final = {
    "no JSON-RPC message": "4.3, acceptance table",
}

SHOWING: Final = Showing(
    "1", KodeletExplainer, dials, {"control-plane": "controller", "runner": "worker"}, _SECTIONS
)
