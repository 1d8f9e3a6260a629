"""What the command lines of all fakes have in common."""

from __future__ import annotations

import argparse
import os
import typing
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, TypeVar

import attrs

from fleetgate.core.worker import InputKind
from fleetgate.gateway.carrying import check_carried, options_of
from fleetgate.gateway.command_line import count, near
from fleetgate.gateway.config import ConfigError
from fleetgate.gateway.config_entries import Entry, Grant, Secret, SecretUnreadable
from fleetgate.gateway.config_reader import Flawed, nearest, read
from fleetgate.gateway.fakes.fault_specs import BadFault, read_faults
from fleetgate.gateway.fakes.links import FakeLinks
from fleetgate.gateway.fakes.running import Around
from fleetgate.gateway.logs import LEVELS, Log
from fleetgate.gateway.registry import builtin_adapter
from fleetgate.transports.api import AddressError, PathTooLong, TlsFiles
from fleetgate.transports.open import check_address

if TYPE_CHECKING:
    from fleetgate.gateway.local.script import Script

_T = TypeVar("_T")


class Options(Protocol):
    """A parser, or a group of one."""

    @property
    def add_argument(self) -> Callable[..., object]:
        """As argparse has it."""
        ...


class BadOption(Exception):
    """The options of a fake make no sense; the text says why."""


class CannotBeHad(BadOption):
    """The options make sense, and not on this machine: the fake cannot start."""


class Parser(argparse.ArgumentParser):
    """The parser of a fake's options. What makes no sense is raised as `BadOption`."""

    @property
    def actions(self) -> Sequence[argparse.Action]:
        """Every option."""
        return self._actions

    def error(self, message: str) -> NoReturn:
        _, unknown, words = message.partition(_UNKNOWN)
        if not unknown:
            raise BadOption(message)
        # What stands behind an unknown option may be a token, and is not repeated.
        option = words.split()[0].partition("=")[0]
        if not option.startswith("--"):
            raise BadOption("expected options only, got a word that belongs to none")
        raise BadOption(f"{option}: {_hint(option, self.options)}")

    @property
    def options(self) -> Sequence[str]:
        """What they are called."""
        return [each for action in self.actions for each in action.option_strings]


_UNKNOWN: Final = "unrecognized arguments: "
"""How argparse begins what it says of those."""


def _hint(option: str, known: Sequence[str]) -> str:
    # Imported here: all fakes are, which nobody needs but who has mixed them up.
    from fleetgate.gateway.fakes.cli import FAKES, module_of

    have = [name for name in FAKES if option in module_of(name).make_parser().options]
    if have:
        return f"this fake has no such option; {' and '.join(have)} {_HAVE[len(have) > 1]}"
    # Their dashes alone would make any two of them alike.
    hint = near(option.lstrip("-"), [each.lstrip("-") for each in known])
    return f"no option has this name; {hint.replace('mean ', 'mean --') or 'see --help'}"


_HAVE: Final = ("has it", "have it")


