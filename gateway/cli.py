"""The command line of `gateway`. Only the command that is wanted is imported."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from typing import Any, Final, TypeAlias

from fleetgate import __version__
from fleetgate.gateway.command_line import Intermixed, Roomy, count, near, own_name, seconds
from fleetgate.gateway.groups import unwrapped
from fleetgate.gateway.heap import hold
from fleetgate.gateway.printable import printable

_ELSEWHERE: Final = {
    "bench": ("fleetgate.gateway.bench.cli", "how fast it is on this machine, beside a relay"),
    "demo": ("fleetgate.gateway.demo", "a gateway and both its ends, three processes, to look at"),
    "explain-frame": (
        "fleetgate.gateway.explain_frame.cli",
        "what a frame says, and what is wrong with it",
    ),
    "fake": ("fleetgate.gateway.fakes.cli", "one side of one protocol, for tests"),
    "tck": ("fleetgate.gateway.tck.cli", "does a peer keep to its protocol?"),
    "record": ("fleetgate.gateway.recording.record_cli", "stand between two peers, write frames"),
    "replay": ("fleetgate.gateway.recording.replay_cli", "play one side of a recording"),
    "fidelity": ("fleetgate.gateway.fidelity.cli", "what each bridge makes of each thing"),
}
"""Commands with a command line of their own: modules with `run(argv) -> int`."""

_SETTLING: Final = (["fake"], ["serve"])
"""Commands that go on, and call `release` or `settle` once they are loaded."""

_LEADING: Final = ("--admin", "--config", "--json")
"""Options that may stand before the command."""

_COMMANDS: Final = "fleetgate.gateway.commands."
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a disk says to who writes to it: a file that is no `filename`'s is standard output."""

FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130

Parser: TypeAlias = argparse.ArgumentParser
Command: TypeAlias = Intermixed
Commands: TypeAlias = Any
"""What `add_subparsers` gives, whose class argparse keeps to itself."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; answers its exit code."""
    words = _ordered(sys.argv[1:] if argv is None else argv)
    if argv is None:
        replace_closed()
        if words[:1] in _SETTLING:
            hold()
    if words and words[0] in _ELSEWHERE:
        module = import_module(_ELSEWHERE[words[0]][0])
        return _guarded(lambda: int(module.run(words[1:])))
    try:
        arguments = _parse(words)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    name, _, function = arguments.does.partition(":")
    does = getattr(import_module(_COMMANDS + name), function)
    return _guarded(lambda: int(does(arguments)))


def _ordered(given: Sequence[str]) -> list[str]:
    """The words with the command first: options of most commands may stand before it, too."""
    words = list(given)
    before: list[str] = []
    while words and words[0].partition("=")[0] in _LEADING:
        size = 1 if "=" in words[0] or words[0] == "--json" else 2
        before += words[:size]
        words = words[size:]
    return [*words[:1], *before, *words[1:]]


def replace_closed() -> None:
    """Put the null device where standard input, output or error is closed. What is opened next
    would else have its number: lines would be written to a link, and read from one."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY
            opened = os.open(os.devnull, flags)  # the lowest number that is free: this one
            setattr(sys, name, os.fdopen(opened, "r" if number == 0 else "w"))


def _parse(words: list[str]) -> argparse.Namespace:
    parser, known = _parsers()
    if not words:
        parser.print_help(sys.stderr)
        parser.exit(USAGE)
    if words[0][:1] != "-" and words[0] not in known:
        hint = near(words[0], known) or "`gateway --help` lists them"
        parser.error(f"there is no command {words[0]!r}; {hint}")
    return parser.parse_args(words)


def _guarded(command: Callable[[], int]) -> int:
    try:
        code = command()
        sys.stdout.flush()  # here, where it can be said that it failed
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except (OSError, BaseExceptionGroup) as error:
        inner = unwrapped(error)  # what prints may do so in a nursery
        if isinstance(inner, BrokenPipeError):
            _drop_output()  # whoever read us is gone
            return FAILED
        if not isinstance(inner, OSError) or inner.filename or inner.errno not in _FULL:
            raise
        _drop_output()
        why = printable(str(inner.strerror))
        sys.stderr.write(f"gateway: standard output cannot be written: {why}\n")
        return FAILED


def _drop_output() -> None:
    """What is still buffered must not fail again at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def make_parser() -> Parser:
    """The parser of all commands but those that have their own."""
    return _parsers()[0]


