"""agency: framings, both directions of the socket protocol, and the MCP calls of a WebSocket."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any, Final

from fuzz_bytes import mutate_bytes
from fuzz_engine import Target, demand
from fuzz_json import led, mutate_json
from fuzz_same import same
from fuzz_seeds import either, recorded
from fuzz_streams import Framed, mutate_stream

from fleetgate.protocols.agency import mcp, wire
from fleetgate.protocols.agency import testing as t
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.codec import decode_client, decode_server, texts_of
from fleetgate.protocols.agency.encode import (
    FrameTooLarge,
    encode_client,
    encode_server,
    encode_texts,
)
from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.transports.framing import KindFramer, KindOrLinesFramer, LinesFramer

CLIENT: Final = either(recorded("agency", "controller"), t.CLIENT_FRAMES)
SERVER: Final = either(recorded("agency", "worker"), t.SERVER_FRAMES)
MCP: Final = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
    b'{"jsonrpc":"2.0","id":"x","method":"tools/list"}',
    *(
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%s","arguments":%s}}'
        % (tool.name.encode(), arguments)
        for tool in mcp.TOOLS
        for arguments in (b"{}", b'{"runId":"r","afterSequence":0,"body":"b","request":{}}')
    ),
)


def run_client(minor: int, data: bytes) -> bool:
    """A client's frame, as a daemon of this minor version reads it."""
    try:
        message = decode_client(data, minor)
    except RemoteProtocolError:
        return False
    if isinstance(message, wire.PeerCloses):
        return True
    try:
        frame = encode_client(message)
    except FrameTooLarge:
        return True
    again = decode_client(frame, minor)
    demand(same(again, message), "decode(encode(x)) is not x")
    demand(encode_client(again) == frame, "encoding it again gives other bytes")
    return True


_TEXT: Final = next(frame for frame in SERVER if list(texts_of([frame])))
"""A text of a run of which most seeds are, too."""


def run_server(data: bytes) -> bool:
    """A daemon's frame, as a client reads it; the short way must read it no other way."""
    texts = list(texts_of([data]))
    after = list(texts_of([_TEXT, data]))
    demand(after[1:] == texts, "the short way reads it otherwise behind another one")
    try:
        message = decode_server(data)
    except RemoteProtocolError:
        demand(not texts, "the short way takes what the long way refuses")
        return False
    if texts:
        ((run, sequence, text),) = texts
        plain = w.EventFrame(run, sequence, w.Text(text))
        demand(same(message, plain), "the short way reads something else")
        demand(encode_texts(run, sequence, [text]) == [encode_server(plain)], "it writes otherwise")
    if message is None or isinstance(message, wire.PeerCloses):
        return True
    if isinstance(message, w.EventFrame) and isinstance(message.event, w.UnknownEvent):
        return True
    try:
        frame = encode_server(message)
    except FrameTooLarge:
        return True
    again = decode_server(frame)
    if b'"truncated":true' not in frame:  # what is too deep for a peer is written as a note
        demand(same(again, message), "decode(encode(x)) is not x")
    demand(encode_server(again) == frame, "encoding it again gives other bytes")
    return True


def run_mcp(data: bytes) -> bool:
    """An MCP call, up to the request that it becomes."""
    try:
        call = mcp.read_call(data)
        if call.method != "tools/call":
            return True
        tool, asked = mcp.read_tool(call)
    except mcp.Refused as refused:
        demand(len(mcp.failure(refused)) < 4096 + 6 * len(data), "an answer without end")
        return False
    try:
        decode_client(mcp.request_frame(7, tool, asked), 3)
    except RemoteProtocolError:
        return False
    return True


def mutate_whole(draw: Random, data: bytes, seeds: Any) -> bytes:
    """A frame whose kind byte changes, too."""
    made = led(b"\x00")(draw, data, seeds)
    return bytes([draw.randrange(6)]) + made[1:] if draw.random() < 0.05 else made


TARGETS: Final = (
    Target("agency.client-0", CLIENT, partial(run_client, 0), mutate_whole),
    Target("agency.client-3", CLIENT, partial(run_client, 3), mutate_whole),
    Target("agency.server", SERVER, run_server, mutate_whole, share=2),
    Target("agency.mcp", MCP, run_mcp, mutate_json, share=0.5),
    Target("agency.mcp-bytes", MCP, run_mcp, mutate_bytes, share=0.2),
    *(
        Target(
            f"agency.framing-{name}",
            tuple(stream for stream in made.streams(CLIENT + SERVER)),
            made.run,
            mutate_stream,
            share=0.4,
        )
        for name, made in {
            "kind": Framed(KindFramer),
            "lines": Framed(LinesFramer),
            "either": Framed(KindOrLinesFramer, KindFramer),
        }.items()
    ),
)
