"""EdgeControl's runs: Run, Attach and Cancel, and what becomes of a node's events."""

from __future__ import annotations

from typing import Final

import attrs

from fleetgate.gateway.tck.iop.edge import EdgeAttempt, Node
from fleetgate.gateway.tck.iop.talk import expect_equal, now
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.protocols.iop import wire as w

TOPIC: Final = Topic("runs")

GRACE: Final = 30.0
"""Seconds that a run waits for its node."""

HOUR: Final = 3600 * 10**9

_UP: Final = "a node that is registered"
_RUN: Final = "a run that its node has started"


@TOPIC.must(
    "IOP-E-101",
    given=_UP,
    when="Run is called for it",
    expect="run at the node, with a run_id, and the adapter, target, input and session_id of the "
    "call",
    source="iop 1, Runs",
)
async def run(kit: EdgeAttempt) -> None:
    node = await kit.node()
    asked = kit.request(node, target="t", session_id=kit.name("s"), input={"prompt": "h\u00e9"})
    await kit.call("Run", asked)
    given = await node.asked(asked.run_id)
    for name in ("adapter", "target", "input", "session_id"):
        expect_equal(getattr(given, name), getattr(asked, name), name)


@TOPIC.must(
    "IOP-E-102",
    given=_RUN,
    when="the node says two pieces of text, and that it is complete, with no node_id",
    expect="start, the deltas and complete on the call, with the call's run_id, the node_id filled "
    "in, and times that do not go back; then the status OK",
    source="iop 1, Runs",
)
async def events(kit: EdgeAttempt) -> None:
    node, asked, given, call = await kit.running()
    for text in ("a", "b"):
        await node.tell(given, "delta", delta=text)
    heard = await kit.finish(node, given, call)
    expect_equal([event.type for event in heard], ["delta", "delta", "complete"], "the events")
    expect_equal("".join(event.delta for event in heard), "ab", "the text")
    expect_equal(heard[-1].message, "done", "message of complete")
    times = [event.timestamp for event in heard]
    if times != sorted(times):
        raise Unmet("times that do not go back", f"they are {times}")
    for event in heard:
        expect_equal((event.run_id, event.node_id), (asked.run_id, node.id), "run_id and node_id")


@TOPIC.must(
    "IOP-E-103",
    given="a run at a node that makes mistakes",
    when="the start is missing, or comes twice, times go back, and something comes after the end",
    expect="one start, times that do not go back, and one event at the end",
    source="iop 1, Events",
)
async def mended(kit: EdgeAttempt) -> None:
    node = await kit.node()
    asked = kit.request(node)
    call = await kit.call("Run", asked)
    given = await node.asked(asked.run_id)
    await node.tell(given, "delta", delta="a")
    await node.tell(given, "start")
    await node.tell(given, "delta", delta="b", timestamp=now() - HOUR)
    await node.tell(given, "delta", delta="c", timestamp=0)
    await node.tell(given, "complete")
    await node.tell(given, "delta", delta="x")
    await node.tell(given, "error", error="x")
    heard = await call.events()
    types = [event.type for event in heard]
    expect_equal(types, ["start", "delta", "delta", "delta", "complete"], "the events")
    times = [event.timestamp for event in heard]
    if times != sorted(times) or not times[0]:
        raise Unmet("times that do not go back, and none that is 0", f"they are {times}")


@TOPIC.must(
    "IOP-E-104",
    given=_UP,
    when="events come of a run that it was never given",
    expect="that they are dropped, and that the link stays",
    source="iop 1, Events",
)
async def stray_events(kit: EdgeAttempt) -> None:
    node = await kit.node()
    await node.say(w.RunEvent(kit.name(), "start"), w.RunEvent("", "delta", "x"))
    await node.expect_none(w.Error)
    asked = kit.request(node)
    await kit.call("Run", asked)
    await node.asked(asked.run_id)


@TOPIC.must(
    "IOP-E-105",
    given=_UP,
    when="Run is called with background, and the node starts it",
    expect="the start alone, and the status OK; the run goes on, and Attach has the rest",
    source="iop 1, Runs",
)
async def background(kit: EdgeAttempt) -> None:
    node = await kit.node()
    asked = kit.request(node, background=True)
    call = await kit.call("Run", asked)
    given = await node.asked(asked.run_id)
    await node.tell(given, "start")
    expect_equal([event.type for event in await call.events()], ["start"], "the events")
    watching = await kit.call("Attach", w.AttachRequest(asked.run_id, 1))
    await node.tell(given, "delta", delta="later")
    heard = await kit.finish(node, given, watching)
    expect_equal([event.delta for event in heard if event.type == "delta"], ["later"], "deltas")


