"""The options of a fake as keywords: the command line's own, by the same names and rules."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar, cast

import attrs

from fleetgate.gateway.config_reader import Flawed, nearest
from fleetgate.gateway.fakes.cli import module_of
from fleetgate.gateway.fakes.options import BadOption, Parser
from fleetgate.gateway.fakes.running import Peer
from fleetgate.gateway.local.script import Script, read_script
from fleetgate.gateway.local.script_steps import place_of

Rules: TypeAlias = Sequence[Mapping[str, Any]]
"""The `[[when]]` rules of a script, as a list: each has `match` and `do`."""

OTHERWISE: Final = frozenset({"help", "frames", "token_file"})
"""Options of the command line that have no keyword: every frame is seen from Python, and no list of
processes shows its values."""


_P = ParamSpec("_P")
_T = TypeVar("_T")


def by_name(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """The same, but a keyword that it does not have is a `BadOption` with the nearest that it has,
    and no `TypeError`."""
    known = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        __tracebackhide__ = True
        for key in kwargs:
            if key not in known:
                raise BadOption(f"{key}: there is no such option; {nearest(key, known)}")
        return function(*args, **kwargs)

    return call


def make_peer(name: str, options: Mapping[str, Any]) -> Peer:
    """The fake of this name. Options that are None are left out; those with a hyphen are written
    with an underscore.

    Raises: `BadOption`.
    """
    module = module_of(name)
    parser: Parser = module.make_parser()
    known = keywords(parser)
    used = {key: value for key, value in options.items() if value is not None}
    for key in used:
        if key not in known:
            raise BadOption(f"{key}: {name} has no such option; {nearest(key, known)}")
    script = used.get("script")
    rules = None if isinstance(script, str | os.PathLike) else used.pop("script", None)
    try:
        arguments = parser.parse_args(list(_words(used)))
        if rules is not None:
            arguments.script = script_of_rules(rules)
        peer: Peer = module.make(arguments)
    except BadOption as error:
        raise type(error)(_by_keyword(str(error), known)) from None
    return attrs.evolve(peer, around=attrs.evolve(peer.around, frames=True))


def keywords(parser: Parser) -> list[str]:
    """The keywords that a command line comes to."""
    options = [option for action in parser.actions for option in action.option_strings]
    words = [option[2:].replace("-", "_") for option in options if option.startswith("--")]
    return [word for word in words if word not in OTHERWISE]


def _by_keyword(said: str, known: Sequence[str]) -> str:
    """What is wrong, with the keywords that were written in place of the command line's options."""

    def named(option: re.Match[str]) -> str:
        key = option[1].replace("-", "_")
        return key if key in known else option[0]

    return re.sub(r"--([a-z][a-z-]*)", named, said)


def script_of_rules(rules: Rules | Script) -> Script:
    """The script that has these rules.

    Raises: `BadOption`, with every flaw.
    """
    if isinstance(rules, Script):
        return rules
    try:
        return read_script({"when": [dict(rule) for rule in rules]})
    except Flawed as error:
        said = [f"{place_of(flaw.path)}: {flaw.message}" for flaw in error.flaws]
        raise BadOption("script: " + "; ".join(said).replace("a table", "a mapping")) from None


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    for key, value in options.items():
        option = f"--{key.replace('_', '-')}"
        if isinstance(value, Mapping):
            assigned = cast(Mapping[str, object], value)
            yield from (f"{option}={name}={_text(each)}" for name, each in assigned.items())
        elif isinstance(value, bool):
            yield from [option] * value
        elif isinstance(value, list | tuple):
            yield from (f"{option}={_text(each)}" for each in cast(Sequence[object], value))
        else:
            yield f"{option}={_text(cast(object, value))}"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(str, cast(Sequence[object], value)))
    return str(value)
