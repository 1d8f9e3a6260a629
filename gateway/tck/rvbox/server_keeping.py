"""What a server makes of its commands from link to link: "Session" 4 to 8, "Further rules",
Reconcile. Somebody must make it start some: `--on run`, `--on send`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.gateway.tck.rvbox.client import Client, ServerAttempt, told
from fleetgate.gateway.tck.rvbox.server_commands import EXIT, OUT, come_again, state_of
from fleetgate.gateway.tck.rvbox.talk import digest
from fleetgate.protocols.rvbox import wire as w

TOPIC: Final = Topic("keeping")

_RUNS: Final = "a command that was accepted and runs"
_SENT: Final = "a command that was dispatched, and not answered"
_GONE: Final = "that it is not dispatched again, and that no later ReconcileRequest names it"


def other_instance(hello: w.ClientHello) -> w.ClientHello:
    """The same client, started anew without its state."""
    return attrs.evolve(hello, client_instance_id=told("x").client_instance_id)


async def _shows(client: Client, *states: w.ReconcileCommandState) -> w.ReconcileResult:
    """The result of a session's first snapshot."""
    result = await client.reconcile(*states)
    await client.report()
    return result


async def _expect_given_up(
    kit: ServerAttempt, client: Client, hello: w.ClientHello, dispatch: w.CommandDispatch
) -> None:
    """In this session the command is not dispatched, and in the next it is no target."""
    uuid = dispatch.issue_uuid
    for each in await client.settle():
        if isinstance(each, w.CommandDispatch) and each.issue_uuid == uuid:
            raise Unmet("that it is not dispatched again", "it is")
    client = await come_again(kit, client, hello)
    request = await client.hear_a(w.ReconcileRequest)
    if any(target.issue_uuid == uuid for target in request.targets):
        raise Unmet("that it is no target any more", f"{request.targets} came")


async def _expect_again(client: Client, dispatch: w.CommandDispatch) -> None:
    """The command is dispatched to this session: the same request."""
    again = await client.until(
        w.CommandDispatch, lambda each: each.issue_uuid == dispatch.issue_uuid
    )
    wanted = attrs.evolve(dispatch, target_session_generation=client.generation)
    if again != wanted:
        raise Unmet(f"{wanted!r:.300}", f"{again!r:.300} came")


@TOPIC.must(
    "RVBOX-S-060",
    given=f"{_RUNS}, and two writes to it (--on send), of which a stdin_ack names the first",
    when="the link is lost, and the client comes again and retains it",
    expect="after the result StdinWrite 2 again, with its bytes, and not 1",
    source="rvbox 1, Further rules, Stdin",
)
async def written_again(kit: ServerAttempt) -> None:
    client, hello, dispatch = await kit.running()
    writes: list[w.StdinWrite] = []
    for text in ("one", "two"):
        details = {"run": dispatch.issue_uuid, "text": text}
        writes.append(await kit.asked(client, w.StdinWrite, "send", **details))
    await client.tell(dispatch, 3, w.StdinAck(1))
    await client.acked(dispatch, 3)
    client = await come_again(kit, client, hello)
    await _shows(client, state_of(dispatch, 3))
    came = [await client.until(w.StdinWrite, lambda _: True)]
    came += [each for each in await client.settle() if isinstance(each, w.StdinWrite)]
    if came != writes[1:]:
        raise Unmet(f"{writes[1:]}", f"{came!r:.300} came")


@TOPIC.must(
    "RVBOX-S-061",
    given=_RUNS,
    when="the link is lost, and the next snapshot has it with tombstoned true",
    expect=_GONE,
    source="rvbox 1, Further rules, Reconcile: a target shown as tombstoned",
)
async def buried_there(kit: ServerAttempt) -> None:
    client, hello, dispatch = await kit.running()
    await client.acked(dispatch, 2)
    client = await come_again(kit, client, hello)
    await _shows(client, attrs.evolve(state_of(dispatch, 2), tombstoned=True))
    await _expect_given_up(kit, client, hello, dispatch)


@TOPIC.must(
    "RVBOX-S-062",
    given=_RUNS,
    when="the link is lost, and the next snapshot does not have it",
    expect=_GONE,
    source="rvbox 1, Session 7: a target missing from the snapshot",
)
async def missing(kit: ServerAttempt) -> None:
    client, hello, dispatch = await kit.running()
    await client.acked(dispatch, 2)
    client = await come_again(kit, client, hello)
    await _shows(client)
    await _expect_given_up(kit, client, hello, dispatch)


