"""Peers of a gateway that are there and do nothing more than they must."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import attrs
import trio
from memory_gateway import BEAT, Served

from fleetgate.gateway.bench.pairs.places import carriage_of
from fleetgate.gateway.fidelity.bridge import make_entry
from fleetgate.protocols.agency import wire as a
from fleetgate.protocols.agency.encode import encode_client
from fleetgate.protocols.iop import codec as iop_codec
from fleetgate.protocols.iop import wire as i
from fleetgate.protocols.rvbox import codec as rvbox_codec
from fleetgate.protocols.rvbox import wire as r
from fleetgate.transports.api import Dialer, Link, LinkBroken, LinkClosed, LinkError
from fleetgate.transports.open import open_dialer

ENTRIES: Final = {"agency": "gui", "rvbox": "hosts", "kodelet": "runners", "iop": "nodes"}
"""Whom a peer of a protocol dials."""

SIDE_BY_SIDE: Final = 40
"""Handshakes at a time: fewer than a listener has under way of one address."""

_RECORDED: Final = Path(__file__).parents[1] / "transcripts" / "kodelet.jsonl"
REGISTER: Final = next(
    base64.b64decode(line["raw"])
    for line in map(json.loads, _RECORDED.read_text().splitlines())
    if line.get("name") == "runner.register"
)
"""What a runner says first, as it was recorded."""


@asynccontextmanager
async def open_peers(served: Served, protocol: str) -> AsyncGenerator[Dialer]:
    """Dial as a peer of a protocol does that never wonders whether the gateway is alive: thousands
    of them are one busy process here, which may take long to see an answer."""
    facing = "south" if protocol == "agency" else "north"
    address = served.addresses[ENTRIES[protocol]]
    entry = make_entry(facing, "peer", protocol, address, listens=False)
    entry = attrs.evolve(entry, token=None)  # a node says its own, in its first message
    options = attrs.evolve(carriage_of(entry), ping_every=None, dead_after=None)
    async with open_dialer(address, options) as dialer:
        yield dialer


async def stand(served: Served, protocol: str, numbers: range, nursery: trio.Nursery) -> None:
    """So many peers come, say who they are, and are idle in `nursery`."""
    opened = await nursery.start(_hold_dialer, served, protocol)
    for at in range(numbers.start, numbers.stop, SIDE_BY_SIDE):
        async with trio.open_nursery() as shaking:
            for number in range(at, min(at + SIDE_BY_SIDE, numbers.stop)):
                shaking.start_soon(_come, opened, protocol, number, nursery)


async def _hold_dialer(
    served: Served, protocol: str, *, task_status: trio.TaskStatus[Dialer]
) -> None:
    async with open_peers(served, protocol) as dialer:
        task_status.started(dialer)
        await trio.sleep_forever()


async def _come(dialer: Dialer, protocol: str, number: int, nursery: trio.Nursery) -> None:
    """As a real peer: again, where a busy machine let it be too late to say who it is."""
    for _ in range(9):
        with suppress(LinkError):
            return await _enter(dialer, protocol, number, nursery)
        await trio.sleep(1)
    return await _enter(dialer, protocol, number, nursery)


async def _enter(dialer: Dialer, protocol: str, number: int, nursery: trio.Nursery) -> None:
    link = await dialer.dial()
    nursery.start_soon(hold, link)
    try:
        await _GREET[protocol](link, number, nursery)
    except LinkError:
        await link.close(None)
        raise


async def hold(link: Link) -> None:
    """Keep it until cancelled, and close it then."""
    async with link:
        await trio.sleep_forever()


async def _greet_agency(link: Link, number: int, nursery: trio.Nursery) -> None:
    await link.send(encode_client(a.ClientFrame(1, a.Hello("idle", a.ProtocolVersion(0, 3)))))
    await link.receive_some()


async def _greet_rvbox(link: Link, number: int, nursery: trio.Nursery) -> None:
    one = r.ProtocolVersion(1, 0)
    hello = r.ClientHello(
        client_id=f"host-{number}",
        supported_protocol=r.ProtocolRange(one, one),
        daemon_version="idle",
        platform=r.Platform.LINUX,
        daemon_cwd="/",
        supported_shells=(r.ShellType.NONE,),
        client_instance_id=f"instance-{number}",
        max_running_commands=1,
        max_queued_commands=1,
    )
    await link.send(rvbox_codec.encode(r.Envelope("", 0, hello)))
    frames = list(await link.receive_some())
    while len(frames) < 2:
        frames += await link.receive_some()
    welcome = rvbox_codec.decode(frames[0])
    session = (welcome.session_id, welcome.session_generation)
    await link.send(rvbox_codec.encode(r.Envelope(*session, r.ReconcileSnapshot())))
    await link.receive_some()
    nursery.start_soon(_listen, link)  # pings are answered by whoever reads


async def _greet_kodelet(link: Link, number: int, nursery: trio.Nursery) -> None:
    asked = json.loads(REGISTER)
    asked["params"]["host"]["instanceId"] = f"host_{number:024}"
    asked["params"]["workspace"] = {"path": f"/work/{number}", "name": f"{number}"}
    await link.send(json.dumps(asked).encode())
    answer: dict[str, Any] = json.loads((await link.receive_some())[0])["result"]
    said = {
        "runnerId": answer["runnerId"],
        "generation": answer["generation"],
        "state": "idle",
        "manifestDigest": asked["params"]["manifestDigest"],
    }
    beat = {"jsonrpc": "2.0", "method": "runner.heartbeat", "params": said}
    nursery.start_soon(_listen, link)
    nursery.start_soon(_beat, link, lambda: json.dumps(beat).encode())


async def _greet_iop(link: Link, number: int, nursery: trio.Nursery) -> None:
    await link.send(iop_codec.encode_node(i.RegisterRequest(f"token-{number}")))
    answer = iop_codec.decode_edge((await link.receive_some())[0])
    if not isinstance(answer, i.RegisterResponse):  # it was too late to say who it is
        raise LinkBroken(f"a RegisterResponse was expected; {type(answer).__name__} came")
    assert answer.accepted, answer
    nursery.start_soon(_listen, link)
    nursery.start_soon(_beat, link, lambda: iop_codec.encode_node(i.Heartbeat(1)))


_GREET: Final = {
    "agency": _greet_agency,
    "rvbox": _greet_rvbox,
    "kodelet": _greet_kodelet,
    "iop": _greet_iop,
}


async def _listen(link: Link) -> None:
    with suppress(LinkClosed):  # at the end: `hold` may be cancelled a turn before this
        while True:
            await link.receive_some()


async def _beat(link: Link, frame: Callable[[], bytes]) -> None:
    with suppress(LinkClosed):
        while True:
            await link.send(frame())
            await trio.sleep(BEAT)
