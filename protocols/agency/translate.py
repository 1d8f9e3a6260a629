"""Requests, runs and reports, wire to core and back. Pure and total; `translate_events`
does the same for events.

What only this protocol understands is kept under `native["agency"]`, so that a run on its
way from one agency peer to another loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fleetgate.core import commands as c
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.events import Decision, RunState
from fleetgate.core.ids import RunId, WorkerId
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.run import Run
from fleetgate.core.worker import AccountReport, InputKind, ProviderReport, WorkerInfo
from fleetgate.protocols.agency import wire
from fleetgate.protocols.json_text import dump

NAME: Final = "agency"

INPUTS: Final = frozenset({InputKind.PROMPT})
"""What a daemon takes."""

PERMISSIONS: Final[Mapping[str, str]] = {
    "read_only": "read_only",
    "read-only": "read_only",
    "plan": "plan",
    "edit": "edit",
    "auto": "auto",
    "bypass": "bypass",
}
"""What a request may say, and the core's word for it."""

COMPACT: Final = "/compact"
"""The one prompt that a command may have."""


def scoped(link: str, run_id: str) -> RunId:
    """The core's id for a run that the peer of `link` calls `run_id` (I12)."""
    return RunId(f"{link}/{run_id}")


# --- requests, northbound


def to_command(link: str, message: wire.StartRun) -> c.StartRun:
    """A client's start as the core's."""
    origin = c.Origin(link, message.run_id)
    return c.StartRun(scoped(link, message.run_id), to_spec(message.request), origin)


def to_spec(request: wire.RunRequest) -> c.RunSpec:
    """A request as a spec. An empty `system`, `effort` or session counts as none (3.1)."""
    permission = PERMISSIONS.get(request.permission, request.permission)
    facts = {"provider": request.provider, "model": request.model, "permission": permission}
    return c.RunSpec(
        c.Prompt(
            text=request.prompt,
            system=request.system or None,
            provider=request.provider,
            model=request.model,
            effort=request.effort or None,
            extra_thinking=request.extra_thinking,
        ),
        workspace=request.workspace_roots,
        environment=request.environment,
        permission=permission,
        approvals=request.approvals,
        interactive=request.interactive,
        resume=request.resume_session_id or None,
        labels={name: value for name, value in facts.items() if value},
        metadata=request.metadata,
        native=_leftovers(request),
    )


def _leftovers(request: wire.RunRequest) -> Mapping[str, Json]:
    left: dict[str, Json] = {}
    if request.is_command:
        left["isCommand"] = True
    if request.binary:
        left["binary"] = request.binary
    if request.unchecked_args:
        left["uncheckedArgs"] = request.unchecked_args
    return {NAME: left} if left else NOTHING


def native_of(spec: c.RunSpec) -> Mapping[str, Json]:
    """What a spec keeps that only this protocol understands."""
    native = spec.native.get(NAME)
    return native if isinstance(native, Mapping) else NOTHING


def program_of(run: Run) -> str:
    """What a genuine daemon would call the run's program: its binary, or its provider."""
    binary = native_of(run.spec).get("binary")
    return binary if isinstance(binary, str) and binary else provider_of(run)


def provider_of(run: Run) -> str:
    """The provider that was asked for; empty for a run that is no prompt."""
    return run.spec.input.provider if isinstance(run.spec.input, c.Prompt) else ""


_DECISIONS: Final = {
    wire.ApprovalDecision.ALLOW_ONCE: Decision.ALLOW_ONCE,
    wire.ApprovalDecision.ALLOW_SIMILAR: Decision.ALLOW_SIMILAR,
    wire.ApprovalDecision.DENY: Decision.DENY,
}


def to_decision(decision: wire.ApprovalDecision) -> Decision:
    """A client's decision."""
    return _DECISIONS[decision]


def from_decision(decision: Decision) -> wire.ApprovalDecision | None:
    """A decision for a daemon; None for a value, which no daemon takes."""
    return next((ours for ours, core in _DECISIONS.items() if core is decision), None)


# --- runs, northbound