def add_common(parser: argparse.ArgumentParser, settings: type[Any]) -> None:
    """Options of every fake; `settings` are the protocol's, for `--set`."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="a time (seconds) or limit of the protocol: " + _defaults(settings),
    )
    parser.add_argument("--log-level", choices=list(LEVELS), default="warning")
    parser.add_argument("--frames", action="store_true", help="print a line for each frame")
    parser.add_argument("--record", metavar="FILE", help="write all frames there, without secrets")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="where faults strike (default: 0)"
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="SPEC",
        dest="faults",
        help="what goes wrong on links; repeatable: " + FAULTS.replace("%", "%%"),
    )


MOST: Final = 10**12
"""What an option counts at most: milliseconds of thirty years, and more runs than there will be."""

FAULTS: Final = (
    "drop_after=N, delay_ms=N, duplicate=P, reorder=P, corrupt=P, truncate=P, lose_ack=P, "
    "half_open, slow_read=BYTES_PER_S, byte_at_a_time, each with dir=in|out|both behind a comma"
)


def around_of(
    name: str,
    entry: Entry,
    journal: str,
    arguments: argparse.Namespace,
    inputs: frozenset[InputKind] = frozenset(),
) -> Around:
    """What a fake is made of, with the options of every fake.

    Raises: `BadOption`.
    """
    try:
        faults = read_faults(arguments.faults)
    except BadFault as error:
        raise BadOption(f"--fault {error}") from None
    log, links = Log(arguments.log_level), FakeLinks(arguments.seed, faults)
    return Around(name, entry, journal, log, inputs, links, arguments.frames, arguments.record)


def add_state(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """The directory of what a fake keeps."""
    parser.add_argument(
        "--state", required=required, metavar="DIR", help="keep what was journaled there"
    )


def journal_of(state: str | None) -> str:
    """The journal in a state directory, which is made if it is missing; in memory without one."""
    if state is None:
        return "memory:"
    with suppress(OSError):  # whoever opens the journal says why it cannot be there
        os.makedirs(state, mode=0o700, exist_ok=True)
    return f"sqlite:{os.path.abspath(state)}/journal.db"


def add_script(parser: Options) -> None:
    """What a fake that works does with its runs."""
    parser.add_argument("--script", metavar="FILE", help="a TOML file that says what runs do")


def script_of(arguments: argparse.Namespace) -> Script:
    """The script that was named; without one every run echoes its input.

    Raises: `BadOption`, with every problem by line and key.
    """
    # Imported here: half of the fakes work nothing.
    from fleetgate.gateway.local.script import ECHO, Script, load_script

    if arguments.script is None:
        return ECHO
    if isinstance(arguments.script, Script):  # it was made in Python
        return arguments.script
    try:
        return load_script(arguments.script)
    except ConfigError as error:
        raise BadOption("; ".join(error.lines())) from None


def add_tls(parser: argparse.ArgumentParser) -> None:
    """Options of fakes whose carriage may be TLS."""
    parser.add_argument("--tls-ca", metavar="FILE", help="verifies the peer's certificate")
    parser.add_argument("--tls-cert", metavar="FILE", help="our own certificate")
    parser.add_argument("--tls-key", metavar="FILE", help="its key")


def check_entry(option: str, entry: Entry) -> None:
    """Whether a peer could be reached there, or come there. Nothing is dialled or bound.

    Raises: `CannotBeHad` for a socket whose path this system does not have;
    `BadOption`, with the form that is wanted.
    """
    side = entry.side(builtin_adapter(entry.protocol))
    try:
        carriage = side.carriage(entry.settings)
        check_carried(entry, carriage)
        options = options_of(entry, carriage)
        check_address(entry.address, options, listener=entry.listens)
    except PathTooLong as error:
        raise CannotBeHad(f"{option}: {error}") from None
    except AddressError as error:
        raise BadOption(f"{option}: {error}") from None


def tls_of(arguments: argparse.Namespace) -> TlsFiles | None:
    """The files that were named, if any."""
    files = TlsFiles(arguments.tls_cert, arguments.tls_key, arguments.tls_ca)
    return None if files == TlsFiles() else files


@attrs.frozen(slots=True)
class GivenToken(Secret):
    """A token from the command line: a fake's is no secret to whoever tests with it."""

    value: str = attrs.field(default="", repr=False)

    def read(self) -> str:
        """The token."""
        return self.value


TOKEN_FILE: Final = "a file that holds it: ps does not show that"


def add_token(
    parser: argparse.ArgumentParser,
    *,
    metavar: str,
    help: str,
    repeated: bool = False,
    required: bool = False,
) -> None:
    """`--token`, which whoever sees the machine's processes sees too, and `--token-file`."""
    more: dict[str, Any] = {"action": "append", "default": []} if repeated else {}
    group = parser.add_mutually_exclusive_group(required=required)
    group.add_argument("--token", metavar=metavar, help=help, **more)
    group.add_argument(
        "--token-file",
        dest="token",
        type=token_in,
        metavar="FILE",
        help=TOKEN_FILE,
        **more,
    )


