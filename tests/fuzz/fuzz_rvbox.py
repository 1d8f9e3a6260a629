"""rvbox: its envelope, both directions of it at once, and what is read of a request by itself."""

from __future__ import annotations

from typing import Any, Final

from fuzz_bytes import mutate_bytes
from fuzz_engine import Target, demand
from fuzz_same import same
from fuzz_seeds import either, recorded
from fuzz_streams import Framed, mutate_stream
from fuzz_wire import wired

from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.codec_common import is_unknown_part
from fleetgate.protocols.rvbox.testing import SESSION, UUID, make_dispatch, make_hello
from fleetgate.schemas.rvbox.v1 import agent_pb2
from fleetgate.transports.framing import VarintFramer

_DIGEST: Final = bytes(32)
_SAID: Final[tuple[w.Payload, ...]] = (
    make_hello(),
    make_dispatch(),
    w.CommandAccepted(UUID, 1, True),
    w.CommandAccepted(UUID, 1, False, w.ControlError(8, "no")),
    w.CommandEvent(UUID, 1, 2, 3, w.OutputChunk(1, b"x", 7)),
    w.CommandEvent(UUID, 1, 3, 4, w.LifecycleChanged(3, 77)),
    w.CommandEvent(UUID, 1, 4, 5, w.StdinAck(1)),
    w.CommandEvent(UUID, 1, 5, 6, w.CommandExit(5, -1, "SIGTERM", w.ControlError(2, "e"))),
    w.StdinWrite(UUID, 1, b"x", True),
    w.CloseStdin(UUID, 2),
    w.SignalCommand(UUID, 1, 3),
    w.ScriptChunk(UUID, 0, b"x", _DIGEST),
    w.ScriptCommit(UUID, 1, _DIGEST),
    w.ClientCapacity(1, 2, 3, 4),
    w.ReconcileRequest((w.ReconcileTarget(UUID, 3, 1, _DIGEST),)),
    w.ReconcileSnapshot((w.ReconcileCommandState(UUID, 3, 1, 1, False, _DIGEST),)),
    w.ReconcileResult((UUID,), (UUID,)),
    w.AgentError(w.ControlError(8, f"{UUID}: no"), True),
)
SEEDS: Final = either(
    recorded("rvbox"), tuple(codec.encode(w.Envelope(SESSION, 7, said)) for said in _SAID)
)
ENVELOPE: Final[Any] = agent_pb2.AgentEnvelope.DESCRIPTOR


def run_envelope(data: bytes) -> bool:
    """An envelope; the short way must read it no other way."""
    outputs = list(codec.outputs_of([data]))
    try:
        message = codec.decode(data)
    except RemoteProtocolError:
        demand(not outputs, "the short way takes what the long way refuses")
        return False
    frame = codec.encode(message)
    if outputs:
        _compare(outputs[0], message, frame)
    again = codec.decode(frame)
    demand(same(again, message), "decode(encode(x)) is not x")
    demand(len(codec.encode(again)) == len(frame), "encoding it again gives other bytes")
    if isinstance(message.payload, w.CommandDispatch):
        spec = message.payload.spec
        demand(codec.request_digest(message.payload), "a request without a digest")
        demand(not spec.unknown or is_unknown_part(spec.unknown), "what is unknown is known")
    return True


def _compare(output: codec.Output, message: w.Envelope, frame: bytes) -> None:
    event = message.payload
    demand(isinstance(event, w.CommandEvent), "the short way takes another message")
    assert isinstance(event, w.CommandEvent)
    chunk = w.OutputChunk(output.stream, output.data, output.offset)
    plain = (message.session_id, message.session_generation, event.issue_uuid, event.event_seq)
    demand(tuple(output)[:4] == plain, "the short way reads something else")
    demand(same(event.event, chunk), "the short way reads another chunk")
    if event.event_time is not None:
        told = (event.event_seq, event.event_time, (chunk.stream, chunk.data, chunk.offset))
        head = (message.session_id, message.session_generation, event.issue_uuid)
        made = codec.encode_outputs(*head, event.command_revision, [told, told])
        demand(made == [frame, frame], "the short way writes something else")


_FRAMED: Final = Framed(VarintFramer)

TARGETS: Final = (
    Target("rvbox.envelope", SEEDS, run_envelope, wired(ENVELOPE), share=4),
    Target("rvbox.envelope-bytes", SEEDS, run_envelope, mutate_bytes),
    Target(
        "rvbox.framing-varint",
        tuple(_FRAMED.streams(SEEDS)),
        _FRAMED.run,
        mutate_stream,
        share=0.5,
    ),
)
