"""What a client does with its runs: sections 3.1, 4.2 to 4.5 and 7. Somebody must make it start
some: `--on run`, `--on send`, `--on approve`, `--on cancel`."""

from __future__ import annotations

from typing import Any, Final

from fleetgate.gateway.tck.agency.client import FINISHED, ClientAttempt, Daemon, snapshot
from fleetgate.gateway.tck.agency.talk import (
    MOST,
    dumped,
    expect_keys,
    expect_members,
    member_object,
)
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("runs")

REQUEST: Final = (
    "provider",
    "model",
    "prompt",
    "isCommand",
    "system",
    "permission",
    "effort",
    "extraThinking",
    "approvals",
    "interactive",
    "workspaceRoots",
    "resumeSessionId",
    "binary",
    "environment",
    "uncheckedArgs",
    "metadata",
)
"""A request's keys, as they are written."""

NEEDED: Final = {
    "provider": str,
    "model": str,
    "prompt": str,
    "permission": str,
    "approvals": bool,
    "interactive": bool,
    "workspaceRoots": list,
}
"""Those that must be there, and their types."""

_ASKED: Final = "a client that is asked for a run (--on run)"
_RUNS: Final = "a client with a run that goes on"


@TOPIC.must(
    "AGENCY-C-040",
    given=_ASKED,
    when="it starts it",
    expect="start_run with run_id, idempotency_key and a request with every member that must be "
    "there, each of its type",
    source="agency 3.1, 2.3",
)
async def started(kit: ClientAttempt) -> None:
    start = await kit.start_of(await kit.welcomed())
    request = member_object(start, "request", "start_run")
    for name, type in NEEDED.items():
        if not isinstance(request.get(name), type):
            raise Unmet(f"{name} in the request", f"{dumped(request)[:300]} came")
    for name in ("run_id", "idempotency_key"):
        if not isinstance(start.get(name), str) or not start[name]:
            raise Unmet(f"{name} in start_run", f"{dumped(start)[:300]} came")


@TOPIC.should(
    "AGENCY-C-041",
    given=_ASKED,
    when="it starts it",
    expect="every key of the request, nulls too, in the declared order, and the prompt as given",
    source="agency 3.1, 2.3",
)
async def whole(kit: ClientAttempt) -> None:
    start = await kit.start_of(await kit.welcomed())
    expect_keys(start, ("requestId", "type", "run_id", "request", "idempotency_key"), "start_run")
    expect_keys(start["request"], REQUEST, "a request")
    expect_members(start["request"], "the request", prompt=kit.given.prompt)


@TOPIC.should(
    "AGENCY-C-042",
    given=_ASKED,
    when="start_run is accepted",
    expect="attach_run for it, after 0",
    source="agency 4.2, 4.4",
)
async def attached(kit: ClientAttempt) -> None:
    daemon = await kit.welcomed()
    start = await kit.start_of(daemon)
    await daemon.reply(start)
    attach = await daemon.asked("attach_run", start["run_id"])
    expect_members(attach, "attach_run", after_sequence=0)


@TOPIC.should(
    "AGENCY-C-043",
    given=_ASKED,
    when="start_run is answered with the error conflict",
    expect="attach_run all the same: conflict means that the run has been started",
    source="agency 4.3, 7",
)
async def taken(kit: ClientAttempt) -> None:
    daemon = await kit.welcomed()
    start = await kit.start_of(daemon)
    await daemon.reply(start, "error", code="conflict", message="run already exists")
    await daemon.asked("attach_run", start["run_id"])


async def _tell(daemon: Daemon, run: str, *texts: str, first: int = 1) -> None:
    for sequence, text in enumerate(texts, first):
        await daemon.event(run, sequence, "text", text)


def _acks(daemon: Daemon, run: str) -> list[Any]:
    return [
        request.get("through_sequence")
        for request in daemon.heard
        if request.get("type") == "ack_events" and request.get("run_id") == run
    ]


@TOPIC.must(
    "AGENCY-C-044",
    given=_RUNS,
    when="three events come, one of them twice",
    expect="no acknowledgement of an event that was not sent: it would be lost for everybody",
    source="agency 4.4, 11",
)
async def acknowledged(kit: ClientAttempt) -> None:
    daemon = await kit.welcomed()
    run = (await kit.running(daemon))["run_id"]
    await _tell(daemon, run, "a", "b")
    await _tell(daemon, run, "b", "c", first=2)
    await daemon.settle()
    if [each for each in _acks(daemon, run) if type(each) is not int or each > 3]:
        raise Unmet("acknowledgements up to 3", f"{_acks(daemon, run)} came")


