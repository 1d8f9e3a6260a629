"""The short way of a control plane: what its runs show, without a look at each member (ADR 13)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fleetgate.core.events import Event
from fleetgate.core.ids import RunId
from fleetgate.protocols.bulk import Bulk
from fleetgate.protocols.kodelet.lease import Subscription
from fleetgate.protocols.kodelet.leases import Leases
from fleetgate.protocols.kodelet.state import RunPhase
from fleetgate.protocols.kodelet.stencil import stencil_of
from fleetgate.protocols.kodelet.ward import Ward
from fleetgate.protocols.kodelet.wards import TOOL_CALL, Wards
from fleetgate.protocols.kodelet.wire import ToolUpdate

TRIES: Final = 4
"""Stencils that are made of one call's updates without one that fits the next: a runner whose
updates are never alike is read whole from there on."""

_NEAR: Final = 512
"""Bytes of a frame in which its run's name is looked for: the stencil says whether it is that."""
_RUN: Final = re.compile(rb'"runId":\s*"([^"\\]*)"')


class Updates:
    """All runs of one connection. Messages have up to `limit` bytes."""

    def __init__(self, wards: Wards, leases: Leases, limit: int) -> None:
        self._wards = wards
        self._leases = leases
        self._limit = limit

    def take(self, frames: Sequence[bytes]) -> Bulk | None:
        """Take as many frames as are the next update of some run each, from the first on, and show
        something new; None: the first is none."""
        taken = 0
        heard: dict[RunId, list[Event]] = {}
        ward: Ward | None = None
        counted: Subscription | None = None
        for frame in frames:
            read = self._read(ward, frame)
            if read is None:
                # Perhaps another run's, whose updates have to count, too. The same run's is left to
                # be read whole.
                ward, before = self._named(frame), ward
                counted = None if ward is None or ward is before else self._subscription(ward)
                read = None if counted is None else self._read(ward, frame)
            if ward is None or counted is None or read is None or read[0] <= counted.sequence:
                break
            ward.tries = 0
            events = ward.shown.said(read[1])
            if not events:  # it is read whole, and then has no news either
                break
            counted.sequence = read[0]
            heard.setdefault(ward.run, []).extend(events)
            taken += 1
        if not taken:
            return None
        return Bulk(taken, {run: ((tuple(said), None, None),) for run, said in heard.items()})

    def _read(self, ward: Ward | None, frame: bytes) -> tuple[int, str] | None:
        """The sequence and the text of a run's update, if the frame is plainly one."""
        if ward is None or ward.stencil is None or len(frame) > self._limit:
            return None
        return ward.stencil.read(frame)

    def _named(self, frame: bytes) -> Ward | None:
        found = _RUN.search(frame, 0, _NEAR)
        return None if found is None else self._wards.get(found[1].decode("utf-8", "replace"))

    def _subscription(self, ward: Ward) -> Subscription | None:
        """That of the run's own call, while its updates count."""
        lease = self._leases.get(ward.id)
        if lease is None or lease is not ward.lease or lease.phase is not RunPhase.RUNNING:
            return None
        found = lease.subscriptions.get(TOOL_CALL)
        return found if found is not None and found.request == ward.call else None

    def learn(self, frame: bytes, update: ToolUpdate) -> None:
        """Look at an update that was read whole, so that the next ones need not be."""
        ward = self._wards.get(update.run_id)
        subscription = None if ward is None else self._subscription(ward)
        if ward is None or subscription is None or update.tool_call_id != TOOL_CALL:
            return
        if update.request_id != subscription.request:
            return
        if ward.tries == TRIES or (ward.stencil is not None and ward.stencil.read(frame)):
            return
        ward.stencil = stencil_of(frame, update)
        ward.tries += 1
