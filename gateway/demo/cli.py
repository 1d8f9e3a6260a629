"""The command line of `gateway demo`."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

import trio

from fleetgate.gateway.demo.children import Child, Cradle
from fleetgate.gateway.demo.director import DemoFailed, Director, say_why
from fleetgate.gateway.demo.every.play import play_every
from fleetgate.gateway.demo.every.show import EveryJsonShow, EveryTextShow
from fleetgate.gateway.demo.judge import Judgement
from fleetgate.gateway.demo.show import JsonShow, TextShow
from fleetgate.gateway.demo.stage import Stage, set_stage

FAILED: Final = 1
SIGNALED: Final = 128
"""And the signal's number: what shells answer for a program that a signal ended."""

Show: TypeAlias = JsonShow | TextShow


def main(argv: Sequence[str]) -> int:
    """Play the demo; 0 if everything held, 1 if not, 2 for a command line that makes no sense."""
    parser = argparse.ArgumentParser(
        prog="gateway demo",
        description="An agency client drives an rvbox host through a gateway that is killed.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--all", action="store_true", help="every pair of protocols at once")
    parser.add_argument("--keep", action="store_true", help="leave everything running at the end")
    try:
        arguments = parser.parse_args(argv)
        if arguments.all and arguments.keep:
            parser.error("--all leaves nothing running; use --keep without it")
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    out: object = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="replace")  # whatever the terminal cannot show
    try:
        return trio.run(_demo, _play_of(arguments))
    except BaseExceptionGroup as group:
        if group.subgroup(BrokenPipeError) is None:
            raise
        raise BrokenPipeError from None  # nobody watches any more


def _play_of(arguments: argparse.Namespace) -> Callable[[], Awaitable[int]]:
    if arguments.all:
        return partial(play_every, EveryJsonShow() if arguments.json else EveryTextShow())
    return partial(_play, JsonShow() if arguments.json else TextShow(), arguments.keep)


async def _demo(play: Callable[[], Awaitable[int]]) -> int:
    """Play it until it is over, or until a signal ends it: then with 128 and its number."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        ended: list[int] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_end_on_signal, signals, nursery.cancel_scope, ended)
            code = await play()
            nursery.cancel_scope.cancel()
    return SIGNALED + ended[0] if ended else code


async def _end_on_signal(
    signals: AsyncIterator[int], scope: trio.CancelScope, ended: list[int]
) -> None:
    async for number in signals:
        ended.append(number)
        scope.cancel()


async def _play(show: Show, keep: bool) -> int:
    stage = set_stage()
    home = Cradle(stage.root, keep=keep)
    director = Director(stage, show, home)
    wanted = False  # whether anybody has use for what lies in the directory
    judgements: list[Judgement] = []
    try:
        try:
            async with home:
                with show.live():
                    judgements = await director.play()
        except* DemoFailed as failed:
            wanted = True
            say_why(failed)
        good = bool(judgements) and all(each.good for each in judgements)
        wanted = wanted or keep or not good
        if judgements:
            show.end(judgements, director.restarts)
        if keep and judgements:
            show.say(_look_around(stage, home.children))
        elif not good:
            show.say(f"logs are in {stage.root}")
        return 0 if good else FAILED
    finally:
        if not wanted:
            shutil.rmtree(stage.root, ignore_errors=True)


def _look_around(stage: Stage, children: Sequence[Child]) -> str:
    alive = [child for child in children if child.process.returncode is None]
    pids = " ".join(str(child.pid) for child in alive)
    gateway, root = _ourselves(), shlex.quote(str(stage.root))
    admin = f"--admin {shlex.quote(f'unix:{stage.root}/admin/socket')}"
    return (
        f"everything is left running in {stage.root}. Look around:\n"
        f"    {gateway} status {admin}\n"
        f"    {gateway} runs --all {admin}\n"
        f"    {gateway} tail gui/ticker {admin} --no-follow\n"
        f'    echo \'{{"op":"workers","id":"1"}}\' > {root}/client.in; tail -1 {root}/client.out\n'
        f"and end it:\n"
        f"    kill {pids}; while kill -0 {pids} 2>/dev/null; do sleep 0.1; done; rm -r {root}"
    )


def _ourselves() -> str:
    """How whoever started us may start `gateway` again."""
    if os.path.basename(sys.argv[0]) == "gateway":
        return shlex.quote(sys.argv[0])
    return f"{shlex.quote(sys.executable)} -m fleetgate"
