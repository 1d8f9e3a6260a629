"""What inputs are made from: recorded conversations, and the frames that tests begin with."""

from __future__ import annotations

import json
from base64 import b64decode
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent


@cache
def recorded(protocol: str, speaker: str = "") -> tuple[bytes, ...]:
    """The frames of a transcript that the controller, or the worker, has sent; without a speaker,
    all of them. Each once."""
    lines = (TESTS / "transcripts" / f"{protocol}.jsonl").read_text().splitlines()
    items = [json.loads(line) for line in lines[1:]]
    frames = [
        b64decode(item["raw"])
        for item in items
        if item["event"] == "frame" and speaker in ("", item["from"])
    ]
    return tuple(dict.fromkeys(frames))


def either(*several: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """All of them, each once."""
    return tuple(dict.fromkeys(frame for frames in several for frame in frames))
