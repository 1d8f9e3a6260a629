"""What a fake does without a script: it says its input and succeeds."""

from __future__ import annotations

import json
import shlex

from fleetgate.core.commands import Input, Prompt, RunSpec, ShellCommand
from fleetgate.core.events import Outcome
from fleetgate.gateway.fakes.acting import Act, Part, succeeded
from fleetgate.gateway.render import plain


def text_of(given: Input) -> str:
    """An input as one text: the prompt, the command as a line, the script, the tool's input."""
    match given:
        case Prompt(text=text):
            return text
        case ShellCommand(line=str(line)):
            return line
        case ShellCommand(argv=tuple(argv)):
            return shlex.join(argv)
        case ShellCommand(script=script):
            data = b"" if script is None or script.data is None else script.data
            return data.decode("utf-8", "replace")
        case _:
            return json.dumps(plain(given.input), ensure_ascii=False)


async def echo(part: Part) -> Outcome:
    """Say the run's input."""
    await part.text(text_of(part.spec.input))
    return succeeded()


def echoes(spec: RunSpec) -> Act:
    """Every run echoes."""
    return echo
