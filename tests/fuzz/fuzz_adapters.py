"""The adapters as wholes: each protocol's two sides on one link, and sides with nobody there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import attrs
import fuzz_agency
import fuzz_iop
import fuzz_rvbox
from fuzz_engine import Mutate, Target
from fuzz_host import Host
from fuzz_json import mutate_json
from fuzz_seeds import recorded
from fuzz_talk import Ends, Talk, talk_target
from fuzz_wire import wired

from fleetgate.core import commands as c
from fleetgate.core.ids import RunId, SessionId
from fleetgate.core.run import Run
from fleetgate.protocols import agency, iop, kodelet, rvbox
from fleetgate.protocols.agency import testing as agency_testing
from fleetgate.protocols.api import Adapter, Opening
from fleetgate.protocols.iop import codec as iop_codec
from fleetgate.protocols.iop import testing as iop_testing
from fleetgate.protocols.iop import wire as iop_wire
from fleetgate.protocols.kodelet import testing as kodelet_testing
from fleetgate.schemas.iop import link_pb2

INSTANCE: Final = "00000000-0000-4000-8000-000000000000"
GUI: Final = Opening("gui", instance=INSTANCE)
POOL: Final = Opening("pool", instance=INSTANCE)


def _north(adapter: Adapter, opening: Opening, **given: Any) -> Host:
    return Host(f"{adapter.name} northbound", adapter.northbound, opening, **given)


def _south(adapter: Adapter, opening: Opening, **given: Any) -> Host:
    return Host(f"{adapter.name} southbound", adapter.southbound, opening, **given)


def _both(adapter: Adapter, north: Opening, south: Opening) -> Ends:
    return _north(adapter, north), _south(adapter, south)


def _alone(adapter: Adapter, opening: Opening, **given: Any) -> Ends:
    return _north(adapter, opening, **given), None


def _heard_alone(make: Callable[[], Ends], spoken: tuple[bytes, ...], mutate: Mutate) -> Talk:
    return Talk(make, (spoken, ()), (mutate, mutate))


# --- iop: a node shows a token, and calls of EdgeControl are links of their own

_NODE: Final = attrs.evolve(GUI, token="t", path=iop_wire.CONNECT)
_EDGE: Final = attrs.evolve(
    POOL, path=iop_wire.CONNECT, guarded=True, identify=lambda token: "n1" if token == "t" else None
)


def _call(method: str) -> Ends:
    opening = Opening("edge", path=f"{iop_wire.CONTROL}{method}", peer="1.2.3.4:5")
    host = _north(iop.ADAPTER, opening)
    for name in () if method == "Run" else ("r1", "r2"):
        run = RunId(f"{opening.link}/{name}")
        spec = c.RunSpec(c.Prompt("hi"), session=SessionId("s"))
        host.runs[run] = Run(run, spec, c.Origin(opening.link, name), created=1)
    return host, None


def _call_target(method: str) -> Target:
    kind = _ASKED[method]
    made = iop_codec.empty(f"{iop_wire.CONTROL}{method}", controller=True)
    spoken = tuple(iop_codec.encode(each) for each in fuzz_iop.ASKED if type(each) is kind)
    talk = _heard_alone(partial(_call, method), spoken, wired(made.DESCRIPTOR))
    return talk_target(f"iop.call-{method}", talk, share=0.01)


_ASKED: Final[dict[str, type[Any]]] = {
    "Run": iop_wire.RunRequest,
    "Attach": iop_wire.AttachRequest,
    "Cancel": iop_wire.CancelRequest,
    "Command": iop_wire.NodeCommandRequest,
    "WatchNodes": iop_wire.WatchNodesRequest,
}

# --- agency: a client on a WebSocket, which speaks MCP

_KEY: Final = "k" * 64
_WEB: Final = attrs.evolve(
    GUI,
    headers={"host": "x", "sec-websocket-protocol": f"agency-proxy.{_KEY}"},
    identify=lambda token: "gui",
)

TARGETS: Final = (
    talk_target(
        "agency.talk",
        Talk(
            partial(_both, agency.ADAPTER, GUI, POOL),
            (agency_testing.CLIENT_FRAMES, agency_testing.SERVER_FRAMES),
            (fuzz_agency.mutate_whole, fuzz_agency.mutate_whole),
        ),
        share=0.06,
    ),
    talk_target(
        "agency.talk-mcp",
        _heard_alone(partial(_alone, agency.ADAPTER, _WEB), fuzz_agency.MCP, mutate_json),
        share=0.03,
    ),
    talk_target(
        "rvbox.talk",
        Talk(
            partial(_both, rvbox.ADAPTER, GUI, POOL),
            (fuzz_rvbox.SEEDS, fuzz_rvbox.SEEDS),
            (wired(fuzz_rvbox.ENVELOPE), wired(fuzz_rvbox.ENVELOPE)),
        ),
        share=0.06,
    ),
    talk_target(
        "kodelet.talk",
        Talk(
            partial(_both, kodelet.ADAPTER, GUI, POOL),
            (
                (*recorded("kodelet", "controller"), *kodelet_testing.NORTH_FRAMES),
                (*recorded("kodelet", "worker"), *kodelet_testing.SOUTH_FRAMES),
            ),
            (mutate_json, mutate_json),
        ),
        share=0.08,
    ),
    talk_target(
        "iop.talk",
        Talk(
            partial(_both, iop.ADAPTER, _NODE, _EDGE),
            (iop_testing.frames_for_node(), iop_testing.frames_for_edge()),
            (
                wired(link_pb2.EdgeMessage.DESCRIPTOR),
                wired(link_pb2.NodeMessage.DESCRIPTOR),
            ),
        ),
        share=0.08,
    ),
    *map(_call_target, _ASKED),
)