def _parsers() -> tuple[Parser, Collection[str]]:
    """The parser, and the names of all commands."""
    parser = argparse.ArgumentParser(
        prog="gateway",
        description="One process between agent fleets and control planes.",
        formatter_class=Roomy,
    )
    parser.add_argument("--version", action="version", version=f"fleetgate {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Intermixed)
    serve = _add(commands, "serve", "serve:run", "serve a config file until a signal ends it")
    serve.add_argument("--config", required=True, metavar="FILE")
    serve.add_argument("--record", metavar="FILE", help="write all frames there, without secrets")
    check = _add(commands, "check", "check:run", "check a config file and say what it means")
    check.add_argument("file", metavar="FILE")
    _json(check)
    for name, (_, words) in _ELSEWHERE.items():
        commands.add_parser(name, help=words, add_help=False)
    _add_reading(commands)
    _add_run(commands)
    _add_tail(commands)
    _add_orders(commands)
    _add_journal(commands)
    _json(_add(commands, "version", "version:run", "say which version this is"))
    return parser, commands.choices


def _add(commands: Commands, name: str, does: str, words: str) -> Command:
    parser: Command = commands.add_parser(name, help=words, description=words.capitalize() + ".")
    parser.set_defaults(does=does)
    return parser


def _json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="JSON lines in place of text")


def _add_asking(commands: Commands, name: str, does: str, words: str) -> Command:
    """A command that asks a running gateway."""
    parser = _add(commands, name, does, words)
    where = parser.add_argument_group(
        "which gateway",
        "by its admin socket: --admin, else --config, else the variable GATEWAY_ADMIN",
    )
    where.add_argument("--admin", metavar="ADDRESS", help="unix:PATH, or 127.0.0.1:PORT")
    where.add_argument("--config", metavar="FILE", help="the file that it serves")
    _json(parser)
    return parser


def _add_reading(commands: Commands) -> None:
    _add_asking(commands, "status", "operate:run_status", "show the gateway as a whole")
    _add_asking(commands, "workers", "operate:run_workers", "list the workers")
    runs = _add_asking(commands, "runs", "operate:run_runs", "list the open runs")
    runs.add_argument("--all", action="store_true", help="those that have ended, too")
    runs.add_argument("--link", metavar="NAME", help="only those of this northbound entry")
    words = "say how far a run's events have got, or one of them"
    explain = _add_asking(commands, "explain", "explain:run", words)
    explain.epilog = "`gateway explain-frame` is another thing: it decodes what crosses a link."
    explain.add_argument("run", metavar="RUN")
    explain.add_argument("seq", nargs="?", type=count, metavar="SEQ", help="the event's number")
    explain.add_argument("--payload", action="store_true", help="what the event says, too")


def _add_run(commands: Commands) -> None:
    run = _add_asking(commands, "run", "run:run", "start a run and follow it")
    run.stray = "a program and its own options stand behind --, as in: gateway run -- uname -a"
    given = run.add_argument_group("what to run: one of these")
    given.add_argument("--prompt", metavar="TEXT", help="for an agent; - is standard input")
    given.add_argument("--line", metavar="TEXT", help="a line for a host's shell")
    given.add_argument("--tool", metavar="NAME", help="a tool, called with --input")
    given.add_argument("command", nargs="*", metavar="-- COMMAND", help="a program and its words")
    _add_manner(run)
    run.add_argument("--name", type=own_name, metavar="NAME", help="its id is admin/NAME")
    run.add_argument("--detach", action="store_true", help="do not follow it, say its id")
    run.add_argument("--quiet", "-q", action="store_true", help="show only what it produces")


