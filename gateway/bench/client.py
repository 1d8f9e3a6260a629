"""The load client: starts the run, attaches, and counts its events.

`python -m fleetgate.gateway.bench.client SUBJECT SOCKET PID TASK`. It says `ready` once events
may come, and ends with the sample on a line.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import Final, TypeVar

import trio

from fleetgate.core.times import SECOND
from fleetgate.gateway.bench.links import CLIENT, TEXT
from fleetgate.gateway.bench.process import cpu_seconds, peak_rss
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.speech import PLAIN_SESSION
from fleetgate.gateway.bench.tally import Tally, see_agency, see_rvbox
from fleetgate.gateway.bench.task import BenchFailed, Task, parse_task
from fleetgate.protocols.agency import wire as a
from fleetgate.protocols.agency.codec import decode_server
from fleetgate.protocols.agency.encode import encode_client
from fleetgate.protocols.rvbox import wire as r
from fleetgate.protocols.rvbox.codec import encode
from fleetgate.transports.api import Link
from fleetgate.transports.open import open_dialer

ACK_EVERY: Final = 64
"""Events for which the relay's client acknowledges once, as the gateway does for the bridge's."""

RUN: Final = "bench-run"
COMMAND: Final = "00000000-0000-4000-8000-000000000001"

_A = TypeVar("_A", bound=a.ServerResponse)


class LoadClient:
    """One client on one link."""

    def __init__(self, link: Link, task: Task, run: str = RUN) -> None:
        self._link = link
        self._task = task
        self._run = run
        self._come: deque[bytes] = deque()
        self._requests = 0

    # --- at the bridge

    async def attach(self, *, start: bool = True) -> None:
        """Start the run, unless another has, and attach to it from its first event.

        Raises: `BenchFailed`, `LinkError`.
        """
        await self._ask(a.Hello("bench-client", a.ProtocolVersion(0, 3)), a.HelloAnswer)
        if start:
            request = a.RunRequest("claude", "", str(self._task), "edit", False, False, ())
            await self._ask(a.StartRun(self._run, request, f"{self._run}:start"), a.Accepted)
        await self._ask(a.AttachRun(self._run, 0), a.RunAnswer)

    async def _ask(self, message: a.ClientMessage, kind: type[_A]) -> None:
        self._requests += 1
        await self._link.send(encode_client(a.ClientFrame(self._requests, message)))
        if not self._come:
            self._come.extend(await self._link.receive_some())
        answer = decode_server(self._come.popleft())
        if not isinstance(answer, a.Response) or not isinstance(answer.response, kind):
            raise BenchFailed(f"the load client expected {kind.__name__}; {answer} came")

    async def receive(self) -> Sequence[bytes]:
        """What has come since the run was attached to; perhaps nothing, of what came with the
        answer to that.

        Raises: `LinkError`, `trio.EndOfChannel`.
        """
        if self._come:
            frames = tuple(self._come)
            self._come.clear()
            return frames
        return await self._link.receive_some()

    async def leave(self) -> None:
        """Cut the link."""
        await self._link.close(None)

    # --- at the relay

    async def dispatch(self) -> None:
        """Send the host its command through the relay, as a gateway would.

        Raises: `LinkError`.
        """
        spec = r.ExecutionSpec(program=r.Argv(("emit", str(self._task))))
        await self._say(r.CommandDispatch(COMMAND, command_revision=1, spec=spec))

    async def _say(self, payload: r.Payload) -> None:
        await self._link.send(TEXT + encode(r.Envelope(*PLAIN_SESSION, payload)))

    # --- at both

    async def count(self, subject: int, *, plain: bool) -> Sample:
        """Count events up to the last one; `subject` is the process that is measured. Plain, the
        host's own frames come, and are acknowledged.

        Raises: `BenchFailed`, `LinkError`, `trio.EndOfChannel`.
        """
        tally = Tally(see_rvbox if plain else see_agency, every=bool(self._task.rate))
        acknowledged = 0
        begun: float | None = None
        frames: Sequence[bytes] = tuple(self._come)
        now = time.monotonic_ns()
        while True:
            if frames:
                tally.take(frames, now)
            if tally.started and begun is None:
                begun = cpu_seconds(subject)
            if tally.ended and begun is not None:
                spent = cpu_seconds(subject) - begun
                return _sample(tally, now, spent, peak_rss(subject))
            if plain and tally.seq - acknowledged >= ACK_EVERY:
                acknowledged = tally.seq
                await self._say(r.EventAck(COMMAND, acknowledged))
            frames = await self._link.receive_some()
            now = time.monotonic_ns()


def _sample(tally: Tally, now: int, cpu: float, rss: int) -> Sample:
    seconds = (now - tally.started) / SECOND
    return Sample(tally.outputs, tally.size, seconds, cpu, rss, tuple(tally.lateness))


async def _main(socket: str, subject: int, task: Task, plain: bool) -> None:
    async with open_dialer(f"unix:{socket}", CLIENT) as dialer:
        link = await dialer.dial()
        client = LoadClient(link, task)
        await (client.dispatch() if plain else client.attach())
        _write("ready")
        sample = await client.count(subject, plain=plain)
        _write(sample.line())
        await link.close(None)


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(args: Sequence[str]) -> None:
    """Run a load client."""
    parser = argparse.ArgumentParser(prog="fleetgate.gateway.bench.client")
    parser.add_argument("subject", choices=("bridge", "relay"))
    parser.add_argument("socket")
    parser.add_argument("pid", type=int)
    parser.add_argument("task", type=parse_task)
    given = parser.parse_args(args)
    trio.run(_main, given.socket, given.pid, given.task, given.subject == "relay")


if __name__ == "__main__":
    main(sys.argv[1:])
