"""Cancel, inject, decide, detach: sections 4.3, 4.4 and 4.5."""

from __future__ import annotations

from typing import Any, Final

from fleetgate.gateway.tck.agency.daemon import TERMINAL, Client, DaemonAttempt, type_of
from fleetgate.gateway.tck.agency.talk import dumped, expect_keys, expect_members
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("control")

CANCELED: Final = "the run was canceled"

_WORKING: Final = "a run that goes on, attached to"


async def _cancel(client: Client, run: str) -> int:
    return await client.ask("cancel_run", run_id=run, idempotency_key=f"{run}:cancel")


async def _inject(client: Client, run: str, body: str = "go on") -> int:
    key = f"{run}:inject"
    return await client.ask("inject_message", run_id=run, body=body, idempotency_key=key)


async def _decide(client: Client, run: str, approval: str, decision: str = "allow_once") -> int:
    return await client.ask(
        "decide_approval",
        run_id=run,
        approval_id=approval,
        decision=decision,
        idempotency_key=f"{run}:approval:{approval}",
    )


@TOPIC.must(
    "AGENCY-D-060",
    given=_WORKING,
    when="it is canceled",
    expect='accepted, then failed "the run was canceled" and no finished; the state is canceled',
    source="agency 4.5; case E41",
)
async def canceled(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run = await kit.holding(client)
    early: list[Any] = []
    await client.accepted(await _cancel(client, run), "cancel_run", early)
    if any(type_of(event) in TERMINAL for event in early):
        raise Unmet("accepted before the run's end", "the end came first")
    end = (await client.events(run))[-1]
    if end.get("event") != {"type": "failed", "payload": CANCELED}:
        raise Unmet(f"failed {CANCELED!r}", f"{dumped(end)[:300]} came")
    expect_members(await client.listed(run), "the snapshot", state="canceled")


@TOPIC.must(
    "AGENCY-D-061",
    given="a run that was canceled",
    when="it is canceled again",
    expect="the error conflict",
    source="agency 4.5",
)
async def canceled_twice(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run = await kit.holding(client)
    await client.accepted(await _cancel(client, run), "cancel_run")
    await client.events(run)
    await client.refused(await _cancel(client, run), "conflict", "a second cancel")


@TOPIC.must(
    "AGENCY-D-062",
    given="a run that ended by itself",
    when="it is canceled, twice",
    expect="accepted, then the error conflict; its state stays",
    source="agency 4.5; case E39",
)
async def canceled_late(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run, _ = await kit.finished(client)
    before = (await client.listed(run)).get("state")
    await client.accepted(await _cancel(client, run), "cancel_run of an ended run")
    await client.refused(await _cancel(client, run), "conflict", "a second cancel")
    expect_members(await client.listed(run), "the snapshot", state=before)


@TOPIC.must(
    "AGENCY-D-063",
    given="a run that listens to nobody: neither interactive nor with approvals",
    when="a message is injected",
    expect="the error internal",
    source="agency 4.5",
)
async def deaf(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run = await kit.holding(client)
    await client.refused(await _inject(client, run), "internal", "a message for a deaf run")
    await kit.cancel(client, run)


@TOPIC.must(
    "AGENCY-D-064",
    given="an interactive run that takes two messages",
    when="the same message is injected twice with one idempotency key",
    expect="accepted twice, and both reach the run: keys mean nothing",
    source="agency 4.3; case E47",
)
async def injected_twice(kit: DaemonAttempt) -> None:
    if not kit.given.listen_prompt:
        raise Skipped("it needs a run that takes messages: give --listen-prompt")
    client = await kit.greeted()
    run = await kit.start(client, kit.given.listen_prompt, interactive=True)
    await client.attach(run)
    past: list[Any] = []
    for _ in range(2):
        await client.accepted(await _inject(client, run), "inject_message", past)
    if any(type_of(event) in TERMINAL for event in past):
        raise Skipped("the run ended by itself: give --listen-prompt one whose run takes two")
    await client.events(run)


@TOPIC.must(
    "AGENCY-D-065",
    given="a run that has ended",
    when="a message is injected, or an approval decided",
    expect="the error internal",
    source="agency 4.5; case E39",
)
async def too_late(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run = await kit.start(client, interactive=True)
    await client.attach(run)
    await client.events(run)
    await client.refused(await _inject(client, run), "internal", "a message for an ended run")
    await client.refused(await _decide(client, run, "a"), "internal", "a decision for an ended run")


@TOPIC.must(
    "AGENCY-D-066",
    given="a run with approvals that asks for one",
    when="it is allowed",
    expect="approval_requested with approval_id, title and detail; the state waiting_approval; "
    "accepted; and the run goes on to its end",
    source="agency 3.3, 4.5, 5",
)
async def approved(kit: DaemonAttempt) -> None:
    client, run, payload = await _asking(kit)
    expect_members(await client.listed(run), "the snapshot", state="waiting_approval")
    id = await _decide(client, run, str(payload["approval_id"]))
    past: list[Any] = []
    await client.accepted(id, "decide_approval", past)
    if not any(type_of(event) in TERMINAL for event in past):
        await client.events(run)
    if (state := (await client.listed(run)).get("state")) != "completed":
        raise Unmet("that an allowed run completes", f"its state is {state!r}")


async def _asking(kit: DaemonAttempt) -> tuple[Client, str, dict[str, Any]]:
    """A run that waits for an approval, and what it asks for."""
    if not kit.given.ask_prompt:
        raise Skipped("it needs a run that asks for an approval: give --ask-prompt")
    client = await kit.greeted()
    run = await kit.start(client, kit.given.ask_prompt, approvals=True)
    await client.attach(run)
    asked = (await client.events(run, "approval_requested"))[-1]
    payload = asked["event"].get("payload")
    expect_keys(payload, ("approval_id", "title", "detail"), "the payload of approval_requested")
    return client, run, payload


@TOPIC.must(
    "AGENCY-D-067",
    given="a run that was started without approvals",
    when="an approval is decided",
    expect="the error internal",
    source="agency 4.5",
)
async def unasked(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run = await kit.holding(client)
    await client.refused(await _decide(client, run, "a"), "internal", "a decision nobody wants")
    await kit.cancel(client, run)


@TOPIC.must(
    "AGENCY-D-068",
    given="a run that takes messages, attached to",
    when="it is detached from, and then makes more events",
    expect="accepted, and once the queue is empty no event any more",
    source="agency 4.4; case E45",
)
async def detached(kit: DaemonAttempt) -> None:
    client, other = await kit.greeted(), await kit.greeted()
    run = await kit.holding(client)
    await client.accepted(await client.ask("detach_run", run_id=run), "detach_run")
    await client.rest()
    await kit.cancel(other, run)
    await client.expect_quiet("no event of a run that was detached from")
    expect_members(await client.listed(run), "the snapshot", runId=run)


@TOPIC.must(
    "AGENCY-D-069",
    given=_WORKING,
    when="it is attached to again on the same connection, after its last event",
    expect="a snapshot, and every later event once",
    source="agency 4.4",
)
async def reattached(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run = await kit.holding(client)
    await client.rest()
    last = (await client.listed(run)).get("latestSequence")
    await client.attach(run, after=last)
    again: list[Any] = []
    await client.accepted(await _cancel(client, run), "cancel_run", again)
    again += await client.events(run)
    came = [event.get("sequence") for event in again]
    if came != list(range(last + 1, last + 1 + len(came))):
        raise Unmet(f"sequences from {last + 1}, each once", f"{came} came")
