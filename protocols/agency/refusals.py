"""Refusals as a daemon words them, and a daemon's errors as refusals (section 6).

The texts are the genuine daemon's, odd ones too: clients that read them exist.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from fleetgate.core import errors
from fleetgate.core.errors import Refusal
from fleetgate.core.run import Run
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency.translate import program_of, provider_of

Code = wire.ErrorCode

NO_RUN: Final = wire.Error(Code.NOT_FOUND, "run does not exist")
RUN_EXISTS: Final = wire.Error(Code.CONFLICT, "run already exists")
"""Also what a second cancel is answered."""
STOPPING: Final = wire.Error(Code.CONFLICT, "AgencyProxy is stopping")
ALREADY_STOPPING: Final = wire.Error(Code.CONFLICT, "AgencyProxy is already stopping")
HELLO_FIRST: Final = wire.Error(Code.PROTOCOL_VIOLATION, "the first frame must be hello")
HELLO_ONCE: Final = wire.Error(Code.PROTOCOL_VIOLATION, "hello may only be sent once")
INCOMPATIBLE: Final = wire.Error(
    Code.INCOMPATIBLE_VERSION, "the protocol major version is incompatible"
)

_AGENTS: Final = {"claude": "claude-code"}
"""What the daemon's library calls a provider's agent, where that is not the provider's name."""

Controlled: TypeAlias = wire.InjectMessage | wire.DecideApproval


def unsupported(what: str, name: str) -> wire.Error:
    """A provider or a permission that is not known."""
    return wire.Error(Code.PROTOCOL_VIOLATION, f"unsupported {what}: {name[:256]}")


def not_started(why: str) -> wire.Error:
    """A start that came to nothing; the id may be used again."""
    return wire.Error(Code.INTERNAL, f"agent run could not start: {why}")


def not_controlled(why: str) -> wire.Error:
    """A command about a run that came to nothing."""
    return wire.Error(Code.INTERNAL, f"agent control failed: {why}")


def active_runs(count: int) -> wire.Error:
    """Not idle."""
    return wire.Error(Code.CONFLICT, f"AgencyProxy has {count} active run(s)")


def replay_expired(after: int, floor: int) -> wire.Error:
    """The events behind `after` are not all kept."""
    text = f"requested replay sequence {after} is older than retained sequence {floor}"
    return wire.Error(Code.CONFLICT, text)


def start_refused(refusal: Refusal) -> wire.Error:
    """The answer to a start that the core refused."""
    match refusal:
        case errors.Conflict():
            return RUN_EXISTS
        case errors.Stopping():
            return STOPPING
        case _:
            return not_started(refusal.message)


def stop_refused(refusal: Refusal) -> wire.Error:
    """The answer to a shutdown that the core refused, but for runs that are active."""
    if isinstance(refusal, errors.Stopping):
        return ALREADY_STOPPING
    return not_controlled(refusal.message)


def refused(refusal: Refusal) -> wire.Error:
    """The answer to any other request that the core refused."""
    match refusal:
        case errors.RunNotFound():
            return NO_RUN
        case errors.Conflict():
            return RUN_EXISTS
        case _:
            return not_controlled(refusal.message)


def control_refused(request: Controlled, refusal: Refusal, run: Run) -> wire.Error | None:
    """The answer to an injection or a decision that the core refused, knowing the run; None
    where it is the approval alone that the run does not wait for."""
    agent = _AGENTS.get(provider_of(run), provider_of(run)) or "the agent"
    listens = run.spec.interactive or run.spec.approvals
    match refusal:
        case errors.RunEnded():
            return not_controlled(f"the run of `{program_of(run)}` was cancelled")
        case errors.InvalidArgument() if isinstance(request, wire.InjectMessage) and not listens:
            why = "sending a follow-up on a run that is not interactive"
            return not_controlled(f"{agent} does not support {why}")
        case errors.ApprovalNotFound() if not run.spec.approvals:
            why = "answering an approval on a run that did not request them"
            return not_controlled(f"{agent} does not support {why}")
        case errors.ApprovalNotFound():
            return None
        case _:
            return refused(refusal)


def to_refusal(error: wire.Error) -> Refusal:
    """A daemon's error as the core's. The text is the daemon's."""
    match error.code:
        case Code.NOT_FOUND:
            return errors.RunNotFound(error.message)
        case Code.CONFLICT:
            return errors.Conflict(error.message)
        case Code.PROTOCOL_VIOLATION:
            return errors.InvalidArgument(error.message)
        case Code.INCOMPATIBLE_VERSION | Code.NOT_IMPLEMENTED | Code.INTERNAL:
            return errors.WorkerFailed(error.message)
