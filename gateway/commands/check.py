"""`gateway check`: is a config file right, and what does it mean?"""

from __future__ import annotations

from argparse import Namespace

from fleetgate.gateway.check import Findings, check
from fleetgate.gateway.commands import exits
from fleetgate.gateway.commands.output import say, write_json
from fleetgate.gateway.commands.promised import route_line, told
from fleetgate.gateway.config import Config, ConfigError, Problem, load
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.render import Line
from fleetgate.gateway.route_words import sentence


def run(arguments: Namespace) -> int:
    """Check a file. 0: it can be served; 1: there are problems."""
    known = adapters()
    try:
        config = load(arguments.file, known)
    except ConfigError as error:
        return _refuse(error, json=arguments.json)
    findings = check(config, known)
    if arguments.json:
        write_json(_line(config, findings))
    else:
        _tell(config, findings)
    return exits.FAILED if findings.problems else exits.OK


def _refuse(error: ConfigError, *, json: bool) -> int:
    if json:
        problems = [_place(error.path, each) for each in error.problems]
        write_json({"ok": False, "problems": problems, "warnings": [], "routes": []})
    else:
        for line in error.lines():
            say(line)
        say(_verdict(error.path, len(error.problems)))
    return exits.FAILED


def _tell(config: Config, findings: Findings) -> None:
    for each in ConfigError(config.path, findings.warnings).lines():
        say(f"warning: {each}")
    for number, words in enumerate(findings.routes, start=1):
        say(f"{number}. {sentence(words.route)}")
        for line in told(words):
            say(line)
    for each in ConfigError(config.path, findings.problems).lines():  # last, where people look
        say(each)
    say(_verdict(config.path, len(findings.problems), len(findings.warnings)))


def _verdict(path: str, errors: int, warnings: int = 0) -> str:
    """The last line: what it comes to."""
    counts = {"error": errors, "warning": warnings}
    told = [f"{n} {what}{'s' * (n > 1)}" for what, n in counts.items() if n]
    said = f"{path}: {'cannot' if errors else 'can'} be served"
    return f"{said}: {', '.join(told)}" if told else said


def _line(config: Config, findings: Findings) -> Line:
    return {
        "ok": not findings.problems,
        "problems": [_place(config.path, each) for each in findings.problems],
        "warnings": [_place(config.path, each) for each in findings.warnings],
        "routes": [route_line(words) for words in findings.routes],
    }


def _place(path: str, problem: Problem) -> Line:
    return {
        "file": path,
        "line": problem.line,
        "key": problem.key,
        "message": problem.message,
    }
