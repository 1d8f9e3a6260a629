"""Starting runs, attaching to them, and what comes of them: sections 4.2, 4.4 and 5."""

from __future__ import annotations

from typing import Any, Final

from fleetgate.gateway.tck.agency.daemon import (
    STATES_AT_END,
    TERMINAL,
    Client,
    DaemonAttempt,
    type_of,
)
from fleetgate.gateway.tck.agency.talk import MOST, dumped, expect_keys, expect_members
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("runs")

SNAPSHOT: Final = (
    "runId",
    "state",
    "provider",
    "model",
    "providerSessionId",
    "latestSequence",
    "acknowledgedSequence",
    "workspaceRoots",
    "metadata",
)
"""A snapshot's keys, as they are written."""

KEPT: Final = 2048
"""Events of a run that an attachment may reach back."""

_GREETED: Final = "a connection on which hello was answered"
_ENDED: Final = "a run that has ended"


def numbers(events: list[Any]) -> list[Any]:
    """The sequences of events."""
    return [event.get("sequence") for event in events]


def expect_numbers(events: list[Any], first: int) -> None:
    """Sequences must rise by one from `first`."""
    wanted = list(range(first, first + len(events)))
    if numbers(events) != wanted:
        raise Unmet(f"sequences from {first}, each one more", f"{numbers(events)!r:.200} came")


