"""The digests of requests in messages that are not decoded: where they stand, and putting others
there. With `codec` and `codec_common` the only file that knows protobuf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.schemas.rvbox.v1 import agent_pb2 as agent


def envelope() -> Any:
    """An empty envelope."""
    return agent.AgentEnvelope()


def request_digest(message: Any) -> tuple[bytes, bool]:
    """The digest that a dispatch shows, and whether it is the request's. Nothing for all else."""
    if message.WhichOneof("payload") != "command_dispatch":
        return b"", False
    shown: bytes = message.command_dispatch.immutable_request_sha256
    return shown, shown == _made(message)


def renew(message: Any) -> bool:
    """Give a dispatch the digest of its request. Whether it is a dispatch."""
    if message.WhichOneof("payload") != "command_dispatch":
        return False
    message.command_dispatch.immutable_request_sha256 = _made(message)
    return True


def replace(message: Any, digests: Mapping[bytes, bytes]) -> bool:
    """Put other digests where a reconciliation names requests. Whether there were any."""
    found = False
    for named in _named(message):
        new = digests.get(named.immutable_request_sha256)
        if new is not None:
            named.immutable_request_sha256 = new
            found = True
    return found


def _named(message: Any) -> Iterator[Any]:
    kind = message.WhichOneof("payload")
    if kind == "reconcile_request":
        yield from message.reconcile_request.targets
    elif kind == "reconcile_snapshot":
        yield from message.reconcile_snapshot.retained_commands


def _made(message: Any) -> bytes:
    dispatch = codec.decode(message.SerializeToString()).payload
    assert isinstance(dispatch, w.CommandDispatch)
    return codec.request_digest(dispatch)
