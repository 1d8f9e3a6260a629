"""What others say is made visible wherever a command of ours prints it."""

from __future__ import annotations

import argparse
import re
from contextlib import suppress
from pathlib import Path

import pytest

from fleetgate.gateway.fakes.cli import run
from fleetgate.gateway.recording import replay_cli
from fleetgate.gateway.recording.comparing import Difference
from fleetgate.gateway.recording.replay import Played

ROOT = Path(__file__).parents[2] / "gateway"
PRINTS = re.compile(r"\bprint\(|sys\.std(?:out|err)(?:\.buffer)?\.write\(|console\.print\(")

OWN = {
    "bench": "figures and names of ours",
    "commands/version.py": "versions of packages",
    "demo/director.py": "the demo's own peers",
    "demo/every/show.py": "the same",
    "fidelity/cli.py": "words of ours",
    "recording/record_cli.py": "what was typed here",
}
"""Who prints nothing of others. This list can only shrink."""


def test_who_prints_makes_visible_what_others_say() -> None:
    bare = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if PRINTS.search(text := path.read_text()) and "printable" not in text
    }
    own = {path: name for path in bare for name in OWN if path.startswith(name)}
    assert bare - set(own) == set(), "print it through printable()"
    assert set(OWN) - set(own.values()) == set(), "take these out of the list"


EVIL = "\x1b]0;title\x07"


def test_a_name_that_a_peer_chose_does_not_act_in_a_replays_difference(
    capsys: pytest.CaptureFixture[str],
) -> None:
    difference = Difference(3, "hello", f"options.{EVIL}", "nothing", f'"{EVIL}"')
    arguments = argparse.Namespace(json=False, file="a.jsonl")
    replay_cli._tell(arguments, Played(3, difference))
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "options.^[]0;title^G" in shown


def test_what_is_wrong_with_a_fakes_options_does_not_act(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with suppress(SystemExit):
        run(["rvbox-client", f"--set=a{EVIL}=1", "--connect", f"ws://{EVIL}"])
    assert "\x1b" not in "".join(capsys.readouterr())