@TOPIC.must(
    "AGENCY-D-040",
    given=_GREETED,
    when="a run is started with the smallest request, and attached to after 0",
    expect="accepted, no event before the attachment, its snapshot, then events 1, 2, 3…",
    source="agency 4.2, 4.4; case E35",
)
async def started(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run = await kit.start(client)
    early = await client.rest()
    if early:
        raise Unmet("no event before the run is attached to", f"{dumped(early[0])[:300]} came")
    expect_members(await client.attach(run), "the snapshot", runId=run)
    expect_numbers(await client.events(run), 1)


@TOPIC.must(
    "AGENCY-D-041",
    given=_GREETED,
    when="a run with metadata is attached to",
    expect="a snapshot with every key in the declared order, and the metadata as it was given",
    source="agency 3.2, 2.3",
)
async def snapshot(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    metadata = {"projectId": "p1", "n": [1, None]}
    run = await kit.start(client, metadata=metadata)
    found = await client.attach(run)
    expect_keys(found, SNAPSHOT, "a snapshot")
    given = kit.given
    expect_members(
        found,
        "the snapshot",
        runId=run,
        provider=given.provider,
        model=given.model,
        workspaceRoots=[given.workspace],
        acknowledgedSequence=0,
    )
    if found["metadata"] != metadata:
        raise Unmet(f"the metadata {dumped(metadata)}", f"{dumped(found['metadata'])[:300]} came")
    await client.events(run)


@TOPIC.must(
    "AGENCY-D-042",
    given="a run that is attached to",
    when="it ends",
    expect="exactly one finished or failed, nothing behind it, and a snapshot that has ended",
    source="agency 5, 4.4",
)
async def one_end(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run, events = await kit.finished(client)
    if more := await client.rest():
        raise Unmet("nothing behind the run's end", f"{dumped(more[0])[:300]} came")
    ends = [type_of(event) for event in events if type_of(event) in TERMINAL]
    if len(ends) != 1:
        raise Unmet("one end", f"{ends} came")
    found = await client.listed(run)
    if found.get("state") not in STATES_AT_END:
        raise Unmet(f"a state out of {', '.join(STATES_AT_END)}", f"{found.get('state')!r} came")
    expect_members(found, "the snapshot", latestSequence=len(events))


@TOPIC.must(
    "AGENCY-D-043",
    given=_ENDED,
    when="a run is started with its id",
    expect="the error conflict: an id is never used again; and the connection stays up",
    source="agency 4.2",
)
async def taken(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run, _ = await kit.finished(client)
    id = await client.ask("start_run", run_id=run, request=kit.request(), idempotency_key="other")
    await client.refused(id, "conflict", "a second start of a run")
    await client.expect_alive()


@TOPIC.must(
    "AGENCY-D-044",
    given=_GREETED,
    when="a run names a provider, or a permission, that there is not",
    expect="the error protocol_violation, and the connection stays up",
    source="agency 4.2, 6",
)
async def unsupported(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    for wrong in ({"provider": "nobody"}, {"permission": "everything"}):
        request = {**kit.request(), **wrong}
        id = await client.ask("start_run", run_id=kit.name(), request=request, idempotency_key="k")
        await client.refused(id, "protocol_violation", f"a start with {dumped(wrong)}")
    await client.expect_alive()


@TOPIC.must(
    "AGENCY-D-045",
    given="a start that was refused",
    when="the same id is started with a good request",
    expect="accepted: a failed start leaves no run behind",
    source="agency 4.2",
)
async def retried(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run, request = kit.name(), {**kit.request(), "provider": "nobody"}
    id = await client.ask("start_run", run_id=run, request=request, idempotency_key="k")
    await client.refused(id, "protocol_violation", "a start with an unknown provider")
    id = await client.ask("start_run", run_id=run, request=kit.request(), idempotency_key="k")
    await client.accepted(id, "the start with the same id")


@TOPIC.must(
    "AGENCY-D-046",
    given=_GREETED,
    when="an unknown run is attached to, injected into, canceled, decided about, or acknowledged",
    expect="the error not_found each time; for detach_run accepted",
    source="agency 4.2; case E37",
)
async def unknown(kit: DaemonAttempt) -> None:
    client, run = await kit.greeted(), kit.name("nobody")
    key: dict[str, object] = {"idempotency_key": "k"}
    asked: tuple[tuple[str, dict[str, object]], ...] = (
        ("attach_run", {"after_sequence": 0}),
        ("inject_message", {"body": "b", **key}),
        ("cancel_run", key),
        ("decide_approval", {"approval_id": "a", "decision": "deny", **key}),
        ("ack_events", {"through_sequence": 1}),
    )
    for type, members in asked:
        await client.refused(await client.ask(type, run_id=run, **members), "not_found", type)
    await client.accepted(await client.ask("detach_run", run_id=run), "detach_run")


@TOPIC.must(
    "AGENCY-D-047",
    given=_ENDED,
    when="it is attached to after the first of its events",
    expect="its snapshot, and then only those behind it, with their own numbers",
    source="agency 4.4",
)
async def replayed(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run, events = await kit.finished(client)
    if len(events) < 2:
        raise Skipped("the run made one event: give --prompt a prompt that makes two")
    other = await kit.greeted()
    await other.attach(run, after=1)
    again = await other.rest()
    expect_numbers(again, 2)
    if again != events[1:]:
        raise Unmet("the same events again", f"{dumped(again)[:300]} came")


@TOPIC.must(
    "AGENCY-D-048",
    given="runs that were started in no order of their ids",
    when="they are listed",
    expect="every run, ended ones too, in byte order of their ids",
    source="agency 4.2",
)
async def sorted_list(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    stem = kit.name()
    for letter in ("b", "a", "Z"):
        run = f"{stem}-{letter}"
        id = await client.ask("start_run", run_id=run, request=kit.request(), idempotency_key=run)
        await client.accepted(id, "start_run")
    ids = [str(each.get("runId")) for each in await client.list_runs()]
    if ids != sorted(ids, key=str.encode):
        raise Unmet("the ids in byte order", f"{ids!r:.300} came")
    wanted = [f"{stem}-{letter}" for letter in ("Z", "a", "b")]
    if [id for id in ids if id.startswith(stem)] != wanted:
        raise Unmet(f"{wanted} among the runs", f"{ids!r:.300} came")


@TOPIC.must(
    "AGENCY-D-049",
    given="a run that two connections are attached to",
    when="it makes events",
    expect="each connection gets all of them, the same",
    source="agency 4.4",
)
async def watched_twice(kit: DaemonAttempt) -> None:
    first, second = await kit.greeted(), await kit.greeted()
    run = await kit.start(first)
    await first.attach(run)
    await second.attach(run)
    if await first.events(run) != await second.events(run):
        raise Unmet("the same events on both", "they differ")


@TOPIC.must(
    "AGENCY-D-050",
    given="a connection that is attached to nothing",
    when="a run makes events",
    expect="none of them there",
    source="agency 4.4",
)
async def unattached(kit: DaemonAttempt) -> None:
    other = await kit.greeted()
    await kit.finished(await kit.greeted())
    await other.expect_quiet("no event of a run that is not attached to")


@TOPIC.must(
    "AGENCY-D-051",
    given="a run whose client has disconnected",
    when="another client attaches after 0",
    expect="the run went on, and all of its events are there",
    source="agency 4.1 (6)",
)
async def left_alone(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run = await kit.start(client)
    await client.close()
    other = await kit.greeted()
    await other.attach(run)
    expect_numbers(await other.events(run), 1)


async def _ack(client: Client, run: str, through: int) -> None:
    id = await client.ask("ack_events", run_id=run, through_sequence=through)
    await client.accepted(id, "ack_events")


@TOPIC.must(
    "AGENCY-D-052",
    given=_ENDED,
    when="events are acknowledged: one, then up to 18446744073709551615, then one again",
    expect="accepted; acknowledgedSequence rises, never above latestSequence, and never falls",
    source="agency 4.4",
)
async def acknowledged(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run, events = await kit.finished(client)
    last = len(events)
    for through, wanted in ((1, 1), (MOST, last), (1, last)):
        await _ack(client, run, through)
        expect_members(await client.listed(run), "the snapshot", acknowledgedSequence=wanted)


@TOPIC.info(
    "AGENCY-D-053",
    given="a run whose events were all acknowledged",
    when="it is attached to after 0",
    expect="an attachment that begins behind them: the genuine daemon does not raise the floor",
    source="agency 4.4",
)
async def after_ack(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run, _ = await kit.finished(client)
    await _ack(client, run, MOST)
    await client.attach(run)
    await client.expect_quiet("no acknowledged event")


@TOPIC.should(
    "AGENCY-D-054",
    given="a run of more than 2048 events, none acknowledged",
    when="it is attached to after 0, then one before the floor that the error names, then there",
    expect="the error conflict twice, and then the last 2048 events",
    source="agency 4.4; case E43",
)
async def bounded(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run = await kit.start(client, kit.given.burst_prompt)
    await client.attach(run)
    last = len(await client.events(run))
    if last <= KEPT:
        raise Skipped(f"the run made {last} events: give --burst-prompt one that makes more")
    floor = last - KEPT
    for after in (0, floor - 1):
        words = f"requested replay sequence {after} is older than retained sequence {floor}"
        id = await client.ask("attach_run", run_id=run, after_sequence=after)
        await client.refused(id, "conflict", "an attachment behind the floor", words)
    await client.attach(run, after=floor)
    again = await client.events(run)
    expect_numbers(again, floor + 1)
    if len(again) != KEPT:
        raise Unmet(f"{KEPT} events", f"{len(again)} came")


@TOPIC.must(
    "AGENCY-D-055",
    given=_ENDED,
    when="it is attached to once more",
    expect="a snapshot as the list has it: ended, with the number of its events as latestSequence",
    source="agency 3.2, 4.2, 4.4",
)
async def late_snapshot(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run, events = await kit.finished(client)
    found = await (await kit.greeted()).attach(run, after=len(events))
    expect_members(found, "the snapshot", latestSequence=len(events))
    if found != (wanted := await client.listed(run)):
        raise Unmet(f"the snapshot {dumped(wanted)[:300]}", f"{dumped(found)[:300]} came")


@TOPIC.must(
    "AGENCY-D-056",
    given=_ENDED,
    when="events are acknowledged, one, all, one again, and it is attached to after each",
    expect="snapshots whose acknowledgedSequence is the highest yet, of at most latestSequence",
    source="agency 3.2, 4.4",
)
async def acknowledged_snapshot(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run, events = await kit.finished(client)
    last = len(events)
    for through, wanted in ((1, 1), (MOST, last), (1, last)):
        await _ack(client, run, through)
        found = await client.attach(run, after=last)
        expect_members(found, "the snapshot", acknowledgedSequence=wanted)