@TOPIC.must(
    "IOP-E-106",
    given="a run that has ended",
    when="Attach is called from the beginning, and after more events than there were",
    expect="all of its events, and the status OK; none, and the status OK",
    source="iop 1, Sessions and commands",
)
async def attached(kit: EdgeAttempt) -> None:
    node, asked, given, call = await kit.running()
    await node.tell(given, "delta", delta="a")
    await kit.finish(node, given, call)
    again = await (await kit.call("Attach", w.AttachRequest(asked.run_id))).events()
    expect_equal([it.type for it in again], ["start", "delta", "complete"], "the events")
    beyond = await (await kit.call("Attach", w.AttachRequest(asked.run_id, 10_000))).events()
    expect_equal(list(beyond), [], "the events beyond the end")


@TOPIC.must(
    "IOP-E-107",
    given=_UP,
    when="Attach is called for a run that is not there, and Run without a run_id, with one of 257 "
    "bytes, with an unknown session_mode, and with a negative timeout_sec",
    expect="not_found, and invalid_argument each time: as the status, and in its message",
    source="iop 1, Runs; Refusals",
)
async def refused(kit: EdgeAttempt) -> None:
    node = await kit.node()
    await (await kit.call("Attach", w.AttachRequest(kit.name()))).refused("not_found")
    for members in (
        {"run_id": ""},
        {"run_id": "x" * 257},
        {"session_mode": 99},
        {"timeout_sec": -1},
    ):
        asked = attrs.evolve(kit.request(node), **members)
        await (await kit.call("Run", asked)).refused("invalid_argument")
    await node.expect_none(w.RunRequest)


@TOPIC.must(
    "IOP-E-108",
    given=_UP,
    when="Run names another node that is not there, or a session that must exist and does not",
    expect="unavailable at once, and session_not_found",
    source="iop 1, Runs; Choosing a node",
)
async def nobody(kit: EdgeAttempt) -> None:
    node = await kit.node()
    elsewhere = kit.request(node, metadata={"gateway.node": kit.name("node")})
    await (await kit.call("Run", elsewhere)).refused("unavailable")
    mode = w.SessionMode.REQUIRE_EXISTING
    asked = kit.request(node, session_id=kit.name("s"), session_mode=mode)
    await (await kit.call("Run", asked)).refused("session_not_found")


@TOPIC.must(
    "IOP-E-109",
    given=_RUN,
    when="Run is called with its run_id and an equal request, and with another request",
    expect="its events once more, without a second run at the node; and conflict",
    source="iop 1, Runs",
)
async def same_id(kit: EdgeAttempt) -> None:
    node, asked, given, call = await kit.running()
    other = attrs.evolve(asked, input={"prompt": "another"})
    await (await kit.call("Run", other)).refused("conflict")
    again = await kit.call("Run", asked)
    expect_equal((await again.hear("start")).type, "start", "the first event")
    await node.expect_none(w.RunRequest)
    await kit.finish(node, given, call)
    await again.events()


@TOPIC.must(
    "IOP-E-110",
    given=_RUN,
    when="Cancel is called for it, without an action",
    expect="accepted, cancel at the node, and once the node says cancelled this event and the "
    "status OK on the call of Run",
    source="iop 1, Runs",
)
async def cancelled(kit: EdgeAttempt) -> None:
    node, asked, given, call = await kit.running()
    answer = await (await kit.call("Cancel", w.CancelRequest(asked.run_id))).answer(
        w.CancelResponse
    )
    expect_equal((answer.accepted, answer.error), (True, None), "the answer")
    cancel = await node.until(w.CancelRequest, lambda _: True)
    expect_equal(cancel.run_id, given.run_id, "run_id of cancel")
    await node.tell(given, "cancelled")
    expect_equal([event.type for event in await call.events()], ["cancelled"], "the events")


