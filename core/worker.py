"""What a worker is and can do."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique
from typing import Final, TypeAlias

from fleetgate.core.commands import Input, Prompt, ShellCommand, ToolCall
from fleetgate.core.errors import NotAccepted
from fleetgate.core.ids import Epoch, WorkerId
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.values import value


@unique
class InputKind(Enum):
    """The kinds of input that a run may have."""

    PROMPT = "prompt"
    SHELL = "shell"
    TOOL = "tool"


_KINDS: Final[dict[type, InputKind]] = {
    Prompt: InputKind.PROMPT,
    ShellCommand: InputKind.SHELL,
    ToolCall: InputKind.TOOL,
}


def kind_of(value: Input) -> InputKind:
    """The kind of an input."""
    return _KINDS[type(value)]


@value
class ProviderReport:
    """What a worker says of one provider (agent program) that it can run."""

    provider: str
    installed: bool
    version: str | None = None
    outdated: bool = False
    auth_state: str = "unknown"
    detail: str = ""
    auth_method: str | None = None
    account: str | None = None
    plan: str | None = None
    login_hint: str = ""


@value
class AccountReport:
    """A provider's account usage. `usage` is None where it is not supported or failed."""

    provider: str
    supported: bool
    usage: Json = None
    error: str | None = None


@value
class WorkerInfo:
    """A worker as its adapter announces it.

    `pool` is the southbound entry it came through. `instance` tells one incarnation
    from another where the protocol does (empty: it does not). `inputs` are the kinds
    it takes. `grace` is how long (nanoseconds) its runs wait for it after its link is
    lost before they are `lost`: 0 at once, None for as long as the entry's own limit.
    `numbered_input`: inputs carry their number on the wire, so they may be sent again
    after a cut; without it an input is handed over at most once. `enforces_timeout`:
    it ends a run at its timeout by itself. `asks`: it answers `ProbeWorkers` and
    `ReadUsage` over the wire; else `providers` is the answer.
    `exclusive`: a second live link with another `instance` is refused, not preferred.
    `accepts`: of a run that has such a label, the values that the worker takes.
    """

    id: WorkerId
    pool: str
    inputs: frozenset[InputKind]
    instance: str = ""
    grace: int | None = None
    numbered_input: bool = False
    enforces_timeout: bool = False
    asks: bool = False
    exclusive: bool = False
    providers: tuple[ProviderReport, ...] = ()
    detail: Json = None
    accepts: Mapping[str, frozenset[str]] = NOTHING

    def may_take(self, labels: Mapping[str, str]) -> bool:
        """Whether a run with these labels may go to it: one that names its worker to that one
        and no other, whatever the worker accepts."""
        named = labels.get(NAMED)
        return self.accepted(labels) if named is None else self.id.partition("/")[2] == named

    def accepted(self, labels: Mapping[str, str]) -> bool:
        """Whether it accepts all of these labels."""
        return all(labels[key] in taken for key, taken in self.accepts.items() if key in labels)

    def check_accepts(self, labels: Mapping[str, str]) -> None:
        """Refuse what names this worker, and labels that it does not accept.

        Raises: `NotAccepted`.
        """
        if not self.accepted(labels):
            wrong = [key for key, taken in self.accepts.items() if labels.get(key, "") not in taken]
            node = self.id.partition("/")[2]
            said = f"{node} does not take what {' and '.join(wrong)} of the request names"
            raise NotAccepted(f"{said}; name another worker, or none")


NAMED: Final = "gateway.node"
"""The label of a run that names its worker: the id without the southbound entry's name."""


@unique
class Liveness(Enum):
    """A worker's connection as the hub sees it."""

    CONNECTING = "connecting"
    """Admitted; what was open is being compared. It takes no work yet."""
    READY = "ready"
    DRAINING = "draining"
    AWAY = "away"
    """No link. Its runs wait for it."""


HERE: Final = frozenset({Liveness.READY, Liveness.DRAINING})
"""Connected, and what was open is compared."""


@value
class WorkerStatus:
    """A worker as it stands. `free` is None while it takes any number of runs."""

    info: WorkerInfo
    liveness: Liveness
    epoch: Epoch
    free: int | None
    runs: int
    since: int
    """Unix nanoseconds of the last change of `liveness`."""


Reports: TypeAlias = tuple[ProviderReport, ...] | tuple[AccountReport, ...]
