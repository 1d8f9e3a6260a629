"""The questions that a peer asks of us, and their answers: usage, and nothing else yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from fleetgate.core import commands as c
from fleetgate.core.answers import AccountList, Answer
from fleetgate.core.errors import Refusal
from fleetgate.core.ids import RunId, SessionId
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.times import SECOND, nanos
from fleetgate.core.worker import NAMED, AccountReport
from fleetgate.protocols.api import Submit
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.config import Applied
from fleetgate.protocols.iop.errors import Refused, of_refusal
from fleetgate.protocols.iop.settings import NorthSettings
from fleetgate.protocols.iop.translate import ADAPTER, NATIVE, TARGET, check_ids
from fleetgate.protocols.json_text import dump

INQUIRY: Final = "inquiry "
TIMEOUT: Final = "timeout"
DUPLICATE: Final = "duplicate request id"

_MOST: Final = 256
"""Questions under way at once on a link: one more is refused. Each waits in the core."""

_MARGIN: Final = SECOND
"""By how much the core waits longer than we do: the answer to a timeout is ours."""


def check(request: w.NodeCommandRequest) -> None:
    """Refuse what is wrong with a question. Raises: `Refused`."""
    check_ids(request_id=request.request_id, session_id=request.session_id)
    if request.timeout_sec < 0:
        raise Refused("invalid_argument", "timeout_sec must be 0 or above")


def unsupported(request: w.NodeCommandRequest) -> str:
    """The error for a question that is none of ours; empty: it is one."""
    known = request.type == w.CommandType.USAGE_STATUS
    return "" if known else f"unsupported command type {request.type}"


def answer_to(
    request: w.NodeCommandRequest, error: str = "", status: w.AgentUsageStatus | None = None
) -> w.NodeCommandResponse:
    """An answer that repeats what was asked."""
    return w.NodeCommandResponse(
        request.request_id,
        request.type,
        request.adapter,
        request.target,
        request.session_id,
        status,
        error,
    )


def patience(request: w.NodeCommandRequest, default: float) -> int:
    """How long an answer may take, in nanoseconds."""
    return nanos(request.timeout_sec or default)


def to_command(
    request: w.NodeCommandRequest, link: str, within: int, *, placed: bool = False
) -> c.ReadUsage:
    """What the core is asked. `placed`: the metadata may name the node."""
    named = request.metadata.get(NAMED, "") if placed else ""
    labels = {ADAPTER: request.adapter, TARGET: request.target, NAMED: named}
    return c.ReadUsage(
        link,
        one=True,
        labels={key: value for key, value in labels.items() if value},
        session=SessionId(request.session_id) if request.session_id else None,
        native={NATIVE: codec.to_json(attrs.evolve(request, request_id=""))},
        within=within + _MARGIN,
    )


def to_cancel(request: w.CancelRequest, run: RunId) -> c.Command:
    """What a cancel asks of the core. Raises: `Refused`."""
    match request.action:
        case w.CancelAction.UNSPECIFIED | w.CancelAction.CANCEL_RUN:
            return c.CancelRun(run)
        case w.CancelAction.TERMINATE_SESSION if not request.session_id:
            raise Refused("session_not_found", "session_id must name a session to terminate")
        case w.CancelAction.TERMINATE_SESSION:
            return c.EndSession(SessionId(request.session_id))
        case other:
            raise Refused("invalid_argument", f"action {other} is not known")


def to_response(request: w.NodeCommandRequest, answer: Answer) -> w.NodeCommandResponse:
    """What the core's answer is here."""
    if isinstance(answer, Refusal):
        return answer_to(request, str(of_refusal(answer)))
    accounts = answer.accounts if isinstance(answer, AccountList) else ()
    for report in accounts:
        if report.supported:
            return answer_to(request, report.error or "", _status(report.usage))
    return answer_to(request, _why_not(accounts))


def _why_not(accounts: Sequence[AccountReport]) -> str:
    said = [report.error for report in accounts if report.error]
    return said[0] if said else "usage is not supported here"


_TEXTS: Final = tuple(
    member.name for member in attrs.fields(w.AgentUsageStatus) if member.default == ""
)


def _status(usage: Json) -> w.AgentUsageStatus:
    """A status of this protocol as it was; of another one the text of all of it."""
    if not isinstance(usage, Mapping) or not usage.keys() <= {*_TEXTS, "metadata"}:
        return w.AgentUsageStatus(raw_output=usage if isinstance(usage, str) else dump(usage))
    texts: dict[str, Any] = {
        key: value for key in _TEXTS if isinstance(value := usage.get(key), str)
    }
    metadata = usage.get("metadata")
    kept = metadata if isinstance(metadata, Mapping) else NOTHING
    return w.AgentUsageStatus(
        **texts, metadata={key: value for key, value in kept.items() if isinstance(value, str)}
    )


class Inquiries:
    """Those under way on a node's link, by the peer's own ids."""

    def __init__(self, settings: NorthSettings, deadlines: Deadlines) -> None:
        self._settings = settings
        self._deadlines = deadlines
        self._open: dict[str, w.NodeCommandRequest] = {}

    def take(
        self, request: w.NodeCommandRequest, link: str, applied: Applied, now: int
    ) -> Submit | w.NodeCommandResponse:
        """A question: what the core is to be asked, or the answer at once."""
        try:
            check(request)
            if request.adapter:
                applied.check_adapter(request.adapter)
        except Refused as refused:
            return answer_to(
                attrs.evolve(request, request_id=request.request_id[:64]), str(refused)
            )
        error = unsupported(request)
        if request.request_id in self._open:
            error = DUPLICATE
        elif not error and len(self._open) >= _MOST:
            error = f"resource_exhausted: {_MOST} commands are under way"
        if error:
            return answer_to(request, error)
        self._open[request.request_id] = request
        within = patience(request, self._settings.command_timeout)
        self._deadlines.set(INQUIRY + request.request_id, now + within)
        return Submit(to_command(request, link, within), ("inquiry", request))

    def answered(
        self, request: w.NodeCommandRequest, answer: Answer
    ) -> tuple[w.NodeCommandResponse, ...]:
        """The core has answered; too late, it changes nothing."""
        if self._open.get(request.request_id) is not request:
            return ()
        del self._open[request.request_id]
        self._deadlines.clear(INQUIRY + request.request_id)
        return (to_response(request, answer),)

    def overdue(self, name: str) -> tuple[w.NodeCommandResponse, ...]:
        """Its time is over."""
        request = self._open.pop(name.removeprefix(INQUIRY), None)
        return () if request is None else (answer_to(request, TIMEOUT),)