@TOPIC.must(
    "AGENCY-C-045",
    given=_RUNS,
    when="it ends",
    expect="that the client stays; acknowledgements up to its last event, or up to "
    "18446744073709551615",
    source="agency 4.4, 7",
)
async def finished(kit: ClientAttempt) -> None:
    daemon = await kit.welcomed()
    run = (await kit.running(daemon))["run_id"]
    await _tell(daemon, run, "a")
    await daemon.event(run, 2, "finished", FINISHED)
    await daemon.settle()
    if [each for each in _acks(daemon, run) if each not in (1, 2, MOST)]:
        raise Unmet("acknowledgements up to 2, or of all", f"{_acks(daemon, run)} came")


@TOPIC.should(
    "AGENCY-C-046",
    given="a client whose link was lost behind two events of a run",
    when="it has come again, and the run is in the daemon's list",
    expect="attach_run behind an event that it has had, and not beyond the last",
    source="agency 7",
)
async def reattached(kit: ClientAttempt) -> None:
    daemon = await kit.welcomed()
    start = await kit.running(daemon)
    run = start["run_id"]
    await _tell(daemon, run, "a", "b")
    await daemon.settle()
    await daemon.close(None)
    daemon = await kit.arrive()
    await daemon.welcome()
    after = await _attached_again(daemon, start)
    if after not in (1, 2):
        raise Unmet("after_sequence 1 or 2", f"{after} came")


async def _attached_again(daemon: Daemon, start: Any) -> Any:
    """From where it attaches, the run being in the list. It may ask for older ones of its, too."""
    while True:
        request = await daemon.request("attach_run")
        if request["type"] == "list_runs":
            await daemon.reply(request, "runs", runs=[snapshot(start, latestSequence=2)])
        elif request["type"] == "attach_run" and request.get("run_id") == start["run_id"]:
            return request.get("after_sequence")
        else:
            await daemon.reply_idly(request)


@TOPIC.must(
    "AGENCY-C-047",
    given=_RUNS,
    when="it is to be canceled (--on cancel), and the answer is the error conflict",
    expect="cancel_run with run_id and idempotency_key; and that the client stays: it was canceled",
    source="agency 3.1, 4.5, 7",
)
async def canceled(kit: ClientAttempt) -> None:
    daemon = await kit.welcomed()
    run = (await kit.running(daemon))["run_id"]
    cancel = await kit.wanted(daemon, "cancel", "cancel_run", run, run=run)
    _expect_key(cancel)
    await daemon.reply(cancel, "error", code="conflict", message="run already exists")
    await daemon.settle()


def _expect_key(request: Any) -> None:
    if not isinstance(request.get("idempotency_key"), str):
        raise Unmet("an idempotency_key", f"{dumped(request)[:300]} came")


@TOPIC.must(
    "AGENCY-C-048",
    given=_RUNS,
    when="it is to be told something (--on send)",
    expect="inject_message with run_id, body and idempotency_key",
    source="agency 3.1, 4.5",
)
async def told(kit: ClientAttempt) -> None:
    daemon = await kit.welcomed()
    run = (await kit.running(daemon))["run_id"]
    inject = await kit.wanted(daemon, "send", "inject_message", run, run=run, text="also this")
    _expect_key(inject)
    body = inject.get("body")
    if not isinstance(body, str) or "also this" not in body:
        raise Unmet("the text in body", f"{dumped(inject)[:300]} came")
    await daemon.reply(inject)
    await daemon.settle()


@TOPIC.must(
    "AGENCY-C-049",
    given="a client with a run that asks for an approval",
    when="it is to be allowed (--on approve)",
    expect="decide_approval with run_id, that approval_id, an allowing decision and "
    "idempotency_key",
    source="agency 3.1, 4.5",
)
async def approved(kit: ClientAttempt) -> None:
    daemon = await kit.welcomed()
    run = (await kit.running(daemon))["run_id"]
    payload = {"approval_id": "ap-1", "title": "Bash", "detail": {"command": "touch x"}}
    await daemon.event(run, 1, "approval_requested", payload)
    await daemon.settle()
    decide = await kit.wanted(daemon, "approve", "decide_approval", run, run=run, approval="ap-1")
    _expect_key(decide)
    expect_members(decide, "decide_approval", approval_id="ap-1")
    if decide.get("decision") not in ("allow_once", "allow_similar"):
        raise Unmet("allow_once or allow_similar", f"{decide.get('decision')!r} came")
    await daemon.reply(decide)
    await daemon.settle()
