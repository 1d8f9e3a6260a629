"""An agent for the genuine agency daemon: it prints texts as Claude Code does, and ends well.

`python -m fleetgate.gateway.bench.agent -p "COUNT SIZE" …`. The daemon starts it for a run, whose
prompt the words are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

AT_ONCE: Final = 64
"""Lines of one write."""


def lines(count: int, size: int) -> Iterator[str]:
    """What it prints: so many texts of `size` bytes, and what stands around them."""
    yield _line("system", subtype="init", model="bench", slash_commands=[], skills=[])
    delta = {"type": "text_delta", "text": "." * size}
    text = _line("stream_event", event={"type": "content_block_delta", "delta": delta})
    for _ in range(count):
        yield text
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield _line("result", result="done", stop_reason="end_turn", usage=usage)


def _line(type: str, **members: Any) -> str:
    return json.dumps({"type": type, "session_id": "bench", **members}) + "\n"


def main(args: Sequence[str]) -> None:
    """Print it."""
    count, size = map(int, args[args.index("-p") + 1].split())
    said = list(lines(count, size))
    for at in range(0, len(said), AT_ONCE):
        sys.stdout.write("".join(said[at : at + AT_ONCE]))
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
