"""A pool of local workers as a config names it: values only, nothing is started here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import attrs

from fleetgate.core.json import NOTHING
from fleetgate.core.worker import InputKind
from fleetgate.gateway.local.cli_profile import CliProfile
from fleetgate.gateway.local.model_settings import OllamaSettings, VllmSettings

AdapterName: TypeAlias = Literal["mock", "cli", "ollama", "vllm", "shell"]

INPUTS: Final[Mapping[AdapterName, frozenset[InputKind]]] = {
    "mock": frozenset(InputKind),
    "cli": frozenset({InputKind.PROMPT, InputKind.SHELL}),
    "ollama": frozenset({InputKind.PROMPT}),
    "vllm": frozenset({InputKind.PROMPT}),
    "shell": frozenset({InputKind.SHELL}),
}
"""What each adapter takes. A command at `cli` is executed as `shell` does, unless the run
names a profile."""


@attrs.frozen(slots=True)
class LocalPool:
    """One `[[local]]` table. Paths are absolute."""

    name: str
    """Unique among all entries, as theirs."""
    adapters: tuple[AdapterName, ...]
    """What its runs may be carried out by. The first that takes a run's kind of input does so
    where the run names none."""
    max_running: int = 16
    """Runs at a time; more wait in line."""
    directory: str = ""
    """Where runs work that name no workspace, and where relative ones start. Empty: the
    workspace root, or else the directory that the gateway was started in."""
    workspace_root: str = ""
    """The directory that every run's workspace must lie in, links resolved. Empty: no bound."""
    state: str = ""
    """Where the pool keeps what it must find again: texts of commands, sessions of agents. Empty:
    `JOURNAL.local/NAME`."""
    script: str = ""
    """What `mock` plays, a TOML file. Empty: every run echoes its input."""
    cancel_grace: float = 10.0
    """From a cancel's TERM to the KILL of a command, in seconds."""
    cli: Mapping[str, CliProfile] = NOTHING
    """The profiles of `cli` by name, tables as below."""
    ollama: OllamaSettings = OllamaSettings()
    """The server of `ollama`, a table as below."""
    vllm: VllmSettings = VllmSettings()
    """The server of `vllm`, a table as below."""
    max_sessions: int = 64
    """Processes of persistent profiles that are kept at a time. Beyond it the one that was used
    longest ago is closed; where all are at work, a run is declined."""
    session_idle: float = 1800.0
    """After so many seconds without a run a kept process is closed."""

    @property
    def address(self) -> str:
        """Where its workers are, for people."""
        return "this machine"

    @property
    def inputs(self) -> frozenset[InputKind]:
        """The kinds of input that any of its adapters takes."""
        return frozenset[InputKind]().union(*(INPUTS[name] for name in self.adapters))
