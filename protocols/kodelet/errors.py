"""The error catalogue: codes, reasons, and the texts that the genuine peers send (W 6)."""

from __future__ import annotations

from typing import Final

import attrs

from fleetgate.core.json import Json
from fleetgate.protocols.kodelet.go_json import trim

INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603
UNAVAILABLE: Final = -32000
CONFLICT: Final = -32001
STALE: Final = -32002
BUSY: Final = -32003

RUNNER_NOT_FOUND: Final = "runner_not_found"
RUN_NOT_ACTIVE: Final = "run_not_active"
RESULT_TOO_LARGE: Final = "result_too_large"
_REASONS: Final = frozenset({RUNNER_NOT_FOUND, RUN_NOT_ACTIVE, RESULT_TOO_LARGE})


@attrs.frozen(slots=True)
class RpcError:
    """The `error` member of a response."""

    code: int = 0
    message: str = ""
    data: Json = None

    @property
    def reason(self) -> str:
        """The reason in `data`; empty where there is none that is known."""
        data = self.data
        reason = data.get("reason") if isinstance(data, dict) else None
        text = trim(reason) if isinstance(reason, str) else ""
        return text if text in _REASONS else ""


def with_reason(code: int, message: str, reason: str) -> RpcError:
    """An error whose data names a reason."""
    return RpcError(code, message, {"reason": reason})


def invalid(message: str) -> RpcError:
    """The params are not what the method takes."""
    return RpcError(INVALID_PARAMS, message)


# --- the peer

NO_HANDLER: Final = RpcError(METHOD_NOT_FOUND, "rpc method not found")
DUPLICATE_ID: Final = RpcError(INVALID_REQUEST, "duplicate rpc request id")
CANCELED: Final = RpcError(UNAVAILABLE, "context canceled")
RESULT_OVERSIZE: Final = with_reason(
    UNAVAILABLE,
    "runner rpc result exceeds the connection message-size limit; "
    "return a smaller result or use an artifact channel",
    RESULT_TOO_LARGE,
)
ERROR_OVERSIZE: Final = RpcError(
    UNAVAILABLE, "runner rpc error exceeds the connection message-size limit"
)
OVERLOADED: Final = RpcError(UNAVAILABLE, "too many runner rpc requests wait")

# --- a control plane

REGISTER_FIRST: Final = RpcError(INVALID_REQUEST, "runner.register must be the first request")
REGISTERED: Final = RpcError(INVALID_REQUEST, "runner is already registered on this connection")
PARAMS_REQUIRED: Final = invalid("rpc params are required")
NO_VERSION: Final = invalid("runner does not support protocol version 1")
UNKNOWN_METHOD: Final = RpcError(METHOD_NOT_FOUND, "runner request method not found")
OTHER_IDENTITY: Final = RpcError(CONFLICT, "runner id belongs to another host workspace")
OTHER_ID: Final = RpcError(CONFLICT, "host workspace is registered under another runner id")
UNKNOWN_RUNNER: Final = with_reason(
    STALE, "runner id is not known to this control plane: runner not found", RUNNER_NOT_FOUND
)
INACTIVE_UI: Final = RpcError(STALE, "runner UI request belongs to an inactive run")

# --- a runner

NO_PARAMS: Final = invalid("unexpected end of JSON input")
NOT_REGISTERED: Final = RpcError(UNAVAILABLE, "runner has not completed registration")
NO_RUN: Final = with_reason(STALE, "runner has no active run", RUN_NOT_ACTIVE)
OTHER_RUN: Final = with_reason(
    STALE,
    "request belongs to another runner run: runner has no active run",
    RUN_NOT_ACTIVE,
)
NOT_READY: Final = RpcError(UNAVAILABLE, "runner environment is not ready")
STOP_TIMEOUT: Final = RpcError(
    UNAVAILABLE, "timed out waiting for runner operations to stop: context deadline exceeded"
)
CALL_NEEDS: Final = invalid("toolCallId and name are required")


def is_gone(error: RpcError) -> bool:
    """Whether a `run.close` was refused because the run is closed already."""
    return error.code == STALE and error.reason in ("", RUN_NOT_ACTIVE)


def is_unknown_runner(error: RpcError) -> bool:
    """Whether a registration failed because of the id that was shown."""
    return error.code == STALE and error.reason in ("", RUNNER_NOT_FOUND)
