"""The two sides that a fake can play behind its entry: who asks, and who works."""

from __future__ import annotations

from collections.abc import Callable

from fleetgate.core.commands import RunSpec
from fleetgate.core.ids import WorkerId
from fleetgate.core.worker import InputKind
from fleetgate.gateway.fakes.acting import Act, ActingWorker
from fleetgate.gateway.fakes.frontend import FrontEnd
from fleetgate.gateway.fakes.lines import LineReader, LineWriter
from fleetgate.gateway.fakes.operations import CONTROLLER, WORKER
from fleetgate.gateway.fakes.running import Around, run_fake
from fleetgate.gateway.fakes.small import LOCAL, Small
from fleetgate.gateway.observe import Counters, LinkObserver

ALL_INPUTS = frozenset(InputKind)


def run_controller(around: Around) -> int:
    """Run a fake whose operations start runs; answers its exit code."""

    async def serve(small: Small, writer: LineWriter) -> str:
        return await FrontEnd(small, LineReader(), writer, CONTROLLER).serve()

    return run_fake(around, serve)


def run_worker(around: Around, acts: Callable[[RunSpec], Act]) -> int:
    """Run a fake that plays the runs which its controllers start; answers its exit code."""

    async def serve(small: Small, writer: LineWriter) -> str:
        seen = LinkObserver(around.log, Counters(), LOCAL, "this process")
        worker = ActingWorker(WorkerId(f"{LOCAL}/fake"), LOCAL, small.hub, acts, seen)
        await small.nursery.start(worker.serve)
        return await FrontEnd(small, LineReader(), writer, WORKER).serve()

    return run_fake(around, serve)
