"""docs/reference/recording.schema.json, and what is written by it: the transcripts, every kind of
line, and lines that are wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from fleetgate.gateway.recording import form
from fleetgate.gateway.recording.witness import Witness
from fleetgate.gateway.registry import adapters
from fleetgate.transports.tap import Crossed, Over

ROOT: Final = Path(__file__).parents[3]
SCHEMA: Final = json.loads((ROOT / "docs" / "reference" / "recording.schema.json").read_text())
TRANSCRIPTS: Final = sorted((ROOT / "tests" / "transcripts").glob("*.jsonl"))

KINDS: Final = {
    "object": dict,
    "string": str,
    "integer": int,
    "boolean": bool,
    "null": type(None),
}
SAYS_NOTHING: Final = {"$schema", "title", "description"}


def wrong(schema: dict[str, Any], value: Any) -> str:
    """What is wrong with a value by a schema, of the few words that ours has; empty: nothing."""
    for word, wanted in schema.items():
        if word not in SAYS_NOTHING and (said := WORDS[word](wanted, value, schema)):
            return said
    return ""


def one_of(wanted: Any, value: Any, schema: Any) -> str:
    fits = [each["title"] for each in wanted if not wrong(each, value)]
    return "" if len(fits) == 1 else f"fits {fits}"


def kind(wanted: Any, value: Any, schema: Any) -> str:
    names = wanted if isinstance(wanted, list) else [wanted]
    for name in names:
        if isinstance(value, KINDS[name]) and (name == "boolean" or not isinstance(value, bool)):
            return ""
    return f"is no {names}"


def members(wanted: Any, value: Any, schema: Any) -> str:
    said = (wrong(each, value[name]) for name, each in wanted.items() if name in value)
    return next(filter(None, said), "")


def others(wanted: Any, value: Any, schema: Any) -> str:
    rest = [name for name in value if name not in schema.get("properties", {})]
    if wanted is False:
        return f"has {rest}" if rest else ""
    return next(filter(None, (wrong(wanted, value[name]) for name in rest)), "")


def missing(wanted: Any, value: Any, schema: Any) -> str:
    lacking = [name for name in wanted if name not in value]
    return f"lacks {lacking}" if lacking else ""


WORDS: Final[dict[str, Any]] = {
    "oneOf": one_of,
    "type": kind,
    "required": missing,
    "properties": members,
    "additionalProperties": others,
    "const": lambda wanted, value, _: "" if value == wanted else f"is not {wanted}",
    "enum": lambda wanted, value, _: "" if value in wanted else f"is none of {wanted}",
    "minimum": lambda wanted, value, _: "" if value >= wanted else f"is below {wanted}",
    "pattern": lambda wanted, value, _: (
        "" if value is None or re.search(wanted, value) else "is no base64"
    ),
}

HELLO: Final = b'\0{"requestId":1,"type":"hello","client_name":"c","version":{"major":0,"minor":3}}'


def every_line() -> list[dict[str, Any]]:
    witness = Witness(1, adapters(())["agency"].showing, "worker")
    frames = (HELLO, b"\0{", b"\x09", b"", b'\0{"requestId":1,"environment":{"K":"s"}}')
    return [
        form.header(5, {"agency": "0.3"}),
        witness.link(6, "agency", "e", "unix:x", "controller"),
        *({**witness.frame(Crossed("in", 0, frame), 7), "number": 1} for frame in frames),
        witness.over(Over("in", 0), 8),
        witness.over(Over("out", 0, 1008, "x", True), 8),
        witness.over(Over("in", 0, 1009, "a message of 9 bytes came", True, True), 8),
        form.lost(8, 2),
        form.end(9, 1, 2),
    ]


@pytest.mark.parametrize("line", every_line(), ids=lambda line: line.get("event", "header"))
def test_every_kind_of_line_is_by_the_schema(line: dict[str, Any]) -> None:
    assert wrong(SCHEMA, line) == ""
    for name in list(line):
        if name not in ("rule", "redacted"):
            assert wrong(SCHEMA, {key: each for key, each in line.items() if key != name}), name
    assert wrong(SCHEMA, {**line, "more": 1})


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_the_transcripts_are_by_the_schema(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [wrong(SCHEMA, line) for line in lines] == [""] * len(lines)
    assert lines[0]["recording"] == form.FORMAT
    assert lines[-1]["event"] == "end"


def test_there_are_transcripts_of_every_protocol() -> None:
    assert {path.stem for path in TRANSCRIPTS} == set(adapters(()))


@pytest.mark.parametrize(
    "changes", [{"from": "me"}, {"raw": "?"}, {"size": -1}, {"number": True}, {"time": "now"}]
)
def test_what_is_wrong_is_no_frame(changes: dict[str, Any]) -> None:
    assert wrong(SCHEMA, {**every_line()[2], **changes})
