"""What is seen of a run, as the judge wants it: from events, and from the lines that the gateway's
own socket gives of them."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Sequence
from typing import Any

from chaos_judge import Seen
from chaos_life import MARK

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.events import Stream
from fleetgate.core.ids import RunId, Seq
from fleetgate.gateway.fidelity.member import Member
from fleetgate.gateway.local.script import text_of

MOST = 10_000
"""Events of one run; the oracle's have some twenty."""


def id_in(spec: c.RunSpec) -> str | None:
    """The task that a run is of; None where a link has cut what was asked for."""
    found = MARK.search(text_of(spec.input).encode())
    return None if found is None else found[1].decode()


def seen(recorded: Iterable[e.Recorded]) -> list[Seen]:
    """Events as a watcher saw them."""
    return [_one(each) for each in recorded]


def _one(each: e.Recorded) -> Seen:
    kind, event = type(each.event).__name__, each.event
    match event:
        case e.TextProduced(text=text):
            return Seen(each.seq, kind, text.encode())
        case e.OutputProduced(Stream.STDOUT, data):
            return Seen(each.seq, kind, data)
        case e.RunFinished(outcome=outcome):
            state, reason = outcome.state.value, outcome.reason.value
            return Seen(each.seq, kind, b"", state, reason)
        case _:
            return Seen(each.seq, kind)


def seen_line(line: dict[str, Any]) -> Seen:
    """One event as `gateway tail --json` has it."""
    seq, kind = line["seq"], line["type"]
    match kind:
        case "TextProduced":
            return Seen(seq, kind, line["text"].encode())
        case "OutputProduced" if line["stream"] == "stdout":
            return Seen(seq, kind, b64decode(line["data_base64"]))
        case "RunFinished":
            return Seen(seq, kind, b"", line["outcome"]["state"], line["outcome"]["reason"])
        case _:
            return Seen(seq, kind)


def doubted(recorded: Iterable[e.Recorded], inputs: Sequence[bytes]) -> frozenset[bytes]:
    """The inputs that a run says may or may not have arrived."""
    found: set[bytes] = set()
    for each in recorded:
        match each.event:
            case e.Diagnosed(text, "input_uncertain") if number := re.search(r"input (\d+)", text):
                found.update(inputs[int(number[1]) - 1 : int(number[1])])
            case _:
                pass
    return frozenset(found)


async def read_all(member: Member, run: RunId) -> list[e.Recorded]:
    """All that a member has of a run."""
    return list(await member.journal.read(run, Seq(0), items=MOST, size=MOST << 10))
