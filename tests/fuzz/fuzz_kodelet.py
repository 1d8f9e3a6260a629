"""kodelet: its envelope, the members of every message, manifests, and what an upgrade says."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Final

import attrs
from fuzz_bytes import mutate_bytes
from fuzz_engine import Target, demand, room_for
from fuzz_json import mutate_json
from fuzz_same import same
from fuzz_seeds import either, recorded

from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import codec, go_json, metadata, structs, upgrade, wire, workspace
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.ui_requests import read_question

SEEDS: Final = either(recorded("kodelet"), t.NORTH_FRAMES, t.SOUTH_FRAMES)


def _params() -> tuple[bytes, ...]:
    """What stands in the messages: params and results."""
    found: list[bytes] = []
    for frame in SEEDS:
        value = go_json.load(frame)
        found += [go_json.dump(value[key]).encode() for key in ("params", "result") if key in value]
    return tuple(dict.fromkeys(found))


PARAMS: Final = _params()
KINDS: Final = tuple(
    kind
    for _, kind in inspect.getmembers(wire, inspect.isclass)
    if attrs.has(kind)
    and kind.__module__ == wire.__name__
    and issubclass(kind, object)
    and kind not in (wire.Request, wire.Notification, wire.Success, wire.Failure)
)
"""The classes of what stands in a message."""


def run_envelope(data: bytes) -> bool:
    """A message; written again it is the same, in the same spelling of its numbers."""
    try:
        message = codec.decode(data)
    except RemoteProtocolError:
        return False
    frame = codec.encode(message)
    again = codec.decode(frame)
    demand(same(again, message), "decode(encode(x)) is not x")
    demand(codec.encode(again) == frame, "encoding it again gives other bytes")
    return True


def run_members(data: bytes) -> bool:
    """What stands in a message, as each class reads it."""
    try:
        value = go_json.load(data)
    except Malformed:
        return False
    taken = False
    for kind in KINDS:
        try:
            read = structs.read(kind, value)
        except Malformed:
            continue
        taken = True
        text = go_json.dump(structs.write(read))
        again = structs.read(kind, go_json.load(text.encode()))
        demand(same(again, read), f"{kind.__name__}: read(write(x)) is not x")
        demand(go_json.dump(structs.write(again)) == text, f"{kind.__name__}: other bytes")
        if isinstance(read, wire.Structured):
            _checked(read)
    return taken


def _checked(read: wire.Structured) -> None:
    try:
        metadata.check(read)
    except Malformed:
        return


def run_manifest(data: bytes) -> bool:
    """A manifest: its text in canonical form, and its digest, do not depend on how it was
    written."""
    try:
        manifest = m.read_manifest(go_json.load(data))
    except Malformed:
        return False
    text = m.canonical_text(manifest)
    sealed = m.sealed(manifest)
    again = m.read_manifest(go_json.load(go_json.dump(structs.write(sealed)).encode()))
    demand(m.canonical_text(again) == text, "the canonical text changes on its way")
    demand(m.digest_of(again) == sealed.digest, "the digest changes on its way")
    m.check_contexts(manifest)
    return True


def run_questions(method: str, data: bytes) -> bool:
    """The request of a `ui.*` call."""
    try:
        read_question(method, go_json.load(data))
    except Malformed:
        return False
    return True


def run_upgrade(data: bytes) -> bool:
    """Headers of an upgrade, a server's URL, and bytes in base64."""
    text = data.decode("latin-1")
    names = ("authorization", "cookie", "sec-websocket-protocol", "origin", "host")
    headers = dict(zip(names, text.split("\n"), strict=False))
    upgrade.shown_token(headers)
    upgrade.refuse(headers, True, ("https://known.example",))
    for line in text.split("\n"):
        _address(line)
        _bytes(line)
    return True


def _address(line: str) -> None:
    try:
        server = upgrade.canonical_server(line)
    except upgrade.BadServer:
        return
    demand(upgrade.canonical_server(server) == server, "a canonical URL is not its own")
    upgrade.websocket_url(server)


def _bytes(line: str) -> None:
    try:
        found = workspace.decoded(line)
    except Malformed:
        return
    demand(workspace.decoded(workspace.encoded(found)) == found, "decode(encode(x)) is not x")


def _room(size: int) -> int:
    """A manifest is held four times over: as JSON and as a value, twice each."""
    return 4 * room_for(size)


_MANIFEST: Final = go_json.dump(t.manifest()).encode()
_HEADERS: Final = (
    b"Bearer abc\n\nkodelet.runner.v1\nhttp://localhost:1\nlocalhost",
    b'\nkodelet_auth_token="x"; a=b\nkodelet.runner.v1, b\nhttps://[::1]:8080\n[::1]',
    b"https://Example.com:443/a/../b%20c/\nhttp://127.0.0.1:80\nSGVsbG8=\nhttp://[::1]/x",
)
_METHODS: Final = ("ui.input", "ui.confirm", "ui.select", "ui.notify", "ui.surface.open")

TARGETS: Final = (
    Target("kodelet.envelope", SEEDS, run_envelope, mutate_json, share=6),
    Target("kodelet.envelope-bytes", SEEDS, run_envelope, mutate_bytes, share=2),
    Target("kodelet.members", PARAMS, run_members, mutate_json, share=0.3),
    Target("kodelet.manifest", (_MANIFEST, *PARAMS), run_manifest, mutate_json, room=_room),
    Target("kodelet.upgrade", _HEADERS, run_upgrade, mutate_bytes),
    *(
        Target(f"kodelet.{method}", PARAMS, partial(run_questions, method), mutate_json, share=0.2)
        for method in _METHODS
    ),
)
