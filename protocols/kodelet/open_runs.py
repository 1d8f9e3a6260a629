"""The runs that a control plane has open with us, and what a heartbeat says of them (W 8.1)."""

from __future__ import annotations

from fleetgate.protocols.kodelet.errors import (
    BUSY,
    CONFLICT,
    INTERNAL,
    UNAVAILABLE,
    RpcError,
    invalid,
)
from fleetgate.protocols.kodelet.go_json import trim
from fleetgate.protocols.kodelet.operation import OpenRun
from fleetgate.protocols.kodelet.settings import RunnerSettings
from fleetgate.protocols.kodelet.wire import RunOpen

_DEFAULT = "default"


class OpenRuns:
    """All of one connection."""

    def __init__(self) -> None:
        self._runs: dict[str, OpenRun] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, id: str) -> OpenRun | None:
        """A run by its id."""
        return self._runs.get(id)

    def add(self, run: OpenRun) -> None:
        """It is open."""
        self._runs[run.id] = run

    def remove(self, run: OpenRun) -> None:
        """It is gone."""
        self._runs.pop(run.id, None)

    def stopped(self) -> list[OpenRun]:
        """Runs that are to be closed and have no call under way any more."""
        return [run for run in self._runs.values() if run.closing and not run.operations]

    def reported(self) -> tuple[str, tuple[str, ...]]:
        """The state that a heartbeat says, and the runs that it names."""
        runs = self._runs.values()
        ids = tuple(sorted(self._runs))
        if not ids:
            return "idle", ids
        stopping = all(run.stopping or run.closing for run in runs)
        return ("stopping" if stopping else "running"), ids

    def wrong_with(self, asked: RunOpen, settings: RunnerSettings) -> RpcError | None:
        """Why a run cannot be opened; None: it can (W 6.3)."""
        error = _wrong_names(asked, settings)
        if error is not None:
            return error
        if asked.run_id in self._runs:
            return RpcError(CONFLICT, f"runner already has run {asked.run_id}")
        for run in self._runs.values():
            if run.opened.conversation_id == asked.conversation_id:
                return RpcError(BUSY, f"conversation already has active run {run.id}")
        if len(self._runs) >= settings.open_runs:
            return RpcError(UNAVAILABLE, f"runner has {len(self._runs)} runs open; close one first")
        profile = asked.agent.environment_profile
        if profile and profile.lower() != _DEFAULT and profile not in settings.profiles:
            text = "failed to load runner configuration: there is no such environment profile"
            return RpcError(INTERNAL, text)
        reserved = frozenset(asked.reserved_tool_names or ())
        for tool in settings.tools:
            if tool.name in reserved:
                text = f"runner tool {tool.name} collides with a reserved control-plane tool"
                return RpcError(INTERNAL, text)
        return None


def _wrong_names(asked: RunOpen, settings: RunnerSettings) -> RpcError | None:
    if not trim(asked.run_id):
        return invalid("runId is required")
    if not trim(asked.conversation_id):
        return invalid("conversationId is required")
    limit = settings.run_id_limit
    for name, value in (("runId", asked.run_id), ("conversationId", asked.conversation_id)):
        if len(value.encode("utf-8", "replace")) > limit:
            return invalid(f"{name} may have {limit} bytes")
    return None
