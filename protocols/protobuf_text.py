"""Protobuf messages for people: as JSON, by the schema's names, and without secrets."""

from __future__ import annotations

from typing import Any, Final, cast

from google.protobuf import json_format, text_format
from google.protobuf.message import DecodeError

from fleetgate.core.json import Json
from fleetgate.protocols.redaction import REDACTED, Redaction, is_environment, is_secret

_STRUCT: Final = "google.protobuf.Struct"


def parsed(message: Any, frame: bytes) -> bool:
    """Read a frame into an empty message; False where it is no protobuf of that kind."""
    try:
        message.ParseFromString(frame)
    except DecodeError:
        return False
    return True


def has_unknown(message: Any) -> bool:
    """Whether there are members, at any depth, that the schema does not have."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    return bool(known.ByteSize() != message.ByteSize())


def clean(message: Any, frame: bytes) -> tuple[bytes, int]:
    """Take the secrets out of a message that was read from a frame: its bytes then, and how many
    there were. What the schema does not know goes, too: nobody can say what it is. A frame that has
    neither comes back as it is."""
    redaction = Redaction()
    _redact(message, redaction)
    if redaction.count == 0 and not has_unknown(message) and message.ByteSize() == len(frame):
        return frame, 0
    message.DiscardUnknownFields()
    return cast(bytes, message.SerializeToString()), redaction.count


def show(message: Any) -> dict[str, Json]:
    """The message as JSON, by protobuf's own rules: 64-bit integers and bytes are text. A value
    that they have no form for makes all of it one text."""
    try:
        return cast(
            "dict[str, Json]", json_format.MessageToDict(message, preserving_proto_field_name=True)
        )
    except (json_format.Error, ValueError):
        return {"text": text_format.MessageToString(message)}


def read(body: Json, message: Any) -> bytes:
    """The bytes of a message that `show` showed; `message` is an empty one of its kind.

    Raises: `ValueError`.
    """
    try:
        json_format.ParseDict(cast(Any, body), message)
    except json_format.Error as error:
        raise ValueError(f"no {message.DESCRIPTOR.name}: {error}") from None
    return cast(bytes, message.SerializeToString())


def _redact(message: Any, redaction: Redaction) -> None:
    for field, value in message.ListFields():
        name = field.name
        if isinstance(value, str):
            setattr(message, name, _text(value, name, redaction))
        elif field.message_type is None:
            if value and not isinstance(value, bytes | int | float):
                _redact_each(value, name, redaction)
        elif field.message_type.GetOptions().map_entry:
            _redact_map(value, name, redaction)
        elif hasattr(value, "DESCRIPTOR"):
            _redact_member(value, name, redaction)
        else:
            for each in value:
                _redact_member(each, name, redaction)


def _redact_member(message: Any, name: str, redaction: Redaction) -> None:
    if message.DESCRIPTOR.full_name != _STRUCT:
        _redact(message, redaction)
        return
    before = redaction.count
    try:
        found = redaction.value(json_format.MessageToDict(message), name)
    except (json_format.Error, ValueError):
        redaction.count += 1  # a number that JSON has no form for: none of it is kept
        found = {name: REDACTED}
    if redaction.count != before:
        message.Clear()
        json_format.ParseDict(cast(Any, found), message)


def _redact_each(values: Any, name: str, redaction: Redaction) -> None:
    """A list of texts; any other has nothing to hide."""
    if not isinstance(values[0], str):
        return
    one = redaction.assignment if is_environment(name) else redaction.text
    found = [redaction.secret(each) if is_secret(name) else one(each) for each in values]
    del values[:]
    values.extend(found)


def _redact_map(values: Any, name: str, redaction: Redaction) -> None:
    for key in list(values):
        value = values[key]
        if isinstance(value, str):
            inside = is_environment(name)
            values[key] = redaction.secret(value) if inside else _text(value, key, redaction)
        elif hasattr(value, "DESCRIPTOR"):
            _redact_member(value, str(key), redaction)


def _text(value: str, name: str, redaction: Redaction) -> str:
    return cast(str, redaction.value(value, name))
