"""The load host: an rvbox client that emits what the one command it gets asks for.

`python -m fleetgate.gateway.bench.host URL [--plain]`. Plain, there is no session: the first
frame is the dispatch, and frames are as long as in a session.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import Final, TypeVar

import attrs
import trio

from fleetgate.gateway.bench.links import HOST
from fleetgate.gateway.bench.pace import Pace, open_pace
from fleetgate.gateway.bench.speech import PLAIN_SESSION, Speech
from fleetgate.gateway.bench.task import BenchFailed, Task, make_body, parse_task
from fleetgate.gateway.bench.window import Window
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.codec import decode, encode
from fleetgate.transports.api import Link
from fleetgate.transports.open import open_dialer

_P = TypeVar("_P", bound=w.Payload)

BATCH: Final = 64
BATCH_SIZE: Final = 256 << 10
"""Events, and bytes of bodies, of one write: what a link sends in one system call."""


class LoadHost:
    """One host on one link."""

    def __init__(self, link: Link, *, plain: bool, running: int = 1) -> None:
        """`running`: commands that it takes at a time."""
        self._link = link
        self._running = running
        self._plain = plain
        self._session = PLAIN_SESSION if plain else ("", 0)
        self._come: deque[bytes] = deque()
        self._window = Window()

    async def run(self) -> None:
        """Emit one command's output, then keep the link until it ends.

        Raises: `BenchFailed`, `LinkError`.
        """
        if not self._plain:
            await self._open_session()
        dispatch = await self._expect(w.CommandDispatch)
        if not self._plain:
            await self._say(w.CommandAccepted(dispatch.issue_uuid, dispatch.command_revision, True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hear_acks)
            await self._emit(dispatch)

    async def _open_session(self) -> None:
        await self._say(attrs.evolve(_HELLO, max_running_commands=self._running))
        await self._expect(w.ServerWelcome)
        await self._expect(w.ReconcileRequest)
        await self._say(w.ReconcileSnapshot())
        await self._expect(w.ReconcileResult)

    async def _say(self, payload: w.Payload) -> None:
        await self._link.send(encode(w.Envelope(*self._session, payload)))

    async def _expect(self, kind: type[_P]) -> _P:
        if not self._come:
            self._come.extend(await self._link.receive_some())
        envelope = decode(self._come.popleft())
        if not isinstance(envelope.payload, kind):
            came = type(envelope.payload).__name__
            raise BenchFailed(f"the load host expected {kind.__name__}; {came} came")
        if not self._plain:
            self._session = (envelope.session_id, envelope.session_generation)
        return envelope.payload

    async def _hear_acks(self) -> None:
        try:
            while True:
                for frame in await self._link.receive_some():
                    payload = decode(frame).payload
                    if isinstance(payload, w.EventAck):
                        self._window.acknowledge(payload.through_event_seq)
        except trio.EndOfChannel:
            return  # the trial is over

    # --- the command

    async def _emit(self, dispatch: w.CommandDispatch) -> None:
        task = task_of(dispatch)
        speech = Speech(self._session, dispatch)
        await self._send(speech, [speech.running(time.time_ns())])
        if task.rate:
            count = min(task.events, round(task.seconds * task.rate))
            async with open_pace(task.rate, count) as pace:
                await self._emit_paced(speech, task, pace)
        else:
            await self._emit_freely(speech, task)
        await self._send(speech, [speech.exit(time.time_ns())])

    async def _emit_freely(self, speech: Speech, task: Task) -> None:
        batch = max(1, min(BATCH, BATCH_SIZE // task.size))
        left = task.events
        end = trio.current_time() + task.seconds
        while left and trio.current_time() < end:
            count = min(left, batch, await self._window.room())
            body, now = make_body(time.monotonic_ns(), task.size), time.time_ns()
            await self._send(speech, [speech.output(body, now) for _ in range(count)])
            left -= count

    async def _emit_paced(self, speech: Speech, task: Task, pace: Pace) -> None:
        while times := await pace.due():
            now = time.time_ns()
            frames = [speech.output(make_body(due, task.size), now) for due in times]
            await self._send(speech, frames)

    async def _send(self, speech: Speech, frames: Sequence[bytes]) -> None:
        await self._link.send_some(frames)
        self._window.sent(speech.seq)


def task_of(dispatch: w.CommandDispatch) -> Task:
    """The task that a dispatch asks for: the last of its arguments.

    Raises: `BenchFailed`.
    """
    program = dispatch.spec.program
    if not isinstance(program, w.Argv) or not program.args:
        raise BenchFailed("the load host expected a dispatch with arguments")
    try:
        return parse_task(program.args[-1])
    except ValueError as error:
        raise BenchFailed(f"the load host was dispatched no task: {error}") from None


_HELLO: Final = w.ClientHello(
    client_id="bench-host",
    supported_protocol=w.ProtocolRange(w.ProtocolVersion(1, 0), w.ProtocolVersion(1, 0)),
    daemon_version="fleetgate-bench",
    platform=w.Platform.LINUX,
    daemon_cwd="/",
    supported_shells=(w.ShellType.NONE,),
    client_instance_id=f"bench-{os.getpid()}",
    max_running_commands=1,
    max_queued_commands=1,
)


async def _main(url: str, plain: bool) -> None:
    async with open_dialer(url, HOST) as dialer:
        await LoadHost(await dialer.dial(), plain=plain).run()


def main(args: Sequence[str]) -> None:
    """Run a load host."""
    parser = argparse.ArgumentParser(prog="fleetgate.gateway.bench.host")
    parser.add_argument("url")
    parser.add_argument("--plain", action="store_true")
    given = parser.parse_args(args)
    trio.run(_main, given.url, given.plain)


if __name__ == "__main__":
    main(sys.argv[1:])
