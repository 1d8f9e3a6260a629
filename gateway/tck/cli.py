"""`gateway tck`: examine a peer."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import trio

from fleetgate.gateway.command_line import seconds
from fleetgate.gateway.fakes.options import TOKEN_FILE, BadOption, settings_of, token_in
from fleetgate.gateway.groups import unwrapped
from fleetgate.gateway.printable import printable
from fleetgate.gateway.tck import report
from fleetgate.gateway.tck.kits import NoSuchKit, kit_of, kits_of, protocols
from fleetgate.gateway.tck.peer import CannotStart, Patience
from fleetgate.gateway.tck.requirement import Kit, Requirement
from fleetgate.gateway.tck.runner import Result, Runner, Summary, chosen
from fleetgate.gateway.tck.target import Started, Wants, open_target
from fleetgate.transports.api import AddressError, LinkError

OK: Final = 0
BROKEN: Final = 1
"""A must was broken."""
USAGE: Final = 2
UNPROVEN: Final = 3
"""No must was broken, and some were skipped that the target's carriage has."""
CANNOT_START: Final = 4
"""The address cannot be used, or the command of --start cannot be run."""


def run(argv: Sequence[str]) -> int:
    """Examine a target; answers the exit code."""
    if list(argv) == ["--markdown"]:
        from fleetgate.gateway.tck.page import to_markdown

        sys.stdout.write(to_markdown())
        return OK
    if len(argv) < 2 or argv[0].startswith("-") or argv[1].startswith("-"):
        sys.stdout.write(_usage())
        return OK if "-h" in argv or "--help" in argv else USAGE
    try:
        return _examine(kit_of(argv[0], argv[1]), argv[2:])
    except (NoSuchKit, BadOption) as error:
        sys.stderr.write(printable(f"gateway tck: {error}\n"))
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    return USAGE


def _usage() -> str:
    lines = "".join(f"  {name:<10} {' | '.join(kits_of(name))}\n" for name in protocols())
    return (
        "usage: gateway tck PROTOCOL SIDE --target ADDRESS …\n\n"
        "Examines a peer: does it keep to its protocol? SIDE is what the peer plays.\n\n"
        f"{lines}\n`gateway tck PROTOCOL SIDE --help` says more, `--list` shows what is required.\n"
        "`gateway tck --markdown` writes the page of all requirements.\n"
    )


def make_parser(kit: Kit) -> argparse.ArgumentParser:
    """The parser of a kit's command line."""
    parser = argparse.ArgumentParser(
        prog=f"gateway tck {kit.protocol} {kit.side}", description=_described(kit)
    )
    where = "where it listens" if kit.listens else "where the kit listens, and the target dials"
    parser.add_argument("--target", metavar="ADDRESS", help=where)
    parser.add_argument("--only", action="append", default=[], metavar="ID", help=_ONLY)
    parser.add_argument("--list", action="store_true", help="show the requirements, try nothing")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="a JSON object a line")
    form.add_argument("--junit", action="store_true", help="JUnit's XML")
    parser.add_argument("--frames", action="store_true", help="the frames of what passed, too")
    parser.add_argument("--start", metavar="COMMAND", help=_START)
    if kit.wants:
        words = f"what a target is asked to do: {', '.join(kit.wants)}"
        given = parser.add_argument_group("how the target is made to ask for something", words)
        given.add_argument("--on", metavar="WANT=COMMAND", **_several("run this"))
        given.add_argument("--say", metavar="WANT=LINE", **_several(_SAY))
    _add_patience(parser)
    _add_given(parser, kit)
    return parser


_ONLY: Final = "only these: an id, or a pattern (AGENCY-D-01*), or a topic; repeatable"
_START: Final = "start the target with this, and again whenever it has ended; no shell reads it"
_SAY: Final = "write this to the standard input of a target that --start has started"


def _several(words: str) -> dict[str, Any]:
    return {"action": "append", "default": [], "help": f"{words}; repeatable"}


def _described(kit: Kit) -> str:
    how = "dials it" if kit.listens else "listens at --target and waits for it"
    return (
        f"Examines a peer that plays the {kit.side} of {kit.protocol}: the kit {how}. Exit codes: "
        "0 every must is met, 1 one is broken, 3 none is broken and some that its carriage has "
        "were skipped, 2 the command line makes no sense, 4 it could not start."
    )


def _add_patience(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how long it waits, in seconds")
    words = {
        "within": "for an answer",
        "quiet": "where nothing must come",
        "arrive": "for a target that dials, or starts",
        "whole": "for one requirement",
    }
    for field in attrs.fields(Patience):
        group.add_argument(
            f"--{field.name}",
            type=seconds,
            default=field.default,
            metavar="SECONDS",
            help=f"{words[field.name]} (default {field.default:g})",
        )


def _add_given(parser: argparse.ArgumentParser, kit: Kit) -> None:
    group = parser.add_argument_group("what the kit must know of the target")
    for field in attrs.fields(kit.given):
        words = field.metadata.get("words", "")
        default = f" (default {field.default})" if field.default != "" else ""
        name = field.name.replace("_", "-")
        help = (words + default).replace("%", "%%")
        dest, either = f"given_{field.name}", group.add_mutually_exclusive_group()
        either.add_argument(f"--{name}", metavar="VALUE", dest=dest, help=help)
        if name.endswith("token"):
            more: dict[str, Any] = {"dest": dest, "type": token_in, "help": TOKEN_FILE}
            either.add_argument(f"--{name}-file", metavar="FILE", **more)
    group.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="the same, by name"
    )


