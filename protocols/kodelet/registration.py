"""What a control plane makes of a runner's registration before anybody is asked (W 7.1, 7.5)."""

from __future__ import annotations

from fleetgate.protocols.kodelet import errors, wire
from fleetgate.protocols.kodelet.errors import RpcError, invalid
from fleetgate.protocols.kodelet.go_json import trim


def wrong_with(asked: wire.Register) -> RpcError | None:
    """Why it cannot be one; the version is looked at first."""
    if wire.VERSION not in (asked.protocol_versions or ()):
        return errors.NO_VERSION
    blank = anonymous(asked)
    return invalid(f"{blank} is required") if blank else None


def anonymous(asked: wire.Register) -> str:
    """The first member of its identity that it leaves blank; empty: none."""
    identity = {
        "host.instanceId": asked.host.instance_id,
        "workspace.path": asked.workspace.path,
        "workspace.name": asked.workspace.name,
    }
    return next((name for name, value in identity.items() if not trim(value)), "")
