"""`gateway explain`: the life of one event, or how far a run's events have got."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from fleetgate.core.times import SECOND
from fleetgate.gateway.admin.client import AdminClient, path_of
from fleetgate.gateway.commands import exits
from fleetgate.gateway.commands.asking import ask, complain
from fleetgate.gateway.commands.operate import run_id
from fleetgate.gateway.commands.output import say, write_json
from fleetgate.gateway.render import Line


def run(arguments: Namespace) -> int:
    """Ask, and show it."""
    if arguments.payload and arguments.seq is None:
        complain("--payload is what an event says: name its number, SEQ")
        return exits.USAGE

    async def question(client: AdminClient) -> int:
        payload = 1 if arguments.payload else None
        path = path_of("runs", run_id(arguments.run), "life", seq=arguments.seq, payload=payload)
        line = await client.get(path)
        if arguments.json:
            write_json(line)
        else:
            for each in told(line):
                say(each)
        return exits.OK

    return ask(arguments, question)


def told(line: Line) -> Iterator[str]:
    """The answer, for people."""
    if "event" in line:
        yield from _event(line["run"], line["event"])
    else:
        yield from _run(line["run"], line["life"])


_INDENT: Final = " " * 14


def _said(rung: str, text: str) -> str:
    return f"{rung:<14}{text}"


def _run(run: Line, life: Line) -> Iterator[str]:
    ladder = life["ladder"]
    yield f"{run['run']}: {run['state']}, {run['last_seq']} events"
    yield _said("accepted", f"{_time(run['created'])}, from {run['link']}")
    yield _said("worker", _worker(run, life["worker_link"]))
    native = ladder["native_received"]
    yield _said("received", _up_to(ladder["received"]) + (f", its own {native}" if native else ""))
    yield _said("stored", _up_to(ladder["stored"]))
    yield _said("sent", "nobody follows it" if ladder["sent"] is None else _up_to(ladder["sent"]))
    for each in life["sent"]:
        gone = "" if each["now"] else "; it does not follow any more"
        yield f"{_INDENT}{_who(each)}: {_between(each['after'], each['through'])}{gone}"
    yield _said("acknowledged", _up_to(ladder["acknowledged"]))
    yield from _not_kept(life)


def _between(after: int, through: int) -> str:
    if through <= after:
        return "nothing yet" if not after else f"nothing yet; it asked for what follows {after}"
    return f"event {through}" if through == after + 1 else f"events {after + 1} to {through}"


def _worker(run: Line, link: Line | None) -> str:
    if run["worker"] is None:
        return "none yet"
    said = f"{run['worker']}, epoch {run['epoch']}"
    return said if link is None else f"{said}, by {_who(link)}"


def _up_to(number: int) -> str:
    return f"up to {number}" if number else "nothing"


def _event(run: Line, event: Line) -> Iterator[str]:
    if not event["stored"]:
        yield f"{run['run']}, event {event['seq']}: received, and not stored yet"
        return
    sizes = ", ".join(_size(name, size) for name, size in event["sizes"].items() if size)
    yield f"{run['run']}, event {event['seq']}: {event['type']}" + (f", {sizes}" if sizes else "")
    yield from _received(event["received"])
    yield _said("stored", _by(event["stored_by"]))
    yield from _sent(event["sent"])
    yield _said("acknowledged", _acknowledged(run, event))
    if event["confirmed"] is not None:
        word = "told that it is safe" if event["confirmed"] else "not told yet that it is safe"
        yield _said("worker", word)
    yield from _not_kept(event)
    if "payload" in event:
        yield json.dumps(event["payload"], ensure_ascii=False)


def _size(name: str, size: int) -> str:
    unit = "byte" if name == "data" else "character"
    return f"{name} of {size} {unit}{'s' * (size != 1)}"


def _received(received: Line) -> Iterator[str]:
    if received["from"] == "gateway":
        yield _said("received", f"{_time(received['time'])}, made by the gateway itself")
        return
    native = received["native_seq"]
    number = "no number of its own" if native is None else f"its number {native}"
    link = received["link"]
    by = "" if link is None else f", by {_who(link)}"
    yield _said("received", f"{_time(received['time'])}, from {received['worker']}{by}")
    yield f"{_INDENT}epoch {received['epoch']}, {number}"
    if received["worker_time"] is not None:
        yield f"{_INDENT}{_time(received['worker_time'])} by its worker's clock"


def _sent(sent: list[Line]) -> Iterator[str]:
    if not sent:
        yield _said("sent", "to nobody that is remembered")
    for at, each in enumerate(sent):
        yield _said("" if at else "sent", f"to {_who(each)}: {_sending(each)}")


def _sending(each: Line) -> str:
    if each["sent"] is None:
        return f"not that is remembered; it was sent those behind {each['after']}"
    return _by(each["by"]) if each["sent"] else f"not yet; it has those up to {each['through']}"


def _acknowledged(run: Line, event: Line) -> str:
    if event["acknowledged"]:
        return f"{_by(event['acknowledged_by'])}, by the controller of {run['link']}"
    return f"not by the controller of {run['link']}; it has those up to {run['acknowledged']}"


def _by(time: int | None) -> str:
    return "yes" if time is None else f"by {_time(time)}"


def _not_kept(line: Line) -> Iterator[str]:
    for each in line["not_kept"]:
        yield _said("not kept", each)


def _who(link: Line) -> str:
    return f"{link['entry']} ({link['peer']})" if link["peer"] else str(link["entry"])


def _time(nanoseconds: int) -> str:
    """To the millisecond, in the zone that JSON's numbers count in."""
    seconds, rest = divmod(nanoseconds, SECOND)
    at = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{at}.{rest // 1_000_000:03}Z"