def given_of(kit: Kit, arguments: argparse.Namespace) -> Any:
    """What the command line says of the target.

    Raises: `BadOption`.
    """
    words = list(arguments.set)
    for field in attrs.fields(kit.given):
        value = getattr(arguments, f"given_{field.name}")
        if value is not None:
            words.append(f"{field.name}={value}")
    return settings_of(kit.given, words)


def assigned(option: str, words: Sequence[str], known: Sequence[str]) -> Mapping[str, str]:
    """`WANT=WORDS` options as a table.

    Raises: `BadOption`.
    """
    table: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name not in known:
            raise BadOption(f"{option} {word}: expected WANT=…, WANT one of {', '.join(known)}")
        table[name] = text
    return table


def _examine(kit: Kit, argv: Sequence[str]) -> int:
    parser = make_parser(kit)
    arguments = parser.parse_args(argv)
    wanted = chosen(kit, arguments.only)
    if not wanted:
        raise BadOption(f"--only {' '.join(arguments.only)}: no requirement fits; see --list")
    if arguments.list:
        _list(kit, wanted, as_json=arguments.json)
        return OK
    if not arguments.target:
        parser.error("--target is missing: the address of the peer")
    given = given_of(kit, arguments)
    try:
        return trio.run(_run, kit, wanted, given, arguments)
    except (CannotStart, LinkError, AddressError, OSError, BaseExceptionGroup) as group:
        error = unwrapped(group)
        if not isinstance(error, CannotStart | LinkError | AddressError | OSError):
            raise
        sys.stderr.write(printable(f"gateway tck: {error}\n"))
        return CANNOT_START


def _list(kit: Kit, wanted: tuple[Requirement, ...], *, as_json: bool) -> None:
    lines = report.listed(kit, wanted)
    if as_json:
        lines = (json.dumps(report.line_of(each)) for each in wanted)
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _patience(arguments: argparse.Namespace) -> Patience:
    names = [field.name for field in attrs.fields(Patience)]
    return Patience(**{name: getattr(arguments, name) for name in names})


async def _run(
    kit: Kit, wanted: tuple[Requirement, ...], given: Any, arguments: argparse.Namespace
) -> int:
    started = _started(arguments.start)
    try:
        wants, patience = _wants(kit, arguments, started), _patience(arguments)
        options = kit.options(given)
        if kit.listens:  # a handshake is an answer, too
            options = attrs.evolve(options, handshake_timeout=patience.within)
        async with open_target(kit, arguments.target, options, wants) as target:
            if started is not None and not kit.listens:
                await started.ensure()
            runner = Runner(kit, target, given, patience, started)
            results = [_said(await runner.attempt(each), arguments) for each in wanted]
    finally:
        if started is not None:
            await started.stop()
    summary = Summary(tuple(results))
    code = BROKEN if summary.broken else UNPROVEN if summary.unproven else OK
    _conclude(kit, arguments, summary, code)
    return code


def _started(command: str | None) -> Started | None:
    """Raises: `BadOption`."""
    return None if command is None else Started(_words("--start", command))


def _words(option: str, command: str) -> list[str]:
    """A command's words. Raises: `BadOption`."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        said = f"{option}: expected a program and its words; in {command!r} there is"
        raise BadOption(f"{said} {str(error).lower()}") from None
    if not words:
        raise BadOption(f"{option}: expected a program and its words, got nothing")
    return words


def _wants(kit: Kit, arguments: argparse.Namespace, started: Started | None) -> Wants:
    if not kit.wants:
        return Wants({})
    write: Callable[[str], Awaitable[None]] | None = None if started is None else started.write
    on = assigned("--on", arguments.on, kit.wants)
    for want, command in on.items():
        _words(f"--on {want}", command)
    say = assigned("--say", arguments.say, kit.wants)
    if say and started is None:
        raise BadOption("--say: only a target that --start has started has a standard input here")
    return Wants(on, write, say)


def _said(result: Result, arguments: argparse.Namespace) -> Result:
    """Say a result at once, where the form can: people watch."""
    if arguments.json:
        sys.stdout.write(json.dumps(report.result_line(result)) + "\n")
    elif not arguments.junit:
        lines = report.text_of(result, frames=arguments.frames)
        sys.stdout.write(printable("".join(f"{line}\n" for line in lines)))
    sys.stdout.flush()
    return result


def _conclude(kit: Kit, arguments: argparse.Namespace, summary: Summary, code: int) -> None:
    if arguments.json:
        line = report.summary_line(kit, arguments.target, summary, code)
        sys.stdout.write(json.dumps(line) + "\n")
    elif arguments.junit:
        sys.stdout.write(report.junit_of(kit, arguments.target, summary) + "\n")
    else:
        sys.stdout.write(printable(report.summary_text(summary) + "\n"))
