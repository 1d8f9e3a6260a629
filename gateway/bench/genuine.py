"""`gateway bench --only genuine`: agency's genuine client and daemon, directly and by way of
a gateway. They are where `just interop agency-rust` has built them, or there is no figure.

The daemon starts an agent that prints texts (`fleetgate.gateway.bench.agent`). The genuine client
keeps 512 events for whoever reads it, and says of how many it let go: those have come, too.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import attrs
import trio

from fleetgate.core.times import SECOND
from fleetgate.gateway.bench.child import Child, open_child, open_program
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.process import cpu_seconds
from fleetgate.gateway.bench.report import maybe
from fleetgate.gateway.bench.subjects import config_text, is_ready, socket_in
from fleetgate.gateway.bench.task import BenchFailed
from fleetgate.gateway.bench.trial import new_directory

SIZE: Final = 256
"""Bytes of a text."""

WITHIN: Final = 60.0
"""Seconds that one trial may take."""

DIRECT: Final = "directly"
BRIDGED: Final = "by way of a gateway"
RUN: Final = "bench-run"


@attrs.frozen(slots=True)
class GenuinePlan:
    """So many texts, directly and then by way of a gateway, `rounds` times."""

    events: int = 20_000
    rounds: int = 3


PLAN: Final = GenuinePlan()

QUICK: Final = GenuinePlan(events=5_000, rounds=1)


@attrs.frozen(slots=True)
class Programs:
    """The genuine daemon, and a program that has the genuine client's library in it."""

    daemon: Path
    client: Path

    @property
    def there(self) -> bool:
        """Whether they were built."""
        return self.daemon.is_file() and self.client.is_file()


def programs() -> Programs:
    """Where the lane agency-rust of `just interop` leaves them."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    lane = Path(home) / "fleetgate-interop" / "agency-rust"
    return Programs(
        lane / "daemon-0.1.6" / "bin" / "agency-proxy",
        lane / "target" / "debug" / "fleetgate-interop-agency",
    )


@attrs.frozen(slots=True)
class GenuineSample:
    """`seconds` are from the first text at the client to the run's end there. Processor seconds are
    from before the client starts; `gateway` is 0 where there is none."""

    way: str
    events: int
    seconds: float
    daemon: float
    gateway: float


@attrs.frozen(slots=True)
class GenuineFigure:
    """Medians over the rounds: events a second, and processor microseconds for an event. `ratio` is
    the rate over that of the peers that talk directly."""

    way: str
    rate: float
    least: float
    most: float
    daemon_micros: float
    gateway_micros: float
    ratio: float | None


def measure(disk: Path, plan: GenuinePlan, losses: Losses) -> list[GenuineSample]:
    """Run all trials; none where the programs are not there."""
    found = programs()
    return trio.run(_measure, found, disk, plan, losses) if found.there else []


async def _measure(
    found: Programs, disk: Path, plan: GenuinePlan, losses: Losses
) -> list[GenuineSample]:
    samples: list[GenuineSample] = []
    for _ in range(plan.rounds):
        for way in (DIRECT, BRIDGED):
            trial = partial(_trial, found, way, plan.events, disk)
            sample = await losses.attempt(f"genuine peers, {way}", trial)
            if sample is not None:
                samples.append(sample)
                rate = sample.events / sample.seconds
                sys.stderr.write(f"genuine peers, {way}: {rate:.0f} events/s\n")
    return samples


async def _trial(found: Programs, way: str, events: int, disk: Path) -> GenuineSample:
    family: list[Child] = []
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as sockets,
        new_directory(disk) as journal,
        trio.move_on_after(WITHIN),
    ):
        place = Path(sockets)
        south = place / "daemon" / "socket"  # the daemon makes the directory, for itself alone
        listen = (str(found.daemon), "--socket", str(south))
        async with open_program("genuine daemon", listen, family) as daemon:
            await daemon.line(lambda line: True if "listening" in line else None)
            async with _way(way, south, place, Path(journal), family) as (socket, gateway):
                subjects = [daemon, *([] if gateway is None else [gateway])]
                begun = [cpu_seconds(each.pid) for each in subjects]
                dial = (str(found.client), "client")
                async with open_program("genuine client", dial, family, listens=True) as client:
                    seconds = await _run(client, socket, _agent(place), events)
                ended = [cpu_seconds(each.pid) for each in subjects]
                spent = [end - begin for begin, end in zip(begun, ended, strict=True)]
                return GenuineSample(way, events, seconds, spent[0], sum(spent[1:]))
    accounts = [child.account() for child in family]
    raise BenchFailed("\n".join([f"it took more than {WITHIN:.0f} s", *accounts]))


def _agent(place: Path) -> Path:
    """What the daemon takes for the agent's program."""
    program = place / "claude"
    words = shlex.join([sys.executable, "-P", "-m", "fleetgate.gateway.bench.agent"])
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    return program