def _add_manner(run: Parser) -> None:
    how = run.add_argument_group("how to run it")
    how.add_argument("--input", metavar="JSON", help="a tool's input")
    how.add_argument("--provider", default="", metavar="NAME", help="the agent program")
    how.add_argument("--model", default="", metavar="NAME", help="the agent's model")
    how.add_argument("--permission", default="", metavar="WORD", help="what an agent may do")
    how.add_argument("--workspace", metavar="DIR", **_several("a directory of the run"))
    how.add_argument("--cwd", default="", metavar="DIR", help="a command's directory")
    how.add_argument("--env", metavar="NAME=VALUE", **_several("its environment"))
    how.add_argument("--label", metavar="NAME=VALUE", **_several("what routes look at"))
    how.add_argument("--timeout", type=seconds, metavar="SECONDS", help="its end at the latest")
    how.add_argument("--stdin", action="store_true", help="give it our standard input first")
    how.add_argument("--interactive", "-i", action="store_true", help="it takes gateway send")
    how.add_argument("--approvals", action="store_true", help="it asks before gated tools")


def _several(words: str) -> dict[str, Any]:
    return {"action": "append", "default": [], "help": f"{words}; repeatable"}


def _add_tail(commands: Commands) -> None:
    tail = _add_asking(commands, "tail", "tail:run", "show a run's events and follow it")
    tail.add_argument("run", metavar="RUN")
    tail.add_argument("--after", type=count, default=0, metavar="N", help="only those after N")
    tail.add_argument("--no-follow", action="store_true", help="only those recorded by now")
    tail.add_argument("--quiet", "-q", action="store_true", help="show only what it produces")


def _add_orders(commands: Commands) -> None:
    send = _add_asking(commands, "send", "operate:run_send", "send input to a run")
    send.add_argument("run", metavar="RUN")
    send.add_argument("text", nargs="?", metavar="TEXT", help="- is standard input, as it is")
    send.add_argument("--no-newline", action="store_true", help="put no newline behind TEXT")
    send.add_argument("--close", action="store_true", help="no more input comes")
    approve = _add_asking(commands, "approve", "operate:run_approve", "answer an approval")
    approve.add_argument("run", metavar="RUN")
    approve.add_argument("approval", nargs="?", metavar="APPROVAL", help="if there are several")
    answer = approve.add_mutually_exclusive_group()
    answer.add_argument("--once", dest="decision", action="store_const", const="allow_once")
    answer.add_argument("--similar", dest="decision", action="store_const", const="allow_similar")
    answer.add_argument("--deny", dest="decision", action="store_const", const="deny")
    answer.add_argument("--value", metavar="TEXT", help="where it asks for one")
    approve.set_defaults(decision="allow_once")
    cancel = _add_asking(commands, "cancel", "operate:run_cancel", "end a run")
    cancel.add_argument("run", metavar="RUN")
    cancel.add_argument("--session", action="store_true", help="and all runs of its session")
    cancel.add_argument("--reason", default="", metavar="TEXT")
    signal = _add_asking(commands, "signal", "operate:run_signal", "send a signal to a run")
    signal.add_argument("run", metavar="RUN")
    signal.add_argument("signal", choices=["interrupt", "terminate", "kill", "hangup"])
    drain = _add_asking(
        commands, "drain", "operate:run_drain", "give a worker no more runs, or end the gateway"
    )
    drain.add_argument("worker", nargs="?", metavar="WORKER", help="none: the gateway itself")
    drain.add_argument("--undo", action="store_true", help="give the worker runs again")
    drain.add_argument("--wait", action="store_true", help="until the gateway has ended")


def _add_journal(commands: Commands) -> None:
    words = "look after a journal that no gateway has open"
    journal = _add(commands, "journal", "journal:run", words)
    journal.add_argument("action", choices=["verify", "export", "compact"])
    journal.add_argument("file", nargs="?", metavar="FILE", help="the journal's own")
    journal.add_argument("--config", metavar="FILE", help="of the gateway whose journal it is")
    _json(journal)


if __name__ == "__main__":
    sys.exit(main())
