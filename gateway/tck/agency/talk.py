"""The words in which requirements of this protocol are written: JSON as it stands on the wire."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeGuard, cast

from fleetgate.gateway.tck.peer import End, Peer, Unmet
from fleetgate.gateway.tck.seen import Show, shown
from fleetgate.protocols.agency import ADAPTER
from fleetgate.transports.api import Options

TEXT: Final = 0
BINARY: Final = 1
PING: Final = 2
PONG: Final = 3
CLOSE: Final = 4

CAP: Final = 1_048_577
"""The largest LENGTH of a frame: its kind byte and 1 MiB."""

MOST: Final = 2**64 - 1

HELLO: Final = (
    '{"requestId":1,"type":"hello","client_name":"gateway-tck","version":{"major":0,"minor":3}}'
)

Object = Mapping[str, Any]


def framed(payload: bytes | str, kind: int = TEXT) -> bytes:
    """A frame with its length, as it stands on the wire."""
    data = payload.encode() if isinstance(payload, str) else payload
    return struct.pack(">IB", len(data) + 1, kind) + data


def shower() -> Show:
    """Frames as they stand on the wire: the text is what is required. Without their secrets."""
    explainer = ADAPTER.showing.explainer()
    kinds = {BINARY: "binary ", PING: "ping ", PONG: "pong ", CLOSE: "close "}

    def show(frame: bytes, sent: bool) -> str:
        kept = explainer.explain(frame).frame
        if kept is None:
            return shown(frame)
        return kinds.get(kept[0], "") + kept[1:].decode("utf-8", "backslashreplace")

    return show


def carried(given: Any) -> Options:
    """How links carry frames: one kind byte, then the payload."""
    return Options(framing="kind", limit=CAP)


def dumped(value: object) -> str:
    """JSON as a genuine peer writes it: no spaces, keys as they stand."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read(frame: bytes) -> Any:
    """The JSON object in a text frame."""
    if frame[:1] != b"\x00":
        raise Unmet("a text frame (kind 0)", f"this came: {shown(frame)}")
    try:
        value = json.loads(frame[1:].decode())
    except ValueError:
        raise Unmet("JSON in UTF-8", f"this came: {shown(frame)}") from None
    if not isinstance(value, dict):
        raise Unmet("a JSON object", f"this came: {shown(frame)}")
    return cast("dict[str, Any]", value)


def member_object(value: Object, name: str, what: str) -> dict[str, Any]:
    """The object that must be there under a name."""
    found = value.get(name)
    if not isinstance(found, dict):
        raise Unmet(f"an object as {name} in {what}", f"this came: {dumped(value)[:300]}")
    return cast("dict[str, Any]", found)


def member_list(value: Object, name: str, what: str) -> list[Any]:
    """The array that must be there under a name."""
    found = value.get(name)
    if not _is_list(found):
        raise Unmet(f"an array as {name} in {what}", f"this came: {dumped(value)[:300]}")
    return found


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


class JsonPeer(Peer):
    """A link that carries JSON."""

    async def say(self, *messages: str | Object) -> None:
        """Send messages in one write; text goes out as it stands."""
        texts = (each if isinstance(each, str) else dumped(each) for each in messages)
        await self.send(*(b"\x00" + text.encode() for text in texts))

    async def hear(self, expected: str) -> Any:
        """The next message."""
        return read(await self.receive(expected))

    async def hear_text(self, expected: str) -> str:
        """The next message as it stands on the wire."""
        frame = await self.receive(expected)
        read(frame)
        return frame[1:].decode()

    async def until(
        self, expected: str, fits: Callable[[Any], bool], most: int = 10_000
    ) -> list[Any]:
        """The messages up to the first that fits, and that one last."""
        heard: list[Any] = []
        while len(heard) < most:
            heard.append(await self.hear(expected))
            if fits(heard[-1]):
                return heard
        raise Unmet(expected, f"{most} other messages came")

    async def rest(self) -> list[Any]:
        """The messages that come until nothing has come for a while."""
        heard: list[Any] = []
        while isinstance(came := await self.next(self.patience.quiet), bytes):
            heard.append(read(came))
        if isinstance(came, End):
            raise Unmet("that the link stays", came.text)
        return heard


def expect_members(value: Object, what: str, **members: object) -> None:
    """These members must be there, with these values."""
    for name, wanted in members.items():
        if name not in value:
            raise Unmet(f"{name} in {what}", f"it is missing: {dumped(value)[:300]}")
        if value[name] != wanted or type(value[name]) is not type(wanted):
            came = f"{name} is {dumped(value[name])[:300]}"
            raise Unmet(f"{name} {dumped(wanted)} in {what}", came)


def expect_keys(value: object, keys: tuple[str, ...], what: str) -> None:
    """It must be an object with exactly these keys, in this order."""
    if not isinstance(value, dict) or tuple(cast("dict[str, Any]", value)) != keys:
        raise Unmet(f"{what} with the keys {', '.join(keys)} in this order", f"{value!r:.300}")


def expect_order(text: str, what: str) -> None:
    """It must be written as a genuine peer writes: no spaces, no escapes but those needed."""
    if dumped(json.loads(text)) != text:
        raise Unmet(f"{what} without spaces and needless escapes", f"it is {text[:300]}")
