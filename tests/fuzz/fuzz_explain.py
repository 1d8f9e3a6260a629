"""The explainers, which show frames to people, and read more than is allowed."""

from __future__ import annotations

from functools import partial
from typing import Final

import fuzz_agency
import fuzz_iop
import fuzz_kodelet
import fuzz_rvbox
from fuzz_engine import Mutate, Target, demand, room_for
from fuzz_json import mutate_json
from fuzz_same import same
from fuzz_wire import wired

from fleetgate.core.journal.forms import json_text
from fleetgate.protocols import agency, iop, kodelet, rvbox
from fleetgate.protocols.api import Adapter
from fleetgate.protocols.explaining import Speaker, Whence
from fleetgate.protocols.iop import wire as iop_wire
from fleetgate.schemas.iop import link_pb2


def run_explain(adapter: Adapter, whence: Whence, data: bytes) -> bool:
    """A frame can be shown or not; one without secrets is shown as it came; and what is shown can
    be written again, and shows the same then."""
    shown = adapter.showing.explainer().explain(data, whence)
    if not shown.readable:
        demand(shown.body is None and shown.rule, "neither shown nor refused")
        return False
    json_text(shown.body)
    kept = adapter.showing.explainer().explain(shown.frame or b"", whence)
    demand(same(kept.body, shown.body), "the frame that is kept shows something else")
    try:
        frame = adapter.showing.explainer().encode(shown.body, whence)
    except ValueError:
        return True
    again = adapter.showing.explainer().explain(frame, whence)
    # A digest is made anew, so only what was written once is the same from there on.
    once = adapter.showing.explainer().encode(again.body, whence)
    demand(len(once) == len(frame), "what is shown and written again is written otherwise")
    return True


def _target(
    adapter: Adapter, sender: Speaker, seeds: tuple[bytes, ...], mutate: Mutate, path: str = ""
) -> Target:
    run = partial(run_explain, adapter, Whence(sender, path))
    name = f"{adapter.name}.explain-{sender}"
    return Target(name, seeds, run, mutate, share=0.5, room=_room)


def _room(size: int) -> int:
    """A frame is shown three times over, with and without its secrets."""
    return 4 * room_for(size)


_ENVELOPE: Final = wired(fuzz_rvbox.ENVELOPE)

TARGETS: Final = (
    _target(agency.ADAPTER, "controller", fuzz_agency.CLIENT, fuzz_agency.mutate_whole),
    _target(agency.ADAPTER, "worker", fuzz_agency.SERVER, fuzz_agency.mutate_whole),
    _target(rvbox.ADAPTER, "controller", fuzz_rvbox.SEEDS, _ENVELOPE),
    _target(rvbox.ADAPTER, "worker", fuzz_rvbox.SEEDS, _ENVELOPE),
    _target(kodelet.ADAPTER, "controller", fuzz_kodelet.SEEDS, mutate_json),
    _target(kodelet.ADAPTER, "worker", fuzz_kodelet.SEEDS, mutate_json),
    _target(
        iop.ADAPTER,
        "controller",
        fuzz_iop.EDGE,
        wired(link_pb2.EdgeMessage.DESCRIPTOR),
        iop_wire.CONNECT,
    ),
    _target(
        iop.ADAPTER,
        "worker",
        fuzz_iop.NODE,
        wired(link_pb2.NodeMessage.DESCRIPTOR),
        iop_wire.CONNECT,
    ),
)
