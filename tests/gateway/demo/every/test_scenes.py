"""The scenes, and the script that is made of them."""

from __future__ import annotations

from fleetgate.core.commands import Prompt, ShellCommand
from fleetgate.core.events import TextProduced
from fleetgate.gateway.demo.every.scenes import AFTER, QUICK, SCENES, TICKER, script
from fleetgate.gateway.demo.every.speakers import PAIRS
from fleetgate.gateway.local.script import parse_script
from fleetgate.gateway.local.script_steps import Say


def test_the_script_says_each_scene_whole_whatever_the_kind_of_input() -> None:
    read = parse_script(script(), "script.toml")
    for scene in SCENES:
        for given in (Prompt(scene.word), ShellCommand(argv=("say", scene.word))):
            said = [step for step in read.steps_for(given) if isinstance(step, Say)]
            events = [event for step in said for event in step.events]
            texts = [event.text for event in events if isinstance(event, TextProduced)]
            assert "".join(texts) == scene.text
            assert len(texts) == scene.lines


def test_only_the_scene_that_is_cut_may_end_early() -> None:
    for pair in PAIRS:
        assert QUICK.lasts(pair)
        assert AFTER.lasts(pair)
        assert TICKER.lasts(pair) is pair.resumes
