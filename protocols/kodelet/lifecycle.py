"""What a runner answers to `lifecycle.dispatch`: it has no extensions, so it echoes (W 11.2)."""

from __future__ import annotations

from collections.abc import Collection

import attrs

from fleetgate.protocols.kodelet import metadata
from fleetgate.protocols.kodelet.errors import INTERNAL, RpcError, invalid
from fleetgate.protocols.kodelet.stamps import rewritten
from fleetgate.protocols.kodelet.state import LIFECYCLE_EVENTS
from fleetgate.protocols.kodelet.wire import Lifecycle, LifecycleResult, Structured


def dispatch(asked: Lifecycle, blocked: Collection[str] = ()) -> LifecycleResult | RpcError:
    """The answer. Whatever the control plane would miss is in it: the message, the system
    prompt, the tools, the structured result. Messages that are `blocked` are refused, as the
    genuine runner does where an extension wants it."""
    if asked.event not in LIFECYCLE_EVENTS:
        return invalid(f'unsupported lifecycle event "{asked.event}"')
    match asked.event:
        case "user.message":
            if asked.message in blocked:
                return RpcError(INTERNAL, "message blocked by extension: no")
            return LifecycleResult(message=asked.message)
        case "agent.init":
            return LifecycleResult(
                system_prompt=asked.system_prompt, allowed_tools=asked.allowed_tools
            )
        case "tool.call":
            return LifecycleResult(tool_input={} if asked.tool_input is None else asked.tool_input)
        case "tool.update" | "tool.result":
            if asked.structured_result is None:
                return invalid("structuredResult is required for tool output lifecycle")
            return LifecycleResult(structured_result=_echoed(asked.structured_result))
        case _:
            return LifecycleResult()


def _echoed(given: Structured) -> Structured:
    """As Go writes what it has read: metadata of a type that it does not know is gone."""
    known = given.metadata if given.metadata_type in metadata.types() else None
    return attrs.evolve(given, metadata=known, timestamp=rewritten(given.timestamp))