def token_in(path: str) -> str:
    """The token that a file holds. For argparse."""
    try:
        return Secret(file=path).read()
    except SecretUnreadable as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def token_of(token: str | None, check: Callable[[str], None]) -> GivenToken | None:
    """The token that was given, if any. `check` is the protocol's word on it, a `ValueError` that
    repeats nothing of a token.

    Raises: `BadOption`.
    """
    if token is None:
        return None
    try:
        check(token)
    except ValueError as error:
        raise BadOption(f"--token: {error}") from None
    return GivenToken(value=token)


def grants_of(option: str, given: Sequence[str]) -> tuple[Grant, ...]:
    """The grants that `T=ID` words make.

    Raises: `BadOption`, which repeats no token.
    """
    grants: list[Grant] = []
    for word in given:
        token, _, id = word.rpartition("=")
        if not token or not id:
            raise BadOption(f"{option}: expected TOKEN=ID")
        grants.append(Grant(GivenToken(value=token), id))
    check_tokens(grants)
    return tuple(grants)


def check_tokens(grants: Sequence[Grant]) -> None:
    """Whether each token is of one peer: the second that it names would never come in.

    Raises: `BadOption`, which repeats no token.
    """
    ids: dict[str, str] = {}
    for grant in grants:
        first = ids.setdefault(grant.token.read(), grant.id)
        if first != grant.id:
            raise BadOption(
                f"--token: one token is given to {first} and to {grant.id}; each needs its own"
            )


def milliseconds(text: str) -> float:
    """An option's milliseconds, as the seconds that settings have. For argparse."""
    return count(text, least=1, most=MOST) / 1000


def given(**members: Any) -> dict[str, Any]:
    """Those of a fake's own options that were used, for `settings_of`."""
    return {name: value for name, value in members.items() if value is not None}


def _types(settings: type[Any]) -> dict[str, Any]:
    """The settings that can be written on a command line, and their types: no tables."""
    types = typing.get_type_hints(settings)
    return {name: kind for name, kind in types.items() if _is_word(kind)}


def _is_word(kind: Any) -> bool:
    if kind in (str, bool, int, float) or typing.get_origin(kind) is typing.Literal:
        return True
    return typing.get_origin(kind) is tuple and typing.get_args(kind)[0] is str


def _defaults(settings: type[Any]) -> str:
    known = _types(settings)
    members = ", ".join(
        f"{field.name}={_written(field.default)}"
        for field in attrs.fields(settings)
        if field.name in known
    )
    return members.replace("%", "%%")


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(typing.cast("tuple[str, ...]", value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def settings_of(kind: type[_T], assignments: Sequence[str], **own: Any) -> _T:
    """The settings with what `--set` assigns, and what the fake's own options give.

    Raises: `BadOption`.
    """
    types = _types(kind)
    table: dict[str, Any] = dict(own)
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise BadOption(f"--set {assignment}: expected NAME=VALUE")
        if name not in types:
            raise BadOption(f"--set {name}: no setting has this name; {nearest(name, types)}")
        table[name] = _parsed(types[name], text, name)
    try:
        return read(kind, table, ())
    except Flawed as error:
        said = "; ".join(f"{'.'.join(map(str, f.path))}: {f.message}" for f in error.flaws)
        raise BadOption(f"--set {said}") from None


def _parsed(kind: Any, text: str, name: str) -> Any:
    try:
        if kind is bool:
            return {"true": True, "false": False}[text]
        if kind in (int, float):
            return kind(text)
    except (KeyError, ValueError):
        words = "true or false" if kind is bool else "a number"
        raise BadOption(f"--set {name}: expected {words}, got {text!r}") from None
    return text.split(",") if typing.get_origin(kind) is tuple else text
