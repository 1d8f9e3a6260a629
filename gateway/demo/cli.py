"""The command line of `gateway demo`."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence

import trio

from fleetgate.gateway.demo.children import Child, Cradle
from fleetgate.gateway.demo.director import DemoFailed, Director
from fleetgate.gateway.demo.judge import Judgement
from fleetgate.gateway.demo.show import JsonShow, TextShow
from fleetgate.gateway.demo.stage import Stage, set_stage


def main(argv: Sequence[str]) -> int:
    """Play the demo; 0 if everything held, 1 if not, 2 for a command line that makes no sense."""
    parser = argparse.ArgumentParser(
        prog="gateway demo",
        description="An agency client drives an rvbox host through a gateway that is killed.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--keep", action="store_true", help="leave everything running at the end")
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    return trio.run(_demo, JsonShow() if arguments.json else TextShow(), arguments.keep)


async def _demo(show: JsonShow | TextShow, keep: bool) -> int:
    stage = set_stage()
    home = Cradle(stage.root, keep=keep)
    director = Director(stage, show, home)
    judgements: list[Judgement] = []
    try:
        async with home:
            with show.live():
                judgements = await director.play()
    except* DemoFailed as failed:
        for error in _leaves(failed):
            sys.stderr.write(f"gateway demo: {error}; logs are in {stage.root}\n")
        keep = True  # the logs
    good = bool(judgements) and all(each.good for each in judgements)
    show.end(judgements, director.restarts)
    if keep and judgements:
        show.say(_look_around(stage, home.children))
    elif good:
        shutil.rmtree(stage.root)
    return 0 if good else 1


def _leaves(group: BaseExceptionGroup[DemoFailed]) -> list[BaseException]:
    found: list[BaseException] = []
    for each in group.exceptions:
        found += _leaves(each) if isinstance(each, BaseExceptionGroup) else [each]
    return found


def _look_around(stage: Stage, children: Sequence[Child]) -> str:
    alive = [child for child in children if child.process.returncode is None]
    pids = " ".join(str(child.pid) for child in alive)
    admin = f"--admin unix:{stage.root}/admin/socket"
    return (
        f"everything is left running in {stage.root}. Look around:\n"
        f"    gateway status {admin}\n"
        f"    gateway runs --all {admin}\n"
        f"    gateway tail gui/ticker {admin} --no-follow\n"
        f'    echo \'{{"op":"workers","id":"1"}}\' > {stage.root}/client.in; '
        f"tail -1 {stage.root}/client.out\n"
        f"and end it:\n"
        f"    kill {pids}; rm -r {stage.root}"
    )
