"""A node's runs and answers: "Runs", and "Refusals", "Resume", "Events"."""

from __future__ import annotations

from typing import Any, Final

import attrs

from fleetgate.gateway.tck.iop.node import NodeAttempt
from fleetgate.gateway.tck.iop.talk import TERMINAL, expect_equal
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.protocols.iop import wire as w

TOPIC: Final = Topic("runs")

USAGE: Final = int(w.CommandType.USAGE_STATUS)
TERMINATE: Final = int(w.CancelAction.TERMINATE_SESSION)

_UP: Final = "a node that is registered"
_WORKING: Final = "a run that goes on"


@TOPIC.must(
    "IOP-N-101",
    given=_UP,
    when="a run is asked for that ends by itself",
    expect="one start first, any deltas, and one complete last, in times that do not go back",
    source="iop 1, Runs",
)
async def run(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    request = await kit.run(edge)
    heard = await edge.events(request.run_id)
    types = [event.type for event in heard]
    if types[0] != "start" or types[-1] != "complete" or set(types[1:-1]) - {"delta"}:
        raise Unmet("start, deltas and complete", f"they are {types}")
    _expect_times(heard)
    for message in await edge.rest():
        if isinstance(message, w.RunEvent) and message.run_id == request.run_id:
            raise Unmet("nothing after complete", f"this came: {edge.last[:300]}")


def _expect_times(events: list[w.RunEvent]) -> None:
    times = [event.timestamp for event in events]
    if times != sorted(times) or not times[0]:
        raise Unmet("times that do not go back, and none that is 0", f"they are {times}")


@TOPIC.must(
    "IOP-N-102",
    given=_WORKING,
    when="run comes again with the same run_id and an equal request, and with another request",
    expect="no second run: no other start; and error conflict, in a message that begins with the "
    "run_id",
    source="iop 1, Runs; Refusals",
)
async def same_id(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    request = await kit.holding(edge)
    await edge.say(request)
    for message in await edge.rest():
        if isinstance(message, w.Error):
            raise Unmet("no error for an equal request", f"this came: {edge.last[:300]}")
        numbered = isinstance(message, w.RunEvent) and "gateway.seq" in message.metadata
        if isinstance(message, w.RunEvent) and message.type == "start" and not numbered:
            raise Unmet("no other start", f"this came: {edge.last[:300]}")
    await edge.say(attrs.evolve(request, input={"prompt": "another"}))
    await edge.refusal("conflict", request.run_id)
    await kit.cancel(edge, request)


@TOPIC.must(
    "IOP-N-103",
    given=_UP,
    when="run has no run_id, or one of 257 bytes",
    expect="error invalid_argument, and no event",
    source="iop 1, Limits; Refusals",
)
async def bad_id(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    ids = ("", "x" * 257)
    for run_id in ids:
        await kit.run(edge, run_id=run_id)
        error = await edge.until(w.Error, lambda _: True)
        expect_equal(error.code, "invalid_argument", "the code")
    for message in await edge.rest():
        if isinstance(message, w.RunEvent) and message.run_id in ids:
            raise Unmet("no event", f"this came: {edge.last[:300]}")


@TOPIC.must(
    "IOP-N-104",
    given=_UP,
    when="run has an unknown session_mode, or a negative timeout_sec",
    expect='one error event "invalid_argument: …" without a start',
    source="iop 1, Runs; Refusals",
)
async def bad_request(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    wrongs: tuple[dict[str, Any], ...] = ({"session_mode": 99}, {"timeout_sec": -1})
    for members in wrongs:
        request = await kit.run(edge, **members)
        await edge.refused_run(request.run_id, "invalid_argument")


@TOPIC.must(
    "IOP-N-105",
    given=_UP,
    when="run requires a session that is not there",
    expect='one error event "session_not_found: …" without a start',
    source="iop 1, Runs",
)
async def no_session(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    mode = int(w.SessionMode.REQUIRE_EXISTING)
    request = await kit.run(edge, session_id=kit.name("s"), session_mode=mode)
    await edge.refused_run(request.run_id, "session_not_found")


@TOPIC.must(
    "IOP-N-106",
    given=_UP,
    when="a run names a session that is not there, and later one requires it",
    expect="that both run",
    source="iop 1, Runs",
)
async def session(kit: NodeAttempt) -> None:
    edge, id = await kit.registered(), kit.name("s")
    for mode in (w.SessionMode.UNSPECIFIED, w.SessionMode.REQUIRE_EXISTING):
        request = await kit.run(edge, session_id=id, session_mode=int(mode))
        heard = await edge.events(request.run_id)
        expect_equal(heard[-1].type, "complete", "the last event")


@TOPIC.must(
    "IOP-N-107",
    given=_WORKING,
    when="it is cancelled, without an action, and cancelled again",
    expect="one cancelled, and nothing more",
    source="iop 1, Runs",
)
async def cancelled(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    request = await kit.holding(edge)
    await edge.say(w.CancelRequest(request.run_id))
    heard = await edge.events(request.run_id)
    expect_equal(heard[-1].type, "cancelled", "the last event")
    await edge.say(w.CancelRequest(request.run_id))
    for message in await edge.rest():
        if isinstance(message, w.RunEvent | w.Error):
            raise Unmet("nothing for a finished run", f"this came: {edge.last[:300]}")


@TOPIC.must(
    "IOP-N-108",
    given=_WORKING,
    when="cancel names a run that is not there, or an unknown action",
    expect="error not_found, and invalid_argument, each in a message that begins with the run_id; "
    "and the run goes on",
    source="iop 1, Runs; Refusals",
)
async def bad_cancel(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    request = await kit.holding(edge)
    id = kit.name()
    await edge.say(w.CancelRequest(id))
    await edge.refusal("not_found", id)
    await edge.say(w.CancelRequest(request.run_id, action=99))
    await edge.refusal("invalid_argument", request.run_id)
    await kit.cancel(edge, request)


@TOPIC.must(
    "IOP-N-109",
    given="two runs of one session that go on, and one of another",
    when="the session is terminated, and terminated again",
    expect="cancelled for its runs, and not for the other; and error session_not_found",
    source="iop 1, Runs; Sessions and commands",
)
async def terminated(kit: NodeAttempt) -> None:
    edge, id = await kit.registered(), kit.name("s")
    other = await kit.holding(edge)
    own = [await kit.holding(edge, session_id=id) for _ in range(2)]
    await edge.say(w.CancelRequest(session_id=id, action=TERMINATE))
    ended: dict[str, str] = {}
    while len(ended) < len(own):
        event = await edge.until(w.RunEvent, lambda it: it.type in TERMINAL)
        ended[event.run_id] = event.type
    expect_equal(ended, {request.run_id: "cancelled" for request in own}, "what has ended")
    await edge.say(w.CancelRequest(session_id=id, action=TERMINATE))
    error = await edge.until(w.Error, lambda _: True)
    expect_equal(error.code, "session_not_found", "the code")
    await kit.cancel(edge, other)


@TOPIC.must(
    "IOP-N-110",
    given=_UP,
    when="command has another type, or none",
    expect='"unsupported command type 7" and "… 0" as error of the response, with its request_id',
    source="iop 1, Runs",
)
async def unsupported(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    for type in (7, 0):
        id = kit.name("q")
        await edge.say(w.NodeCommandRequest(id, type))
        answer = await edge.until(w.NodeCommandResponse, lambda _: True)
        expect_equal(answer.request_id, id, "request_id")
        expect_equal(answer.error, f"unsupported command type {type}", "error")


@TOPIC.must(
    "IOP-N-111",
    given=_UP,
    when="command asks for USAGE_STATUS",
    expect="a response with its request_id and type, and usage_status or an error",
    source="iop 1, Runs",
)
async def usage(kit: NodeAttempt) -> None:
    edge, id = await kit.registered(), kit.name("q")
    await edge.say(w.NodeCommandRequest(id, USAGE, kit.given.adapter, kit.given.run_target))
    answer = await edge.until(w.NodeCommandResponse, lambda _: True)
    expect_equal((answer.request_id, answer.type), (id, USAGE), "request_id and type")
    if answer.usage_status is None and not answer.error:
        raise Unmet("usage_status or an error", f"this came: {edge.last[:300]}")


@TOPIC.must(
    "IOP-N-118",
    given=_UP,
    when="a command comes twice in one write, with the same request_id",
    expect='two responses with that request_id: the second is "duplicate request id", unless the '
    "first had been answered by then; and another command is answered",
    source="iop 1, Runs: request_id",
)
async def same_id_twice(kit: NodeAttempt) -> None:
    edge, id = await kit.registered(), kit.name("q")
    asked = w.NodeCommandRequest(id, USAGE, kit.given.adapter, kit.given.run_target)
    await edge.say(asked, asked)
    for _ in range(2):
        answer = await edge.until(w.NodeCommandResponse, lambda _: True)
        expect_equal(answer.request_id, id, "request_id")
    await edge.say(attrs.evolve(asked, request_id=f"{id}-2"))
    answer = await edge.until(w.NodeCommandResponse, lambda _: True)
    expect_equal(answer.request_id, f"{id}-2", "request_id")


@TOPIC.must(
    "IOP-N-112",
    given="a run with a timeout_sec of 1 that goes on",
    when="the second has gone by",
    expect="an error event that begins with timeout",
    source="iop 1, Events",
)
async def timed_out(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    request = await kit.holding(edge, timeout_sec=1)
    last = (await edge.events(request.run_id))[-1]
    if last.type != "error" or not last.error.startswith("timeout"):
        raise Unmet("an error event that begins with timeout", f"this came: {edge.last[:300]}")


@TOPIC.should(
    "IOP-N-113",
    given="a node whose configuration has a workspace_root, and enables one adapter",
    when="a run has a workspace outside of it, and another one names another adapter",
    expect='one error event each: "workspace_outside_root: …" and "unsupported_adapter: …"',
    source="iop 1, Config push; Configuration",
)
async def configured(kit: NodeAttempt) -> None:
    root = w.NodeRuntimeConfig(workspace_root="/tmp")
    adapters = (w.AdapterConfig(kit.given.adapter, True),)
    edge = await kit.registered(w.NodeConfigPayload(adapters, root))
    request = await kit.run(edge, workspace="/usr")
    await edge.refused_run(request.run_id, "workspace_outside_root")
    other = "vllm" if kit.given.adapter != "vllm" else "ollama"
    request = await kit.run(edge, adapter=other)
    await edge.refused_run(request.run_id, "unsupported_adapter")


@TOPIC.should(
    "IOP-N-114",
    given="a node whose configuration has a concurrency of 1, with a run that goes on",
    when="another run is asked for",
    expect="that it starts once the first has ended",
    source="iop 1, Config push",
)
async def one_at_a_time(kit: NodeAttempt) -> None:
    runtime = w.NodeRuntimeConfig(concurrency=1)
    edge = await kit.registered(w.NodeConfigPayload(runtime=runtime))
    first = await kit.holding(edge)
    second = await kit.run(edge)
    for message in await edge.rest():
        if isinstance(message, w.RunEvent) and message.run_id == second.run_id:
            raise Unmet("that the second run waits", f"this came: {edge.last[:300]}")
    await edge.say(w.CancelRequest(first.run_id))
    expect_equal((await edge.events(second.run_id))[0].type, "start", "the first event")


@TOPIC.should(
    "IOP-N-115",
    given="a run that goes on, whose link was lost",
    when="the node is registered again",
    expect="that the run is not forgotten: its earlier events come again with their gateway.seq, "
    "and it can be cancelled",
    source="iop 1, Resume",
)
async def resumed(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    request = await kit.holding(edge)
    await edge.close(None)
    edge = await kit.registered()
    first = await edge.event(request.run_id)
    if "gateway.seq" not in first.metadata:
        raise Unmet("gateway.seq in the metadata", f"this came: {edge.last[:300]}")
    await edge.say(w.CancelRequest(request.run_id))
    heard = await edge.events(request.run_id)
    expect_equal(heard[-1].type, "cancelled", "the last event")


@TOPIC.must(
    "IOP-N-116",
    given=_WORKING,
    when="it is cancelled",
    expect="events whose times do not go back, cancelled among them",
    source="iop 1, Runs",
)
async def times_cancelled(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    request = await kit.run(edge, kit.given.hold_prompt)
    heard = [await edge.event(request.run_id)]
    while heard[-1].type == "start":
        heard.append(await edge.event(request.run_id))
    await edge.say(w.CancelRequest(request.run_id))
    if heard[-1].type not in TERMINAL:
        heard += await edge.events(request.run_id)
    if heard[-1].type != "cancelled":
        raise Skipped(f"it ended as {heard[-1].type} before it was cancelled: give --hold-prompt")
    _expect_times(heard)


@TOPIC.must(
    "IOP-N-117",
    given="a run with a timeout_sec of 1 that goes on",
    when="it ends with error",
    expect="events whose times do not go back, error among them",
    source="iop 1, Runs",
)
async def times_of_error(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    request = await kit.run(edge, kit.given.hold_prompt, timeout_sec=1)
    heard = await edge.events(request.run_id)
    if heard[-1].type != "error":
        raise Skipped(f"it ended as {heard[-1].type} before its time: give --hold-prompt")
    _expect_times(heard)
