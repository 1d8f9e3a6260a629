"""An edge of iop on grpcio, by the protocol's page alone: nodes register at it, control clients
call it, and nobody tells it what to say.

    python grpcio_edge.py STUBS --at HOST:PORT --token TOKEN=NODE ...

A token is a node's, and good for control clients, too. It imports nothing of ours.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import grpc
from google.protobuf.message import DecodeError

sys.path.insert(0, sys.argv[1])
from iop import link_pb2, link_pb2_grpc, runtime_pb2
from iop_edge_runs import LONGEST_ID, MOST_BYTES, Refused, Run, Runs

REGISTER_WITHIN, HEARTBEAT_AFTER, DEAD_AFTER = 10.0, 15.0, 45.0
COMMAND_WITHIN = 30
USAGE = runtime_pb2.NODE_COMMAND_TYPE_USAGE_STATUS

STATUS = {
    "protocol_violation": grpc.StatusCode.FAILED_PRECONDITION,
    "unauthenticated": grpc.StatusCode.UNAUTHENTICATED,
    "invalid_argument": grpc.StatusCode.INVALID_ARGUMENT,
    "not_found": grpc.StatusCode.NOT_FOUND,
    "session_not_found": grpc.StatusCode.NOT_FOUND,
    "conflict": grpc.StatusCode.ALREADY_EXISTS,
    "replaced": grpc.StatusCode.ABORTED,
    "resource_exhausted": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "unavailable": grpc.StatusCode.UNAVAILABLE,
}


def read_message(data: bytes) -> Any:
    """A message of a node; None: it is none, which the page has an answer for and a library not."""
    try:
        return link_pb2.NodeMessage.FromString(data)
    except DecodeError:
        return None


class Link:
    """A node that is registered."""

    def __init__(self, node: str, call: grpc.aio.ServicerContext) -> None:
        self.node = node
        self._call = call
        self._writing = asyncio.Lock()
        self.heard = self.said = time.monotonic()
        self.end: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def say(self, **payload: Any) -> None:
        async with self._writing:
            await self._call.write(link_pb2.EdgeMessage(**payload))
        self.said = time.monotonic()

    def over(self, why: str) -> None:
        """It ends for this reason, unless it has ended for another one."""
        if not self.end.done():
            self.end.set_result(why)

    async def watch(self) -> None:
        """Heartbeats of ours; and the end of a node that sends nothing."""
        while True:
            now = time.monotonic()
            if now - self.heard >= DEAD_AFTER:
                self.over("unavailable")
                return
            if now - self.said >= HEARTBEAT_AFTER:
                await self.say(heartbeat=runtime_pb2.Heartbeat(timestamp=time.time_ns()))
            due = min(self.heard + DEAD_AFTER, self.said + HEARTBEAT_AFTER) - time.monotonic()
            await asyncio.sleep(max(0.0, due))


class Edge(link_pb2_grpc.EdgeControlServicer):
    """Its nodes, its runs, and who watches."""

    def __init__(self, tokens: dict[str, str]) -> None:
        self._tokens = tokens
        self._links: dict[str, Link] = {}
        self._runs = Runs()
        self._asked: dict[str, asyncio.Future[Any]] = {}
        self._watchers: set[asyncio.Queue[Any]] = set()

    # --- NodeLink

    async def connect(self, _: AsyncIterator[Any], call: grpc.aio.ServicerContext) -> None:
        """A node's link, from its first message to its end."""
        try:
            first = await asyncio.wait_for(call.read(), REGISTER_WITHIN)
        except TimeoutError:
            first = None
        if first is None or first is grpc.aio.EOF or first.WhichOneof("payload") != "register":
            await self._refuse(call, "protocol_violation", "register comes first")
        node = self._tokens.get(first.register.token)
        if node is None:
            answer = runtime_pb2.RegisterResponse(accepted=False, reason="the token is not known")
            await call.write(link_pb2.EdgeMessage(registered=answer))
            await call.abort(STATUS["unauthenticated"], "unauthenticated: the token is not known")
        link = Link(node, call)
        await self._greet(link)
        sides = [asyncio.create_task(each) for each in (self._hear(link, call), link.watch())]
        try:
            why = await link.end
        finally:
            for side in sides:
                side.cancel()
            self._gone(link)
        if why != "closed":
            await self._refuse(call, why, "this link has ended")

    async def _refuse(self, call: grpc.aio.ServicerContext, code: str, why: str) -> None:
        error = runtime_pb2.Error(code=code, message=why)
        await call.write(link_pb2.EdgeMessage(error=error))
        await call.abort(STATUS[code], f"{code}: {why}")

    async def _greet(self, link: Link) -> None:
        if older := self._links.get(link.node):
            older.over("replaced")
            self._gone(older)
        self._links[link.node] = link
        answer = runtime_pb2.RegisterResponse(
            accepted=True, node_id=link.node, alias=f"{link.node}-alias"
        )
        await link.say(registered=answer)
        self._tell_watchers("node.connected", link.node)
        self._runs.back(link.node)

    def _gone(self, link: Link) -> None:
        if self._links.get(link.node) is not link:
            return
        del self._links[link.node]
        why = link.end.result() if link.end.done() else "closed"
        self._tell_watchers(
            "node.disconnected", link.node, "timeout" if why == "unavailable" else why
        )
        self._runs.away(link.node)

    async def _hear(self, link: Link, call: grpc.aio.ServicerContext) -> None:
        while (message := await call.read()) is not grpc.aio.EOF:
            link.heard = time.monotonic()
            kind = message.WhichOneof("payload") if message is not None else "register"
            if kind == "register":  # a second one, or bytes that are no message
                link.over("protocol_violation")
                return
            if kind == "run_event":
                if self._runs.take(link.node, message.run_event):
                    lost = runtime_pb2.CancelRequest(run_id=message.run_event.run_id)
                    await link.say(cancel=lost)
            elif kind == "command_response":
                if asked := self._asked.get(message.command_response.request_id):
                    asked.set_result(message.command_response)
            elif kind == "node_event":
                event = message.node_event
                event.source, event.node_id = "node", link.node
                event.alias = f"{link.node}-alias"
                self._tell_all(event)
        link.over("closed")

    # --- EdgeControl

    async def _known(self, call: grpc.aio.ServicerContext) -> None:
        words = dict(call.invocation_metadata() or ()).get("authorization", "")
        if str(words).removeprefix("Bearer ") not in self._tokens:
            await call.abort(STATUS["unauthenticated"], "unauthenticated: the token is not known")

    async def Run(self, request: Any, call: grpc.aio.ServicerContext) -> None:
        await self._known(call)
        try:
            run, new = self._runs.get(request, list(self._links))
        except Refused as refused:
            await call.abort(STATUS[refused.code], str(refused))
        if new:
            await self._links[run.node].say(run=request)
        await self._follow(run, 0, call, first_only=request.background)

    async def Attach(self, request: Any, call: grpc.aio.ServicerContext) -> None:
        await self._known(call)
        run = self._runs.known.get(request.run_id)
        if run is None:
            await call.abort(STATUS["not_found"], "not_found: there is no such run")
        await self._follow(run, request.after_sequence, call)

    async def _follow(
        self, run: Run, after: int, call: grpc.aio.ServicerContext, first_only: bool = False
    ) -> None:
        at = after
        while True:
            while at < len(run.events):
                await call.write(run.events[at])
                at += 1
                if first_only:
                    return
            if run.over:
                return
            await run.more()

    async def Cancel(self, request: Any, call: grpc.aio.ServicerContext) -> Any:
        await self._known(call)
        try:
            nodes = self._runs.nodes_to_cancel(request)
        except Refused as refused:
            error = runtime_pb2.Error(code=refused.code, message=str(refused))
            return link_pb2.CancelResponse(accepted=False, error=error)
        for node in nodes:
            if node in self._links:
                await self._links[node].say(cancel=request)
        return link_pb2.CancelResponse(accepted=True)

    async def Command(self, request: Any, call: grpc.aio.ServicerContext) -> Any:
        await self._known(call)
        id = request.request_id
        if request.timeout_sec < 0 or len(id.encode()) > LONGEST_ID:
            await call.abort(STATUS["invalid_argument"], "invalid_argument: timeout_sec, or the id")
        answer = runtime_pb2.NodeCommandResponse(request_id=id, type=request.type)
        if request.type != USAGE:
            answer.error = f"unsupported command type {request.type}"
            return answer
        wanted = request.metadata.get("gateway.node", "")
        node = wanted or next(iter(self._links), "")
        if node not in self._links:
            await call.abort(STATUS["unavailable"], "unavailable: there is no such node")
        own = runtime_pb2.NodeCommandRequest()
        own.CopyFrom(request)
        own.request_id = str(uuid.uuid4())
        told = self._asked[own.request_id] = asyncio.get_running_loop().create_future()
        try:
            await self._links[node].say(command=own)
            answer = await asyncio.wait_for(told, request.timeout_sec or COMMAND_WITHIN)
            answer.request_id = id
        except TimeoutError:
            answer.error = "timeout"
        finally:
            del self._asked[own.request_id]
        return answer

    async def WatchNodes(self, request: Any, call: grpc.aio.ServicerContext) -> None:
        await self._known(call)
        queue: asyncio.Queue[Any] = asyncio.Queue()
        if request.include_current:
            for node in self._links:
                queue.put_nowait(self._event("node.connected", node))
        self._watchers.add(queue)
        try:
            while True:
                await call.write(await queue.get())
        finally:
            self._watchers.remove(queue)

    def _event(self, type: str, node: str, reason: str = "") -> Any:
        return runtime_pb2.EdgeNodeEvent(
            event_id=str(uuid.uuid4()), type=type, source="edge", node_id=node,
            alias=f"{node}-alias", reason=reason, timestamp=time.time_ns(),
        )  # fmt: skip

    def _tell_watchers(self, type: str, node: str, reason: str = "") -> None:
        self._tell_all(self._event(type, node, reason))

    def _tell_all(self, event: Any) -> None:
        for queue in self._watchers:
            queue.put_nowait(event)


async def main() -> None:
    parser = argparse.ArgumentParser(description="An edge on grpcio.")
    parser.add_argument("stubs")
    parser.add_argument("--at", required=True)
    parser.add_argument("--token", action="append", default=[])
    given = parser.parse_args()
    edge = Edge(dict(word.split("=") for word in given.token))
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", MOST_BYTES)])
    connect = grpc.stream_stream_rpc_method_handler(
        edge.connect, read_message, link_pb2.EdgeMessage.SerializeToString
    )
    links = grpc.method_handlers_generic_handler("iop.NodeLink", {"Connect": connect})
    server.add_generic_rpc_handlers((links,))
    link_pb2_grpc.add_EdgeControlServicer_to_server(edge, server)
    server.add_insecure_port(given.at)
    await server.start()
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    await server.stop(None)


if __name__ == "__main__":
    asyncio.run(main())