@asynccontextmanager
async def _way(
    way: str, south: Path, sockets: Path, disk: Path, family: list[Child]
) -> AsyncGenerator[tuple[Path, Child | None]]:
    """The socket that the client dials, and the gateway behind it where there is one."""
    if way == DIRECT:
        yield south, None
        return
    config = disk / "gateway.toml"
    daemon = f'protocol = "agency"\nconnect = {json.dumps(f"unix:{south}")}'
    config.write_text(config_text(sockets, disk, south=daemon, adapt=""))
    words = ("serve", "--config", str(config))
    async with open_child("gateway", "fleetgate", *words, family=family) as child:
        await child.line(is_ready)
        yield socket_in(sockets), child


async def _run(client: Child, socket: Path, agent: Path, events: int) -> float:
    """Seconds from the first text to the end. Each event has come, or was let go by the client
    itself; each run has one end.

    Raises: `BenchFailed`: there are fewer.
    """
    await _ask(client, "connect", socket=str(socket))
    request: dict[str, Any] = {
        "provider": "claude",
        "model": "",
        "permission": "plan",
        "workspaceRoots": [],
        "approvals": False,
        "interactive": False,
        "binary": str(agent),
        "prompt": f"{events} {SIZE}",
    }
    start: dict[str, Any] = {
        "type": "start_run",
        "run_id": RUN,
        "request": request,
        "idempotency_key": RUN,
    }
    await _ask(client, "request", message=start)
    attach = {"type": "attach_run", "run_id": RUN, "after_sequence": 0}
    await client.tell(json.dumps({"op": "request", "id": "attach", "as": "a", "message": attach}))
    heard = Heard()
    while not heard.ended:
        await client.line(heard.take)
    if heard.events < events:
        raise BenchFailed(f"the genuine client heard {heard.events} events of {events}")
    return (heard.last - heard.first) / SECOND


async def _ask(client: Child, op: str, **members: Any) -> None:
    await client.tell(json.dumps({"op": op, "id": op, "as": "a", **members}))
    answer = json.loads(await client.line(lambda line: line if f'"id":"{op}"' in line else None))
    if "error" in answer or answer["ok"].get("type") == "error":
        raise BenchFailed(f"the genuine peer refused: {answer}")


class Heard:
    """What the client says, counted."""

    def __init__(self) -> None:
        self.events = 0
        self.first = 0
        self.last = 0
        self.ended = False

    def take(self, line: str) -> bool | None:
        """One more line; True for one that is of the run's events."""
        if '"frame"' in line:
            self.events += 1
            if not self.first and '"type":"text"' in line:
                self.first = time.monotonic_ns()
            if '"type":"finished"' in line or '"type":"failed"' in line:
                self.last, self.ended = time.monotonic_ns(), True
            return True
        if '"lagged"' in line:
            self.events += json.loads(line)["lagged"]
            return True
        return None


def sum_up(samples: Iterable[GenuineSample]) -> list[GenuineFigure]:
    """What the samples come to."""
    groups: dict[str, list[GenuineSample]] = {}
    for sample in samples:
        groups.setdefault(sample.way, []).append(sample)
    rates = {way: [s.events / s.seconds for s in group] for way, group in groups.items()}
    direct = median(rates[DIRECT]) if DIRECT in rates else None
    return [
        GenuineFigure(
            way=way,
            rate=median(rates[way]),
            least=min(rates[way]),
            most=max(rates[way]),
            daemon_micros=median(s.daemon / s.events * 1e6 for s in group),
            gateway_micros=median(s.gateway / s.events * 1e6 for s in group),
            ratio=None if direct is None else median(rates[way]) / direct,
        )
        for way, group in groups.items()
    ]


ABSENT: Final = (
    "Not measured: the genuine peers are not built here. `just interop agency-rust` does."
)

HEAD: Final = (
    "genuine client and daemon of agency",
    "events/s",
    "least to most",
    "ratio",
    "daemon, CPU µs/event",
    "gateway, CPU µs/event",
)


def row(figure: GenuineFigure) -> Sequence[str]:
    """A figure's line of the table."""
    return (
        figure.way,
        f"{figure.rate:.0f}",
        f"{figure.least:.0f} to {figure.most:.0f}",
        maybe(figure.ratio, ".2f"),
        f"{figure.daemon_micros:.1f}",
        maybe(figure.gateway_micros or None, ".1f"),
    )