STATES: Final[Mapping[RunState, wire.RunState]] = {
    RunState.QUEUED: wire.RunState.STARTING,
    RunState.STARTING: wire.RunState.STARTING,
    RunState.RUNNING: wire.RunState.RUNNING,
    RunState.WAITING: wire.RunState.WAITING_APPROVAL,
    RunState.FINISHING: wire.RunState.FINISHING,
    RunState.SUCCEEDED: wire.RunState.COMPLETED,
    RunState.FAILED: wire.RunState.FAILED,
    RunState.CANCELED: wire.RunState.CANCELED,
    RunState.LOST: wire.RunState.FAILED,
}
"""The core's states as clients know them. `interrupted` would say more than `failed` of a
lost run, but no daemon ever sets it, so no client is known to cope."""


def to_snapshot(run: Run) -> wire.RunSnapshot:
    """A run as it stands. `model` stays what was asked for (section 5)."""
    given = run.spec.input
    return wire.RunSnapshot(
        run.origin.native_run,
        STATES[run.state],
        provider_of(run),
        given.model if isinstance(given, c.Prompt) else "",
        run.last_seq,
        run.acknowledged,
        run.spec.workspace,
        provider_session_id=run.native_session or run.spec.resume,
        metadata=run.spec.metadata,
    )


def to_provider(report: ProviderReport) -> wire.ProviderStatus:
    """What a worker says of a provider, for a client."""
    return wire.ProviderStatus(
        report.provider,
        report.installed,
        report.outdated,
        report.auth_state,
        report.detail,
        report.login_hint,
        version=report.version,
        auth_method=report.auth_method,
        account=report.account,
        plan=report.plan,
    )


def to_account(report: AccountReport) -> wire.ProviderAccountUsage:
    """What a worker says of an account, for a client."""
    return wire.ProviderAccountUsage(report.provider, report.supported, report.usage, report.error)


# --- southbound


def from_spec(spec: c.RunSpec, provider: str, permission: str) -> wire.RunRequest:
    """A spec as a request; `provider` and `permission` stand in where it names none.

    Raises: `UnsupportedInput` for anything but a prompt.
    """
    given = spec.input
    if not isinstance(given, c.Prompt):
        raise UnsupportedInput(
            "an agency daemon takes prompts only; give the route an `adapt` that makes one"
        )
    native = native_of(spec)
    binary, args = native.get("binary"), native.get("uncheckedArgs")
    return wire.RunRequest(
        given.provider or provider,
        given.model,
        _with_history(given),
        spec.permission or permission,
        spec.approvals,
        spec.interactive,
        spec.workspace,
        is_command=native.get("isCommand") is True,
        system=given.system,
        effort=given.effort,
        extra_thinking=given.extra_thinking,
        resume_session_id=spec.resume,
        binary=binary if isinstance(binary, str) else None,
        environment=spec.environment,
        unchecked_args=_strings(args),
        metadata=spec.metadata,
    )


def _strings(value: Json) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return ()
    return tuple(each for each in value if isinstance(each, str))


def _with_history(prompt: c.Prompt) -> str:
    """An earlier conversation has no place of its own in a request: it goes before the text."""
    if not prompt.messages:
        return prompt.text
    said = [_turn(message) for message in prompt.messages]
    return "\n\n".join([*said, prompt.text])


def _turn(message: Json) -> str:
    if not isinstance(message, Mapping):
        return dump(message)
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str):
        return dump(message)
    return f"{role}: {content if isinstance(content, str) else dump(content)}"


def to_worker(link: str, hello: wire.HelloAnswer) -> WorkerInfo:
    """A daemon as the worker of its southbound entry: there is one at its address."""
    detail: Json = {
        "server_name": hello.server_name,
        "version": f"{hello.version.major}.{hello.version.minor}",
        "capabilities": hello.capabilities,
    }
    return WorkerInfo(WorkerId(link), link, INPUTS, asks=True, detail=detail)


def from_provider(status: wire.ProviderStatus) -> ProviderReport:
    """What a daemon says of a provider."""
    return ProviderReport(
        status.provider,
        status.installed,
        status.version,
        status.outdated,
        status.auth_state,
        status.detail,
        status.auth_method,
        status.account,
        status.plan,
        status.login_hint,
    )


def from_account(usage: wire.ProviderAccountUsage) -> AccountReport:
    """What a daemon says of an account."""
    return AccountReport(usage.provider, usage.supported, usage.usage, usage.error)
