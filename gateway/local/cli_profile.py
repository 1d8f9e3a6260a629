"""Profiles of command-line agents: how a program is started, fed, and understood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

from fleetgate.gateway.config_reader import Flaw, Flawed, nearest, read
from fleetgate.gateway.local.patterns import searching
from fleetgate.gateway.local.work import Declined, unreadable
from fleetgate.gateway.toml_lines import Path

OutputFormat: TypeAlias = Literal["", "text", "json", "ndjson", "stream-json"]
Mode: TypeAlias = Literal["", "stdin", "argument", "resume"]

MAX_WAIT: Final = 86_400_000
"""Milliseconds of an idle timeout: a day. Whoever wants longer wants no timeout."""

SESSION: Final = "{session_id}"


def _check_env(_: object, __: object, value: tuple[str, ...]) -> None:
    for item in value:
        if "=" not in item or item.startswith("="):
            raise ValueError("expected KEY=VALUE in each item")


def _check_wait(_: object, __: object, value: int) -> None:
    if not 0 <= value <= MAX_WAIT:
        raise ValueError(f"expected milliseconds, 0 to {MAX_WAIT}")


def _check_regex(_: object, __: object, value: str) -> None:
    if value:
        searching(value)


def _check_command(_: object, __: object, value: str) -> None:
    if not value:
        raise ValueError("expected a program, got nothing")


@attrs.frozen(slots=True)
class CompletionMarker:
    """What ends the answer of a persistent process: a line that is `line`, or one in which
    `regex`, in RE2's form, is found. The line itself is no output. Empty: no such marker."""

    line: str = ""
    regex: str = attrs.field(default="", validator=_check_regex)

    @property
    def given(self) -> bool:
        """Whether there is any."""
        return bool(self.line or self.regex)


@attrs.frozen(slots=True)
class CliProfile:
    """One program. The members have the names of iop's `CLIProfileConfig`."""

    command: str = attrs.field(validator=_check_command)
    """The program: a path, or a name on the PATH. It meets no shell."""
    args: tuple[str, ...] = ()
    """Its arguments. In mode `resume`, `{session_id}` stands for the run's session."""
    env: tuple[str, ...] = attrs.field(default=(), validator=_check_env)
    """`KEY=VALUE`, on top of the gateway's own environment."""
    persistent: bool = False
    """Keep one process a session, and feed it prompts on its standard input."""
    terminal: bool = False
    """Give it a pseudo-terminal in place of pipes."""
    response_idle_timeout_ms: int = attrs.field(default=0, validator=_check_wait)
    """Silence that ends the answer of a persistent process, counted from the prompt on. 0: none."""
    startup_idle_timeout_ms: int = attrs.field(default=0, validator=_check_wait)
    """Silence that ends the start-up banner, which is discarded. 0: there is no banner."""
    output_format: OutputFormat = ""
    """`text`; `json`, one document; `ndjson` or `stream-json`, one object a line."""
    completion_marker: CompletionMarker = CompletionMarker()
    """What ends the answer of a persistent process: `line`, a whole one, or `regex`, searched in
    each. It is no output itself."""
    mode: Mode = ""
    """`stdin`; `argument`, the prompt is the last argument; `resume`, `resume_args` in place of
    `args` when the session exists already."""
    resume_args: tuple[str, ...] = ()
    """Arguments that continue the session `{session_id}`."""


def contradictions(profile: CliProfile) -> Mapping[str, str]:
    """What is wrong between members that are each right, by member."""
    wrong: dict[str, str] = {}
    if profile.persistent and profile.mode == "argument":
        wrong["mode"] = "a persistent process gets its prompts on standard input"
    ends = profile.completion_marker.given or profile.response_idle_timeout_ms
    if profile.persistent and not ends:
        wrong["persistent"] = (
            "nothing says when an answer is complete; set completion_marker or "
            "response_idle_timeout_ms"
        )
    if profile.mode == "resume" and not profile.resume_args:
        wrong["mode"] = "needs resume_args"
    return wrong


def read_profile(value: object, path: Path) -> CliProfile:
    """Read a profile that stands at `path`.

    Raises: `Flawed`.
    """
    profile = read(CliProfile, value, path)
    if wrong := contradictions(profile):
        raise Flawed([Flaw((*path, key), said) for key, said in wrong.items()])
    return profile


def profile_for(
    target: str, pushed: Mapping[str, Any], own: Mapping[str, CliProfile]
) -> tuple[str, CliProfile]:
    """The profile of a run that names `target`, and its name; without a target, the only one.
    What was pushed (an adapter's configuration, with `profiles`) stands in place of our own.

    Raises: `Declined`.
    """
    known: Any = pushed.get("profiles", {}) if pushed else own
    if not isinstance(known, Mapping):
        raise Declined("invalid_argument", "profiles is to be a table of profiles by name")
    return _found(target, cast(Mapping[str, Any], known))


_NONE: Final = (
    "none is known here: a node has those of its edge's config (adapters, cli.profiles), a "
    "[[local]] table its own (cli)"
)


def _found(target: str, known: Mapping[str, Any]) -> tuple[str, CliProfile]:
    if not target and len(known) == 1:
        (target,) = known
    if target not in known:
        said = f"no profile is named {target[:64]}" if target else "the run names no profile"
        hint = nearest(target, known) if known else _NONE
        raise Declined("invalid_argument", f"{said}; {hint}")
    found = known[target]
    if isinstance(found, CliProfile):
        return target, found
    try:
        return target, read_profile(found, ("profiles", target))
    except Flawed as error:
        raise unreadable(error) from None
