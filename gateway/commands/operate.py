"""Short questions and orders to a running gateway."""

from __future__ import annotations

import sys
from argparse import Namespace
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

import trio

from fleetgate.core.limits import Limits
from fleetgate.core.routing import OPERATOR
from fleetgate.core.times import SECOND
from fleetgate.gateway.admin.client import AdminClient, AdminError, Unreachable, path_of
from fleetgate.gateway.commands import exits
from fleetgate.gateway.commands.asking import UsageError, ask, complain
from fleetgate.gateway.commands.output import Column, moment, say, write_json, write_table
from fleetgate.gateway.render import Line

MAX_INPUT: Final = Limits().order_size
"""Bytes of one input, as the hub has it."""

WORKERS: Final[tuple[Column, ...]] = (
    Column("WORKER", lambda line: line["worker"]),
    Column("STATE", lambda line: line["liveness"]),
    Column("SINCE", lambda line: moment(line["since"]), 2),
    Column("RUNS", lambda line: line["runs"], 1),
    Column("FREE", lambda line: "any" if line["free"] is None else line["free"], 1),
    Column("TAKES", lambda line: line["inputs"], 3),
)

RUNS: Final[tuple[Column, ...]] = (
    Column("RUN", lambda line: line["run"]),
    Column("STATE", lambda line: line["state"]),
    Column("INPUT", lambda line: line["input"], 2),
    Column("WORKER", lambda line: line["worker"]),
    Column("CREATED", lambda line: moment(line["created"]), 4),
    Column("TOOK", lambda line: _took(line), 3),
    Column("EVENTS", lambda line: line["last_seq"], 5),
    Column("WAITS FOR", lambda line: _awaited(line), 1),
)


def _awaited(line: Line) -> list[str]:
    """Approvals; of a run that nobody has been given, that somebody takes it."""
    unclaimed = line["ended"] is None and line["worker"] is None
    return ["a worker"] if unclaimed else line["approvals"]


def _took(line: Line) -> str | None:
    if line["ended"] is None:
        return None
    return str(timedelta(seconds=round((line["ended"] - line["created"]) / SECOND)))


def run_id(text: str) -> str:
    """A run as an operator writes it: one of the operator's own needs no `admin/`."""
    return text if "/" in text else f"{OPERATOR}/{text}"


# --- reading


def run_status(arguments: Namespace) -> int:
    """`gateway status`."""

    async def question(client: AdminClient) -> int:
        status = await client.get(path_of("status"))
        if arguments.json:
            write_json(status)
            return exits.OK
        journal = status["journal"]
        for line in _alarm(journal):
            say(line)
        for key, value in status.items():
            if not isinstance(value, list | dict):
                say(f"{key}: {value} s" if key == "uptime" else f"{key}: {value}")
        say(f"journal: {journal['url']}, {journal['items']} writes wait for their commit")
        write_table(_LINKS, status["entries"])
        return exits.OK

    return ask(arguments, question)


def _alarm(journal: Line) -> Iterator[str]:
    """What comes before all else: the journal fails, why, and what that means."""
    if journal["failing"] is not None:
        yield f"THE JOURNAL CANNOT BE WRITTEN: {journal['failing']}"
        yield (
            "Until it can, new runs are refused, and nothing that workers report is "
            "acknowledged or shown."
        )
    if journal.get("damaged"):
        yield (
            "THE JOURNAL IS DAMAGED: lists leave out runs that cannot be read. Stop the gateway, "
            "have `gateway journal verify` say which, and restore the file from a copy."
        )
    if journal.get("full"):
        yield "THE JOURNAL HAS REACHED ITS SIZE: new runs are refused until runs may be forgotten."


_LINKS: Final[tuple[Column, ...]] = (
    Column("ENTRY", lambda line: line["entry"]),
    Column("FACING", lambda line: line["facing"], 2),
    Column("PROTOCOL", lambda line: line["protocol"], 3),
    Column("ADDRESS", lambda line: line["address"]),
    Column("LINKS", lambda line: len(line["links"]), 1),
)


def run_workers(arguments: Namespace) -> int:
    """`gateway workers`."""

    async def question(client: AdminClient) -> int:
        workers = (await client.get(path_of("workers")))["workers"]
        if arguments.json:
            for line in workers:
                write_json(line)
        else:
            write_table(WORKERS, workers)
        return exits.OK

    return ask(arguments, question)


def run_runs(arguments: Namespace) -> int:
    """`gateway runs`."""

    async def question(client: AdminClient) -> int:
        after: str | None = None
        while True:
            opened = None if arguments.all else 1
            page = await client.get(path_of("runs", link=arguments.link, open=opened, after=after))
            lines = page["runs"]
            if arguments.json:
                for line in lines:
                    write_json(line)
            elif lines or after is None:
                write_table(RUNS, lines)
            after = page["next"]
            if after is None:
                return exits.OK

    return ask(arguments, question)


