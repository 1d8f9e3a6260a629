"""The life of a run's events, as far as it is known: received, stored, sent, acknowledged.

The journal keeps when an event was received, under which epoch of its worker and with which number
of the worker's own. The rest is remembered in memory (`fleetgate.core.passages`); what is not
known any more is said to be so, in `not_kept`. No payload is shown unless it is asked for.
"""

from __future__ import annotations

from typing import Any, Final, cast

import attrs

from fleetgate.core.events import Recorded
from fleetgate.core.ladder import Ladders, Standing
from fleetgate.core.passages import ACKNOWLEDGED, SENT, STORED
from fleetgate.core.run import Run
from fleetgate.gateway.render import Line, event_line

BEFORE_START: Final = (
    "the gateway was started again since: by which link it came, to whom it was sent until then "
    "and the times of that are not kept"
)
NO_LINK: Final = "the link that it came by is not remembered"
NO_STORED_TIME: Final = "when it was stored is not remembered"
NO_SENDING: Final = "whom it was sent to is not remembered, or it was sent to nobody"
NO_ACKNOWLEDGED_TIME: Final = "when it was acknowledged is not remembered"


def ladder_line(standing: Standing) -> Line:
    """A run's ladder: the number of the last event on each rung."""
    return attrs.asdict(standing)


def run_life(ladders: Ladders, run: Run) -> Line:
    """How a run stands, and with whom."""
    line: Line = {
        "since": ladders.passages.since,
        "ladder": ladder_line(ladders.standing(run)),
        "worker_link": _worker_link(ladders, run, run.epoch),
        "sent": [attrs.asdict(each) for each in ladders.passages.sent(run.id)],
        "not_kept": [],
    }
    if run.created < ladders.passages.since:
        line["not_kept"].append(BEFORE_START)
    return line


def event_life(
    ladders: Ladders, run: Run, seq: int, recorded: Recorded | None, *, payload: bool
) -> Line:
    """The life of event `seq`. `recorded` is None where it is not stored yet."""
    standing = ladders.standing(run)
    sent = [] if recorded is None else _sent(ladders, run, seq)
    line: Line = {
        "seq": seq,
        "type": None if recorded is None else type(recorded.event).__name__,
        "sizes": {} if recorded is None else _sizes(recorded),
        "received": None if recorded is None else _received(ladders, run, recorded),
        "stored": recorded is not None,
        "stored_by": ladders.passages.when(run.id, STORED, seq),
        "sent": sent,
        "acknowledged": seq <= standing.acknowledged,
        "acknowledged_by": ladders.passages.when(run.id, ACKNOWLEDGED, seq),
        "confirmed": _confirmed(recorded, standing),
    }
    line["not_kept"] = _not_kept(line, recorded, ladders.passages.since)
    if payload and recorded is not None:
        line["payload"] = event_line(recorded)
    return line


def _worker_link(ladders: Ladders, run: Run, epoch: Any) -> Line | None:
    found = None if run.worker is None else ladders.passages.link(run.worker, epoch)
    return None if found is None else {"entry": found[0], "peer": found[1]}


def _received(ladders: Ladders, run: Run, recorded: Recorded) -> Line:
    """Where it came from. Epoch 0 stands for the gateway itself, and so does no source."""
    source = recorded.source
    if source is None or not source.epoch:
        return {"time": recorded.time, "from": "gateway"}
    return {
        "time": recorded.time,
        "from": "worker",
        "worker": run.worker,
        "link": _worker_link(ladders, run, source.epoch),
        "epoch": source.epoch,
        "native_seq": source.seq,
        "worker_time": source.time,
    }


def _sizes(recorded: Recorded) -> dict[str, int]:
    """How long each text or body of the event is, in characters or bytes."""
    names = attrs.fields_dict(cast(Any, type(recorded.event)))
    members = {name: getattr(recorded.event, name) for name in names}
    return {name: len(each) for name, each in members.items() if isinstance(each, str | bytes)}


def _sent(ladders: Ladders, run: Run, seq: int) -> list[Line]:
    """Who follows it, or did. `sent` is None where it was not asked for, for who asks for those
    behind it has it already; or, of a link that is gone (`now` is false), where it is forgotten."""
    lines: list[Line] = []
    for each in ladders.passages.sent(run.id):
        asked = seq > each.after
        by = ladders.passages.when(run.id, (SENT, each.entry, each.peer), seq) if asked else None
        sent = seq <= each.through if asked else None
        lines.append(attrs.asdict(each) | {"sent": sent, "by": by})
    return lines


def _confirmed(recorded: Recorded | None, standing: Standing) -> bool | None:
    """Whether its worker was told that it is safe. None: it has no number to tell it by."""
    if recorded is None or recorded.source is None or recorded.source.seq is None:
        return None
    return recorded.source.seq <= standing.native_stored


def _not_kept(line: Line, recorded: Recorded | None, since: int) -> list[str]:
    if recorded is not None and recorded.time < since:
        return [BEFORE_START]
    said: list[str] = []
    received = line["received"]
    if received is not None and received["from"] == "worker" and received["link"] is None:
        said.append(NO_LINK)
    if line["stored"] and line["stored_by"] is None:
        said.append(NO_STORED_TIME)
    if line["stored"] and not line["sent"]:
        said.append(NO_SENDING)
    if line["acknowledged"] and line["acknowledged_by"] is None:
        said.append(NO_ACKNOWLEDGED_TIME)
    return said
