"""What a node is asked, and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fleetgate.core import commands as c
from fleetgate.core.errors import Refusal, Unavailable, WorkerFailed
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.times import nanos
from fleetgate.core.worker import AccountReport, ProviderReport
from fleetgate.protocols.api import Report, Respond, Send, Steps
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.settings import EdgeSettings
from fleetgate.protocols.iop.translate import ADAPTER, NATIVE, TARGET

ASK: Final = "ask "
TIMEOUT: Final = "timeout"

_MOST: Final = 1024
"""Questions under way at one node; one more is answered `unavailable`."""


class Questions:
    """All of one link. The ids on the wire are ours."""

    def __init__(self, settings: EdgeSettings, deadlines: Deadlines) -> None:
        self._settings = settings
        self._deadlines = deadlines
        self._asked: dict[str, tuple[int, str]] = {}

    def ask(
        self,
        question_id: int,
        question: c.ProbeWorkers | c.ReadUsage,
        enabled: frozenset[str] | None,
        now: int,
    ) -> Steps:
        """Put a question. What a node can run is known without asking it."""
        if isinstance(question, c.ProbeWorkers):
            types = sorted(enabled) if enabled is not None else [self._settings.adapter]
            return (Respond(question_id, tuple(ProviderReport(each, True) for each in types)),)
        if len(self._asked) >= _MOST:
            return (Respond(question_id, Unavailable("the node has too many questions to answer")),)
        request = self._request(f"{ASK}{question_id}", question)
        self._asked[request.request_id] = (question_id, request.adapter)
        seconds = request.timeout_sec or self._settings.command_timeout
        self._deadlines.set(request.request_id, now + nanos(seconds))
        return (Send(codec.encode_edge(request)),)

    def _request(self, id: str, question: c.ReadUsage) -> w.NodeCommandRequest:
        native = question.native.get(NATIVE)
        asked: Mapping[str, Json] = native if isinstance(native, Mapping) else NOTHING
        seconds, metadata = asked.get("timeout_sec"), asked.get("metadata")
        return w.NodeCommandRequest(
            id,
            w.CommandType.USAGE_STATUS,
            question.labels.get(ADAPTER) or self._settings.adapter,
            question.labels.get(TARGET) or self._settings.target,
            question.session or "",
            seconds if isinstance(seconds, int) else 0,
            _texts(metadata),
        )

    def answered(self, response: w.NodeCommandResponse) -> Steps:
        """The node answers; late, or twice, changes nothing."""
        asked = self._asked.pop(response.request_id, None)
        if asked is None:
            return (Report("iop_unknown_response", "from the node"),)
        self._deadlines.clear(response.request_id)
        return (Respond(asked[0], _reports(response, asked[1])),)

    def overdue(self, name: str) -> Steps:
        """The node did not answer in time."""
        asked = self._asked.pop(name, None)
        return () if asked is None else (Respond(asked[0], WorkerFailed(TIMEOUT)),)


def _texts(value: Json) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        return NOTHING
    return {key: each for key, each in value.items() if isinstance(each, str)}


def _reports(response: w.NodeCommandResponse, adapter: str) -> tuple[AccountReport, ...] | Refusal:
    status = response.usage_status
    if status is None:
        return WorkerFailed(response.error or "the node says nothing of its usage")
    usage = codec.to_json(status)
    return (AccountReport(adapter, True, usage, response.error or None),)
