"""Short questions and orders to a running gateway."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

import trio

from fleetgate.core.limits import Limits
from fleetgate.core.routing import OPERATOR
from fleetgate.gateway.admin.client import AdminClient, AdminError, Unreachable, path_of
from fleetgate.gateway.commands import exits
from fleetgate.gateway.commands.asking import UsageError, ask
from fleetgate.gateway.commands.output import Column, moment, say, write_json, write_table
from fleetgate.gateway.render import Line

MAX_INPUT: Final = Limits().order_size
"""Bytes of one input, as the hub has it."""

WORKERS: Final[tuple[Column, ...]] = (
    ("WORKER", lambda line: line["worker"]),
    ("STATE", lambda line: line["liveness"]),
    ("SINCE", lambda line: moment(line["since"])),
    ("RUNS", lambda line: line["runs"]),
    ("FREE", lambda line: "any" if line["free"] is None else line["free"]),
    ("TAKES", lambda line: line["inputs"]),
)

RUNS: Final[tuple[Column, ...]] = (
    ("RUN", lambda line: line["run"]),
    ("STATE", lambda line: line["state"]),
    ("INPUT", lambda line: line["input"]),
    ("WORKER", lambda line: line["worker"]),
    ("CREATED", lambda line: moment(line["created"])),
    ("TOOK", lambda line: _took(line)),
    ("EVENTS", lambda line: line["last_seq"]),
    ("WAITS FOR", lambda line: line["approvals"]),
)


def _took(line: Line) -> str | None:
    if line["ended"] is None:
        return None
    return str(timedelta(seconds=round((line["ended"] - line["created"]) / 1e9)))


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
                say(f"{key}: {value}")
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


_LINKS: Final[tuple[Column, ...]] = (
    ("ENTRY", lambda line: line["entry"]),
    ("FACING", lambda line: line["facing"]),
    ("PROTOCOL", lambda line: line["protocol"]),
    ("ADDRESS", lambda line: line["address"]),
    ("LINKS", lambda line: len(line["links"])),
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
        lines: list[Line] = []
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
        from fleetgate.gateway.commands.asking import complain

        complain(str(error))
        return exits.USAGE

    async def question(client: AdminClient) -> int:
        run = run_id(arguments.run)
        if body is not None:
            await client.post(path_of("runs", run, "input"), body)
        if arguments.close:
            await client.post(path_of("runs", run, "close"))
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
    from base64 import b64encode

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
    known = ", ".join(waiting) or "none"
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

    async def question(client: AdminClient) -> int:
        if arguments.worker is None:
            return await _drain_gateway(client, wait=arguments.wait)
        path = path_of("workers", arguments.worker, "drain")
        line = (await client.post(path, {"on": not arguments.undo}))["worker"]
        if arguments.json:
            write_json(line)
        else:
            say(f"{line['worker']}: {line['liveness']}")
        return exits.OK

    return ask(arguments, question)


async def _drain_gateway(client: AdminClient, *, wait: bool) -> int:
    await client.post(path_of("drain"))
    say("the gateway drains: it takes no new runs, and ends once its peers are told")
    while wait:
        try:
            await client.get(path_of("status"))
        except Unreachable:
            say("the gateway has ended")
            break
        await trio.sleep(0.2)
    return exits.OK
