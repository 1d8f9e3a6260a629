"""EdgeControl's other calls: Command and WatchNodes, and who may call."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.tck.iop.edge import Call, EdgeAttempt
from fleetgate.gateway.tck.iop.talk import expect_equal
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.protocols.iop import wire as w

TOPIC: Final = Topic("control")

USAGE: Final = int(w.CommandType.USAGE_STATUS)
UNKNOWN_TYPE: Final = 7

_UP: Final = "a node that is registered"


@TOPIC.must(
    "IOP-E-201",
    given="an edge whose control clients have tokens",
    when="a call shows none, or a wrong one",
    expect="unauthenticated: as the status, and in its message",
    source="iop 1, Errors",
)
async def unauthenticated(kit: EdgeAttempt) -> None:
    for token in ("", kit.name("token")):
        await kit.barred("WatchNodes", w.WatchNodesRequest(), token)


@TOPIC.must(
    "IOP-E-202",
    given=_UP,
    when="Command asks for USAGE_STATUS, and the node answers",
    expect="the question at the node with that type, and the answer, with the call's request_id",
    source="iop 1, Runs; Sessions and commands",
)
async def usage(kit: EdgeAttempt) -> None:
    node, id = await kit.node(), kit.name("q")
    named = {"gateway.node": node.id}
    asked = w.NodeCommandRequest(id, USAGE, kit.given.adapter, metadata=named)
    call = await kit.call("Command", asked)
    question = await node.until(w.NodeCommandRequest, lambda _: True)
    expect_equal(question.type, USAGE, "the type")
    status = w.AgentUsageStatus("raw", "10", weekly_limit="70")
    told = w.NodeCommandResponse(question.request_id, USAGE, usage_status=status)
    await node.say(told)
    answer = await call.answer(w.NodeCommandResponse)
    expect_equal((answer.request_id, answer.error), (id, ""), "request_id and error")
    expect_equal(answer.usage_status, status, "usage_status")


@TOPIC.must(
    "IOP-E-203",
    given=_UP,
    when="Command has another type, or none",
    expect=f'"unsupported command type {UNKNOWN_TYPE}" and "… 0" as error of the answer, with its '
    "request_id, and the status OK",
    source="iop 1, Runs",
)
async def unsupported(kit: EdgeAttempt) -> None:
    await kit.node()
    for type in (UNKNOWN_TYPE, 0):
        id = kit.name("q")
        call = await kit.call("Command", w.NodeCommandRequest(id, type))
        answer = await call.answer(w.NodeCommandResponse)
        expect_equal(answer.request_id, id, "request_id")
        expect_equal(answer.error, f"unsupported command type {type}", "error")


@TOPIC.must(
    "IOP-E-204",
    given="a node that does not answer",
    when="Command asks it with a timeout_sec of 1, and of -1",
    expect='"timeout" as error of the answer, and invalid_argument',
    source="iop 1, Runs; Sessions and commands",
)
async def unanswered(kit: EdgeAttempt) -> None:
    node = await kit.node()
    for seconds, code in ((1, ""), (-1, "invalid_argument")):
        named = {"gateway.node": node.id}
        id = kit.name("q")
        asked = w.NodeCommandRequest(id, USAGE, timeout_sec=seconds, metadata=named)
        call = await kit.call("Command", asked)
        if code:
            await call.refused(code)
        else:
            answer = await call.answer(w.NodeCommandResponse)
            expect_equal((answer.request_id, answer.error), (id, "timeout"), "the answer")


@TOPIC.must(
    "IOP-E-208",
    given=_UP,
    when="two control clients ask with the same request_id, and the node answers the second first",
    expect="two questions at the node under ids of their own, and each answer at its own caller",
    source="iop 1, Sessions and commands",
)
async def same_id_twice(kit: EdgeAttempt) -> None:
    kit.only_over(("grpc", "grpcs"), "only over gRPC does each client have a connection of its own")
    node, id = await kit.node(), kit.name("q")
    named = {"gateway.node": node.id}
    calls, questions = list[Call](), list[w.NodeCommandRequest]()
    for _ in range(2):
        asked = w.NodeCommandRequest(id, USAGE, kit.given.adapter, metadata=named)
        calls.append(await kit.call("Command", asked))
        questions.append(await node.until(w.NodeCommandRequest, lambda _: True))
    if questions[0].request_id == questions[1].request_id:
        raise Unmet("two ids at the node", f"both are {questions[0].request_id!r}")
    for number in (1, 0):
        status = w.AgentUsageStatus(f"raw-{number}")
        question = questions[number].request_id
        await node.say(w.NodeCommandResponse(question, USAGE, usage_status=status))
    for number, call in enumerate(calls):
        answer = await call.answer(w.NodeCommandResponse)
        expect_equal((answer.request_id, answer.error), (id, ""), "request_id and error")
        expect_equal(answer.usage_status, w.AgentUsageStatus(f"raw-{number}"), "usage_status")


async def _news(call: Call, type: str, node: str) -> w.EdgeNodeEvent:
    event = await call.until(w.EdgeNodeEvent, lambda it: (it.type, it.node_id) == (type, node))
    if not event.event_id:
        raise Unmet("an event_id", "it is empty")
    return event


@TOPIC.must(
    "IOP-E-205",
    given=_UP,
    when="WatchNodes is called with include_current, and the node leaves and comes again",
    expect="node.connected, then node.disconnected with a reason, then node.connected; each with "
    "source edge and an event_id of its own",
    source="iop 1, Runs",
)
async def watched(kit: EdgeAttempt) -> None:
    node = await kit.node()
    call = await kit.call("WatchNodes", w.WatchNodesRequest(include_current=True))
    heard = [await _news(call, "node.connected", node.id)]
    await node.close(1000)
    heard.append(await _news(call, "node.disconnected", node.id))
    if heard[1].reason not in ("closed", "timeout"):
        raise Unmet("the reason closed", f"it is {heard[1].reason!r}")
    await kit.node()
    heard.append(await _news(call, "node.connected", node.id))
    for event in heard:
        expect_equal(event.source, "edge", "source")
    expect_equal(len({event.event_id for event in heard}), 3, "the number of event_ids")


@TOPIC.must(
    "IOP-E-206",
    given="a node that is registered, and somebody who watches nodes",
    when="the node is replaced by a newer link, and breaks the protocol on that",
    expect="node.disconnected with the reasons replaced and protocol_violation",
    source="iop 1, Runs; Registration and link",
)
async def reasons(kit: EdgeAttempt) -> None:
    node = await kit.node()
    call = await kit.call("WatchNodes", w.WatchNodesRequest())
    await call.rest()
    newer = await kit.node()
    expect_equal((await _news(call, "node.disconnected", node.id)).reason, "replaced", "reason")
    await newer.say(w.RegisterRequest(kit.given.token))
    reason = (await _news(call, "node.disconnected", node.id)).reason
    expect_equal(reason, "protocol_violation", "reason")


@TOPIC.must(
    "IOP-E-207",
    given="a node that is registered, and somebody who watches nodes",
    when="the node tells an event of its own, in another node's name",
    expect="that event, with source node and the link's own node_id",
    source="iop 1, Watchers",
)
async def passed_on(kit: EdgeAttempt) -> None:
    node = await kit.node()
    call = await kit.call("WatchNodes", w.WatchNodesRequest(include_current=True))
    await _news(call, "node.connected", node.id)
    await node.say(w.EdgeNodeEvent("e", "node.config_applied", "edge", "somebody", "else"))
    event = await _news(call, "node.config_applied", node.id)
    expect_equal(event.source, "node", "source")
