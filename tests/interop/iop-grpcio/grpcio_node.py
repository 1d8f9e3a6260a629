"""A node of iop on grpcio, by the protocol's page alone: it works, and nobody tells it what to say.

    python grpcio_node.py STUBS --at HOST:PORT --token TOKEN

It has the adapter `mock`, which says a prompt word for word; a prompt that begins with `hold` it
says once and goes on with until it is cancelled. Being of others it numbers no events: what a run
says while there is no link is said on the next one. It imports nothing of ours.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
import uuid
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

import grpc

sys.path.insert(0, sys.argv[1])
from iop import link_pb2, link_pb2_grpc, runtime_pb2

HEARTBEAT_AFTER, DEAD_AFTER = 15.0, 45.0
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
LONGEST_ID = 256
ADAPTER = "mock"
MOST_WAITING = 10_000
UNSET, CREATE, REQUIRE = 0, 1, 2
CANCEL_RUN, TERMINATE = 1, 2
USAGE = runtime_pb2.NODE_COMMAND_TYPE_USAGE_STATUS


class ForGood(Exception):
    """The edge wants this node no more."""


class Work:
    """A run: what was asked, and what becomes of it."""

    def __init__(self, request: Any) -> None:
        self.request = request
        self.last = 0
        self.task: asyncio.Task[None] | None = None


class Node:
    """All that outlives a link."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._runs: dict[str, Work] = {}
        self._sessions: set[str] = set()
        self._out: deque[Any] = deque(maxlen=MOST_WAITING)
        self._wake = asyncio.Event()
        self._config = runtime_pb2.NodeConfigPayload()
        self._turns: asyncio.Semaphore | None = None
        self._failures = 0
        self._heard = self._said = 0.0

    async def live(self, at: str) -> None:
        """Dial again and again, until the edge says that it shall not."""
        while True:
            async with grpc.aio.insecure_channel(at) as channel:
                call = link_pb2_grpc.NodeLinkStub(channel).Connect()
                try:
                    await self._serve(call)
                except grpc.aio.AioRpcError as error:
                    if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                        raise ForGood(error.details()) from None
                finally:
                    call.cancel()
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**self._failures)
            self._failures += 1
            await asyncio.sleep(random.uniform(0, pause))

    async def _serve(self, call: Any) -> None:
        await call.write(self._message(register=runtime_pb2.RegisterRequest(token=self._token)))
        answer = await call.read()
        if answer in (grpc.aio.EOF, None) or answer.WhichOneof("payload") != "registered":
            return
        if not answer.registered.accepted:
            raise ForGood(answer.registered.reason)
        self._failures = 0
        self._heard = self._said = time.monotonic()
        self._out = deque(filter(of_runs, self._out), MOST_WAITING)
        self._apply(answer.registered)
        sides = [asyncio.create_task(each) for each in (self._hear(call), self._tell(call))]
        done, _ = await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
        for side in sides:
            side.cancel()
        await asyncio.gather(*sides, return_exceptions=True)
        for side in done:
            side.result()

    def _apply(self, answer: Any) -> None:
        self._config = answer.config
        most = answer.config.runtime.concurrency
        self._turns = asyncio.Semaphore(most) if most > 0 else None
        for adapter in answer.config.adapters:
            if adapter.type != ADAPTER:
                self._error("unsupported_adapter", f"there is no adapter {adapter.type} here")
        applied = runtime_pb2.EdgeNodeEvent(
            event_id=str(uuid.uuid4()), type="node.config_applied", source="node",
            node_id=answer.node_id, alias=answer.alias, timestamp=time.time_ns(),
        )  # fmt: skip
        if answer.HasField("config"):
            self._say(node_event=applied)

    # --- the link's two directions

    async def _tell(self, call: Any) -> None:
        while True:
            while self._out:
                try:
                    await call.write(self._out[0])
                except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                    await asyncio.Event().wait()  # what ended the call is heard, with its status
                self._out.popleft()
                self._said = time.monotonic()
            self._wake.clear()
            now = time.monotonic()
            if now - self._heard >= DEAD_AFTER:
                return
            due = min(self._said + HEARTBEAT_AFTER, self._heard + DEAD_AFTER) - now
            try:
                await asyncio.wait_for(self._wake.wait(), max(0, due))
            except TimeoutError:
                if time.monotonic() - self._said >= HEARTBEAT_AFTER:
                    self._say(heartbeat=runtime_pb2.Heartbeat(timestamp=time.time_ns()))

    async def _hear(self, call: Any) -> None:
        replaced = False
        try:
            while (message := await call.read()) is not grpc.aio.EOF:
                if message is None:  # it could not be read
                    return
                self._heard = time.monotonic()
                kind = message.WhichOneof("payload")
                if kind == "registered":
                    return
                if kind == "error":
                    replaced = replaced or message.error.code == "replaced"
                elif kind in ("run", "cancel", "command"):
                    getattr(self, f"_on_{kind}")(getattr(message, kind))
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.ABORTED and replaced:
                raise ForGood("replaced") from None
            raise

    def _message(self, **payload: Any) -> Any:
        return link_pb2.NodeMessage(**payload)

    def _say(self, **payload: Any) -> None:
        self._out.append(self._message(**payload))
        self._wake.set()

    def _error(self, code: str, message: str) -> None:
        self._say(error=runtime_pb2.Error(code=code, message=message))

    # --- what the edge asks for

    def _on_run(self, request: Any) -> None:
        id = request.run_id
        if not id or len(id.encode()) > LONGEST_ID:
            self._error("invalid_argument", f"{id[:64]}: a run_id has 1 to {LONGEST_ID} bytes")
            return
        known = self._runs.get(id)
        if known is not None:
            if known.request != request:
                self._error("conflict", f"{id}: it was asked for with another request")
            return
        work = Work(request)
        if refusal := self._refusal(request):
            self._event(work, "error", error=refusal)
            return
        if request.session_id:
            self._sessions.add(request.session_id)
        self._runs[id] = work
        work.task = asyncio.create_task(self._play(work))
        work.task.add_done_callback(partial(self._over, work))

    def _refusal(self, request: Any) -> str:
        enabled = {each.type for each in self._config.adapters if each.enabled}
        if request.adapter != ADAPTER or (self._config.adapters and ADAPTER not in enabled):
            return f"unsupported_adapter: {request.adapter!r} is not enabled here"
        if request.session_mode not in (UNSET, CREATE, REQUIRE):
            return f"invalid_argument: there is no session_mode {request.session_mode}"
        if request.timeout_sec < 0:
            return "invalid_argument: timeout_sec is negative"
        if request.session_mode == REQUIRE and request.session_id not in self._sessions:
            return f"session_not_found: there is no session {request.session_id!r}"
        root = self._config.runtime.workspace_root
        if root:
            place = Path(root, request.workspace).resolve()
            if not place.is_relative_to(Path(root).resolve()):
                return f"workspace_outside_root: the root is {root}"
            if not place.is_dir():
                return f"invalid_argument: there is no directory {request.workspace}"
        return ""

    async def _play(self, work: Work) -> None:
        limit = work.request.timeout_sec or None
        try:
            async with asyncio.timeout(limit):
                if self._turns is None:
                    await self._talk(work)
                else:
                    async with self._turns:
                        await self._talk(work)
        except TimeoutError:
            self._event(work, "error", error=f"timeout: it took more than {limit} s")

    def _over(self, work: Work, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # perhaps before its first step
            if not work.last:
                self._event(work, "start")
            self._event(work, "cancelled")

    async def _talk(self, work: Work) -> None:
        prompt = dict(work.request.input).get("prompt", "")
        self._event(work, "start")
        self._event(work, "delta", delta=str(prompt))
        if str(prompt).startswith("hold"):
            await asyncio.Event().wait()
        self._event(work, "complete", message=str(prompt))

    def _event(self, work: Work, type: str, **members: str) -> None:
        work.last = max(work.last, time.time_ns())
        request = work.request
        event = runtime_pb2.RunEvent(
            run_id=request.run_id, type=type, timestamp=work.last,
            session_id=request.session_id, background=request.background, **members,
        )  # fmt: skip
        self._say(run_event=event)

    def _on_cancel(self, request: Any) -> None:
        if request.action == TERMINATE:
            self._terminate(request.session_id)
        elif request.action not in (UNSET, CANCEL_RUN):
            self._error("invalid_argument", f"{request.run_id}: no action {request.action}")
        elif (work := self._runs.get(request.run_id)) is None:
            self._error("not_found", f"{request.run_id}: there is no such run")
        elif work.task is not None:
            work.task.cancel()

    def _terminate(self, session: str) -> None:
        if session not in self._sessions:
            self._error("session_not_found", f"there is no session {session!r}")
            return
        self._sessions.remove(session)
        for work in self._runs.values():
            if work.request.session_id == session and work.task is not None:
                work.task.cancel()

    def _on_command(self, request: Any) -> None:
        answer = runtime_pb2.NodeCommandResponse(
            request_id=request.request_id, type=request.type, adapter=request.adapter,
            target=request.target, session_id=request.session_id,
        )  # fmt: skip
        if request.type == USAGE:
            answer.usage_status.raw_output = f"{len(self._runs)} runs"
        else:
            answer.error = f"unsupported command type {request.type}"
        self._say(command_response=answer)


def of_runs(message: Any) -> bool:
    """What outlives a link."""
    return str(message.WhichOneof("payload")) == "run_event"


async def main() -> None:
    parser = argparse.ArgumentParser(description="A node on grpcio.")
    parser.add_argument("stubs")
    parser.add_argument("--at", required=True)
    parser.add_argument("--token", required=True)
    given = parser.parse_args()
    try:
        await Node(given.token).live(given.at)
    except ForGood as reason:
        sys.stderr.write(f"not wanted here: {reason}\n")
        sys.exit(3)


if __name__ == "__main__":
    asyncio.run(main())