@TOPIC.must(
    "IOP-E-111",
    given="a run that has ended",
    when="Cancel is called for it, for a run that is not there, with an unknown action, and for a "
    "session that is not there",
    expect="accepted and nothing at the node; then not accepted, with not_found, invalid_argument "
    "and session_not_found; and the status OK each time",
    source="iop 1, Runs; Refusals",
)
async def cancelled_late(kit: EdgeAttempt) -> None:
    node, asked, given, call = await kit.running()
    await kit.finish(node, given, call)
    terminate = int(w.CancelAction.TERMINATE_SESSION)
    for request, code in (
        (w.CancelRequest(asked.run_id), ""),
        (w.CancelRequest(kit.name()), "not_found"),
        (w.CancelRequest(asked.run_id, action=99), "invalid_argument"),
        (w.CancelRequest(session_id=kit.name("s"), action=terminate), "session_not_found"),
    ):
        answer = await (await kit.call("Cancel", request)).answer(w.CancelResponse)
        came = answer.error.code if answer.error else ""
        expect_equal((answer.accepted, came), (not code, code), f"the answer to {request}")
    await node.expect_none(w.CancelRequest)


@TOPIC.must(
    "IOP-E-112",
    given="a run in a session",
    when="Cancel is called with TERMINATE_SESSION for the session",
    expect="accepted, and cancel with that action and session at the node",
    source="iop 1, Runs; Sessions and commands",
)
async def terminated(kit: EdgeAttempt) -> None:
    session = kit.name("s")
    node, _, given, call = await kit.running(session_id=session)
    action = int(w.CancelAction.TERMINATE_SESSION)
    request = w.CancelRequest(session_id=session, action=action)
    answer = await (await kit.call("Cancel", request)).answer(w.CancelResponse)
    expect_equal(answer.accepted, True, "accepted")
    cancel = await node.until(w.CancelRequest, lambda it: it.action == action)
    expect_equal(cancel.session_id, session, "session_id of cancel")
    await node.tell(given, "cancelled")
    await call.events()


async def _back(kit: EdgeAttempt, node: Node) -> Node:
    await node.close(None)
    return await kit.node()


@TOPIC.must(
    "IOP-E-113",
    given="a run with two numbered events, whose node's link was lost",
    when="the node registers again, sends both again, and goes on",
    expect="that run is not sent again, and each event once on the call",
    source="iop 1, Resume",
)
async def resumed(kit: EdgeAttempt) -> None:
    node, _, given, call = await kit.running()
    first = {"delta": "a", "metadata": {"gateway.seq": "2"}, "timestamp": now()}
    await node.tell(given, "delta", **first)
    await call.hear("the first delta")
    node = await _back(kit, node)
    await node.expect_none(w.RunRequest)
    await node.tell(given, "delta", **first)
    await node.tell(given, "delta", delta="b", metadata={"gateway.seq": "3"})
    await node.tell(given, "complete", metadata={"gateway.seq": "4"})
    heard = await call.events()
    expect_equal("".join(event.delta for event in heard), "b", "the text after the reconnect")


@TOPIC.must(
    "IOP-E-114",
    given="a run whose node's link was lost",
    when="the node is not back within 30 s, and comes back later",
    expect='an error event "node lost" and the status OK; and cancel at the node for the run',
    source="iop 1, Runs; Resume",
)
async def lost(kit: EdgeAttempt) -> None:
    node, _, given, call = await kit.running()
    await node.close(None)
    event = await call.hear("the end of the run", GRACE + kit.patience.within)
    expect_equal((event.type, event.error), ("error", "node lost"), "the event")
    await call.done()
    node = await kit.dial()
    await node.register(kit.given.token)
    await node.tell(given, "delta", delta="late")
    cancel = await node.until(w.CancelRequest, lambda _: True)
    expect_equal(cancel.run_id, given.run_id, "run_id of cancel")


@TOPIC.must(
    "IOP-E-115",
    given="a run with a timeout_sec of 1",
    when="the node says nothing of its end for 6 s",
    expect="an error event that begins with timeout",
    source="iop 1, Events",
)
async def timed_out(kit: EdgeAttempt) -> None:
    _, _, _, call = await kit.running(timeout_sec=1)
    event = await call.hear("the end of the run", 6 + kit.patience.within)
    if event.type != "error" or not event.error.startswith("timeout"):
        raise Unmet("an error event that begins with timeout", f"this came: {call.last[:300]}")
