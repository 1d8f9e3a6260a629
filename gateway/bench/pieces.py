"""What an event's way through a gateway consists of: each piece by itself, as the gateway does it.

A piece is made for bodies of one size, and does its work for `AT_ONCE` events each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from wsproto.frame_protocol import FrameProtocol

from fleetgate.core import events as e
from fleetgate.core.ids import Epoch, RunId, Seq
from fleetgate.core.journal.api import Append
from fleetgate.core.journal.rows import prepare
from fleetgate.protocols.agency.codec import texts_of
from fleetgate.protocols.agency.encode import encode_texts
from fleetgate.protocols.agency.wire import MAX_FRAME
from fleetgate.protocols.iop import wire as iop
from fleetgate.protocols.iop.codec import deltas_of, encode_deltas
from fleetgate.protocols.kodelet import wire as kodelet
from fleetgate.protocols.kodelet.codec import decode, encode
from fleetgate.protocols.kodelet.stencil import stencil_of
from fleetgate.protocols.kodelet.transcript import Work, snapshot
from fleetgate.protocols.kodelet.translate_events import read_update
from fleetgate.protocols.rvbox.codec import encode_outputs, outputs_of
from fleetgate.protocols.utf8 import Utf8
from fleetgate.transports.framing import make_framer
from fleetgate.transports.websocket_guard import Guard

AT_ONCE: Final = 64
"""Events that are together in a batch."""

SEQ: Final = "gateway.seq"
"""Where a run's number is in a message of iop."""

RUN: Final = RunId("bench")

Piece: TypeAlias = Callable[[], object]


def _lines(size: int) -> list[str]:
    return [f"{nth} ".ljust(size - 1, ".") + "\n" for nth in range(AT_ONCE)]


def _unmask(size: int) -> Piece:
    # As a client writes them: a frame of rvbox has some 110 bytes around its body.
    client = FrameProtocol(client=True, extensions=[])
    message = bytes(size + 110)
    data = b"".join(client.send_data(message, fin=True) for _ in range(AT_ONCE))

    def work() -> object:
        guard = Guard(masked=True, binary=True, limit=MAX_FRAME)
        guard.feed(data)
        return guard.taken

    return work


def _dress(size: int) -> Piece:
    framer, frames = make_framer("kind", MAX_FRAME), [b"\x00" + bytes(size + 92)] * AT_ONCE
    return lambda: [framer.encode(frame) for frame in frames]


def _rvbox(size: int) -> list[bytes]:
    told = [(1 + nth, 10**18, (1, text.encode(), nth * size)) for nth, text in _numbered(size)]
    return encode_outputs("session", 1, "00000000-0000-4000-8000-000000000001", 1, told)


def _numbered(size: int) -> Sequence[tuple[int, str]]:
    return list(enumerate(_lines(size)))


def _rvbox_read(size: int) -> Piece:
    frames = _rvbox(size)
    return lambda: list(outputs_of(frames))


def _rvbox_write(size: int) -> Piece:
    told = [(1 + nth, 10**18, (1, text.encode(), nth * size)) for nth, text in _numbered(size)]
    uuid = "00000000-0000-4000-8000-000000000001"
    return lambda: encode_outputs("session", 1, uuid, 1, told)


def _iop_write(size: int) -> Callable[[], list[bytes]]:
    first = iop.RunEvent(run_id="run", type="delta", session_id="session")
    told = [(text, {SEQ: str(nth)}, 10**18) for nth, text in _numbered(size)]
    return lambda: encode_deltas(first, told)


def _iop_read(size: int) -> Piece:
    frames = _iop_write(size)()
    return lambda: list(deltas_of(frames))


def _agency_write(size: int) -> Callable[[], list[bytes]]:
    texts = _lines(size)
    return lambda: encode_texts("run", 1, texts)


def _agency_read(size: int) -> Piece:
    frames = _agency_write(size)()
    return lambda: list(texts_of(frames))


def _kodelet(size: int) -> list[bytes]:
    """As a runner shows a shell's output: all of it, which is one body here."""
    work = Work("bash", {"command": "emit"}, "/", 10**18)
    frames: list[bytes] = []
    for nth, text in _numbered(size):
        update = kodelet.ToolUpdate("run", "call", "1", 1 + nth, snapshot(work, text, 10**18))
        frames.append(encode(kodelet.Notification("tool.update", update)))
    return frames


def _update(frame: bytes) -> kodelet.ToolUpdate:
    message = decode(frame)
    assert isinstance(message, kodelet.Notification)
    return read_update(message.params)


def _kodelet_read(size: int) -> Piece:
    frames = _kodelet(size)
    return lambda: [_update(frame) for frame in frames]


def _kodelet_next(size: int) -> Piece:
    frames = _kodelet(size)
    stencil = stencil_of(frames[0], _update(frames[0]))
    assert stencil is not None
    return lambda: [stencil.read(frame) for frame in frames]


def _decode(size: int) -> Piece:
    utf8, pieces = Utf8(), [text.encode() for text in _lines(size)]
    return lambda: [utf8.decode(piece) for piece in pieces]


def recorded(size: int, run: RunId = RUN, first: int = 1) -> tuple[e.Recorded, ...]:
    """`AT_ONCE` events of a run, numbered from `first`, made as the core makes them."""
    epoch = Epoch(1)
    return tuple(
        e.Recorded(run, Seq(seq), 10**18, e.TextProduced(text), e.Source(epoch, seq))
        for seq, text in enumerate(_lines(size), first)
    )


def _core(size: int) -> Piece:
    texts, run, epoch = _lines(size), RUN, Epoch(1)
    return lambda: [
        e.Recorded(run, Seq(seq), 10**18, e.TextProduced(text), e.Source(epoch, seq))
        for seq, text in enumerate(texts, 1)
    ]


def _record(size: int) -> Piece:
    write = Append(RUN, recorded(size), 0)
    return lambda: prepare(write)


MASKED: Final = "WebSocket: a masked message read"
FRAMED: Final = "Unix socket: a frame written"
RVBOX: Final = "rvbox: output read"
AGENCY: Final = "agency: a text read"
WRITTEN: Final = "agency: a text written"
KODELET: Final = "kodelet: a call's first update read, each member"
NEXT: Final = "kodelet: a later update read, what may differ"
DECODED: Final = "bytes to text"
CORE: Final = "core: the event, its `Source` and its `Recorded`"
RECORD: Final = "journal: the record, in protobuf"

RELAYED: Final = frozenset({MASKED, FRAMED})
"""Pieces that a relay has, too."""

PIECES: Final[Mapping[str, Callable[[int], Piece]]] = {
    MASKED: _unmask,
    FRAMED: _dress,
    RVBOX: _rvbox_read,
    "rvbox: output written": _rvbox_write,
    "iop: a delta read": _iop_read,
    "iop: a delta written": _iop_write,
    AGENCY: _agency_read,
    WRITTEN: _agency_write,
    KODELET: _kodelet_read,
    NEXT: _kodelet_next,
    DECODED: _decode,
    CORE: _core,
    RECORD: _record,
}
"""Each by its name; it is made for bodies of so many bytes."""
