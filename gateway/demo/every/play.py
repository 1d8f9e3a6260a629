"""`gateway demo --all`, from its stage to its exit code."""

from __future__ import annotations

from typing import Final, TypeAlias

from fleetgate.gateway.demo.children import Cradle
from fleetgate.gateway.demo.director import DemoFailed, say_why
from fleetgate.gateway.demo.every.director import EveryDirector
from fleetgate.gateway.demo.every.judge import Verdict
from fleetgate.gateway.demo.every.show import EveryJsonShow, EveryTextShow
from fleetgate.gateway.demo.every.stage import set_every_stage

FAILED: Final = 1

EveryShow: TypeAlias = EveryJsonShow | EveryTextShow


async def play_every(show: EveryShow) -> int:
    """Play it; 0 if everything held. Logs are left behind where it did not."""
    stage = set_every_stage()
    home = Cradle(stage.root, keep=False)
    director = EveryDirector(stage, show, home)
    verdicts: list[Verdict] = []
    told = True  # whether anybody has use for what lies in the directory
    try:
        try:
            async with home:
                with show.live():
                    verdicts = await director.play()
        except* DemoFailed as failed:
            say_why(failed)
        if verdicts:
            show.end(verdicts, director.restarts)
        good = bool(verdicts) and all(each.good for each in verdicts)
        told = not good
        if told:
            show.say(f"logs are in {stage.root}")
        return 0 if good else FAILED
    finally:
        if not told:
            stage.remove()
