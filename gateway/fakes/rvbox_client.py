"""`gateway fake rvbox-client`: a host daemon, which with --exec really executes commands."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fleetgate.core.ids import WorkerId
from fleetgate.core.worker import InputKind
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.echo import echoes
from fleetgate.gateway.fakes.frontend import FrontEnd
from fleetgate.gateway.fakes.lines import LineReader, LineWriter
from fleetgate.gateway.fakes.operations import WORKER
from fleetgate.gateway.fakes.options import (
    add_common,
    add_state,
    add_tls,
    check_reachable,
    journal_of,
    settings_of,
    tls_of,
)
from fleetgate.gateway.fakes.running import Around, run_fake
from fleetgate.gateway.fakes.sides import run_worker
from fleetgate.gateway.fakes.small import LOCAL, Small
from fleetgate.gateway.local.launch import available_shells
from fleetgate.gateway.local.worker import LocalSettings, LocalWorker
from fleetgate.gateway.logs import Log
from fleetgate.gateway.observe import Counters, LinkObserver
from fleetgate.protocols import rvbox

NAME = "rvbox-client"


def make_parser() -> argparse.ArgumentParser:
    """The parser of its command line."""
    settings = rvbox.ADAPTER.northbound.settings()
    parser = argparse.ArgumentParser(
        prog=f"gateway fake {NAME}",
        description="Plays an rvbox host daemon; every command says its own line and succeeds. "
        "With --exec it really executes commands.",
    )
    parser.add_argument("--connect", required=True, metavar="URL", help="the server")
    parser.add_argument("--client-id", required=True, metavar="ID")
    parser.add_argument("--exec", action="store_true", dest="execute")
    parser.add_argument("--max-running", type=int, default=settings.max_running, metavar="N")
    parser.add_argument("--max-queued", type=int, default=settings.max_queued, metavar="N")
    add_state(parser, required=True)
    add_tls(parser)
    add_common(parser, rvbox.ADAPTER.northbound.settings)
    return parser


def run(argv: Sequence[str]) -> int:
    """Run it; answers its exit code."""
    arguments = make_parser().parse_args(argv)
    settings = settings_of(
        rvbox.ADAPTER.northbound.settings,
        arguments.settings,
        client_id=arguments.client_id,
        max_running=arguments.max_running,
        max_queued=arguments.max_queued,
        daemon_cwd=os.getcwd(),
        shells=list(available_shells()),
    )
    tls = tls_of(arguments)
    check_reachable("--connect", arguments.connect, tls)
    entry = Entry("north", "server", "rvbox", arguments.connect, False, settings, tls)
    log = Log(arguments.log_level)
    inputs = frozenset({InputKind.SHELL})
    around = Around(NAME, entry, journal_of(arguments.state), log, inputs)
    if not arguments.execute:
        return run_worker(around, echoes)
    local = LocalSettings(Path(arguments.state).absolute(), settings.max_running)
    return run_fake(around, partial(_execute, local, log))


async def _execute(settings: LocalSettings, log: Log, small: Small, writer: LineWriter) -> str:
    observer = LinkObserver(log, Counters(), LOCAL, "this machine")
    worker = LocalWorker(WorkerId(f"{LOCAL}/exec"), LOCAL, small.hub, settings, observer)
    await small.nursery.start(worker.serve)
    return await FrontEnd(small, LineReader(), writer, WORKER).serve()
