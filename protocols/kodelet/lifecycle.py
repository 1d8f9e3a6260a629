"""What a runner answers to `lifecycle.dispatch`: it has no extensions, so it echoes (W 11.2)."""

from __future__ import annotations

from fleetgate.protocols.kodelet.errors import RpcError, invalid
from fleetgate.protocols.kodelet.state import LIFECYCLE_EVENTS
from fleetgate.protocols.kodelet.wire import Lifecycle, LifecycleResult


def dispatch(asked: Lifecycle) -> LifecycleResult | RpcError:
    """The answer. Whatever the control plane would miss is in it: the message, the system
    prompt, the tools, the structured result."""
    if asked.event not in LIFECYCLE_EVENTS:
        return invalid(f'unsupported lifecycle event "{asked.event}"')
    match asked.event:
        case "user.message":
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
            return LifecycleResult(structured_result=asked.structured_result)
        case _:
            return LifecycleResult()