@TOPIC.must(
    "RVBOX-S-063",
    given=_SENT,
    when="the link is lost, and the next snapshot does not have it",
    expect="the same dispatch again, for the new generation",
    source="rvbox 1, Session 7: never accepted",
)
async def never_arrived(kit: ServerAttempt) -> None:
    await _dispatched_again(kit, same=True)


async def _dispatched_again(kit: ServerAttempt, *, same: bool) -> None:
    hello = told(kit.client_id())
    client = await kit.opened(hello)
    dispatch = await kit.dispatched(client, hello)
    client = await come_again(kit, client, hello if same else other_instance(hello))
    await _shows(client)
    await _expect_again(client, dispatch)


@TOPIC.must(
    "RVBOX-S-064",
    given=_RUNS,
    when="the link is lost, and another client_instance_id comes, which retains nothing",
    expect=f"that it is welcome, the older link being dead; {_GONE}",
    source="rvbox 1, Session 4",
)
async def other_comes(kit: ServerAttempt) -> None:
    client, hello, dispatch = await kit.running()
    await client.acked(dispatch, 2)
    other = other_instance(hello)
    client = await come_again(kit, client, other)
    await _shows(client)
    await _expect_given_up(kit, client, other, dispatch)


@TOPIC.must(
    "RVBOX-S-065",
    given=_RUNS,
    when="the link is lost, and another client_instance_id comes, which retains it",
    expect="that it is not terminated, and goes on there: its events are acknowledged",
    source="rvbox 1, Session 4: unless the new snapshot claims it",
)
async def other_claims(kit: ServerAttempt) -> None:
    client, hello, dispatch = await kit.running()
    await client.acked(dispatch, 2)
    client = await come_again(kit, client, other_instance(hello))
    result = await _shows(client, state_of(dispatch, 2))
    if dispatch.issue_uuid in result.terminate_local_issue_uuids:
        raise Unmet("that it is not terminated", f"{result} came")
    await client.tell(dispatch, 3, EXIT)
    await client.acked(dispatch, 3)


@TOPIC.must(
    "RVBOX-S-066",
    given=_SENT,
    when="the link is lost, and another client_instance_id comes, which retains nothing",
    expect="the same dispatch again, for the new generation",
    source="rvbox 1, Further rules, Reconcile: never accepted and another instance",
)
async def never_arrived_elsewhere(kit: ServerAttempt) -> None:
    await _dispatched_again(kit, same=False)


def _wrong(dispatch: w.CommandDispatch) -> Sequence[w.ReconcileCommandState]:
    right = state_of(dispatch, 2)
    return (
        attrs.evolve(right, last_client_event_seq=1),
        attrs.evolve(right, immutable_request_sha256=digest("other")),
    )


@TOPIC.must(
    "RVBOX-S-067",
    given=f"{_RUNS}, two of its events acknowledged",
    when="the next snapshot has it with one event only, or with another digest",
    expect="it in terminate_local of the result",
    source="rvbox 1, Session 7; Further rules, Reconcile: beyond the last event, other hashes",
)
async def contradicted(kit: ServerAttempt) -> None:
    for number in (0, 1):
        client, hello, dispatch = await kit.running()
        await client.acked(dispatch, 2)
        client = await come_again(kit, client, hello)
        result = await _shows(client, _wrong(dispatch)[number])
        if dispatch.issue_uuid not in result.terminate_local_issue_uuids:
            raise Unmet("it in terminate_local", f"{result} came")
        await client.close(None)


@TOPIC.must(
    "RVBOX-S-068",
    given="a command whose exit was acknowledged",
    when="another event of it comes",
    expect="that it is dropped: no error, and no acknowledgement beyond the exit",
    source="rvbox 1, Further rules, Acks and events",
)
async def behind_the_exit(kit: ServerAttempt) -> None:
    client, _, dispatch = await kit.running()
    await client.tell(dispatch, 3, EXIT)
    await client.acked(dispatch, 3)
    await client.settle()
    await client.tell(dispatch, 4, OUT)
    for each in await client.settle():
        beyond = isinstance(each, w.EventAck) and each.through_event_seq > 3
        if beyond or isinstance(each, w.AgentError):
            raise Unmet("that it is dropped", f"{each!r:.300} came")