# --- ordering


def run_send(arguments: Namespace) -> int:
    """`gateway send`."""
    try:
        body = _input(arguments)
    except UsageError as error:
        complain(str(error))
        return exits.USAGE

    async def question(client: AdminClient) -> int:
        run = run_id(arguments.run)
        line: Line = {}
        if body is not None:
            line = (await client.post(path_of("runs", run, "input"), body))["run"]
        if arguments.close:
            line = (await client.post(path_of("runs", run, "close")))["run"]
        if arguments.json:
            write_json(line)
        return exits.OK

    return ask(arguments, question)


def _input(arguments: Namespace) -> Mapping[str, Any] | None:
    if arguments.text is None:
        if arguments.close:
            return None
        raise UsageError("send needs a text, - for standard input, or --close")
    if arguments.text != "-":
        return {"text": arguments.text, "newline": not arguments.no_newline}
    data = sys.stdin.buffer.read(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        raise UsageError(f"one input has at most {MAX_INPUT} bytes; send it in pieces")
    return {"data_base64": b64encode(data).decode()}


def run_approve(arguments: Namespace) -> int:
    """`gateway approve`."""

    async def question(client: AdminClient) -> int:
        run = run_id(arguments.run)
        approval = arguments.approval or await _only_approval(client, run)
        body = {"approval": approval, "decision": arguments.decision, "value": arguments.value}
        if arguments.value is not None:
            body["decision"] = "value"
        return await _order(client, arguments, run, "approve", body)

    return ask(arguments, question)


async def _only_approval(client: AdminClient, run: str) -> str:
    waiting = (await client.get(path_of("runs", run)))["run"]["approvals"]
    if len(waiting) == 1:
        return str(waiting[0])
    if not waiting:
        raise AdminError("approval_not_found", f"{run} waits for no approval")
    known = ", ".join(waiting)
    raise AdminError("approval_not_found", f"say which approval; {run} waits for: {known}")


def run_cancel(arguments: Namespace) -> int:
    """`gateway cancel`."""

    async def question(client: AdminClient) -> int:
        scope = "session" if arguments.session else "run"
        body = {"scope": scope, "reason": arguments.reason}
        return await _order(client, arguments, run_id(arguments.run), "cancel", body)

    return ask(arguments, question)


def run_signal(arguments: Namespace) -> int:
    """`gateway signal`."""

    async def question(client: AdminClient) -> int:
        body = {"signal": arguments.signal}
        return await _order(client, arguments, run_id(arguments.run), "signal", body)

    return ask(arguments, question)


async def _order(
    client: AdminClient, arguments: Namespace, run: str, verb: str, body: Mapping[str, Any]
) -> int:
    line = (await client.post(path_of("runs", run, verb), body))["run"]
    if arguments.json:
        write_json(line)
    else:
        say(f"{line['run']}: {line['state']}")
    return exits.OK


def run_drain(arguments: Namespace) -> int:
    """`gateway drain`: a worker, or the gateway itself."""
    if flaw := _misused(arguments):
        complain(flaw)
        return exits.USAGE

    async def question(client: AdminClient) -> int:
        if arguments.worker is None:
            return await _drain_gateway(client, arguments)
        path = path_of("workers", arguments.worker, "drain")
        line = (await client.post(path, {"on": not arguments.undo}))["worker"]
        if arguments.json:
            write_json(line)
        else:
            say(f"{line['worker']}: {line['liveness']}")
        return exits.OK

    return ask(arguments, question)


def _misused(arguments: Namespace) -> str | None:
    """What makes no sense. A word left out must not end the gateway."""
    if arguments.worker is None and arguments.undo:
        return (
            "drain --undo needs a WORKER: a gateway that drains cannot be told to go on; "
            "nothing was done"
        )
    if arguments.worker is not None and arguments.wait:
        return "drain --wait is for the gateway itself, not for a WORKER; nothing was done"
    return None


async def _drain_gateway(client: AdminClient, arguments: Namespace) -> int:
    answer = await client.post(path_of("drain"))
    if not arguments.json:
        say("the gateway drains: it takes no new runs, and ends once its peers are told")
    if arguments.wait:
        await _ended(client)
    if arguments.json:
        write_json({**answer, "ended": arguments.wait})
    elif arguments.wait:
        say("the gateway has ended")
    return exits.OK


async def _ended(client: AdminClient) -> None:
    while True:
        try:
            await client.get(path_of("status"))
        except Unreachable:
            return
        await trio.sleep(POLL)


POLL: Final = 0.2
"""Seconds between two looks whether the gateway still answers."""
