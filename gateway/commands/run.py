"""`gateway run`: start a run and follow it to its end."""

from __future__ import annotations

import json
import signal
import sys
from argparse import Namespace
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import trio

from fleetgate.gateway.admin.client import AdminClient, AdminError, Unreachable, path_of
from fleetgate.gateway.commands import exits
from fleetgate.gateway.commands.asking import UsageError, ask, complain
from fleetgate.gateway.commands.following import follow
from fleetgate.gateway.commands.output import say, write_json
from fleetgate.gateway.commands.printing import Sink, open_sink
from fleetgate.gateway.render import Line

MAX_STDIN: Final = 1 << 20
"""Bytes of standard input that go with a run. For more there is `gateway send`."""


def run(arguments: Namespace) -> int:
    """Start a run. The exit code says how it ended."""
    try:
        body = body_of(arguments)
    except UsageError as error:
        complain(str(error))
        return exits.USAGE

    async def question(client: AdminClient) -> int:
        line = (await client.post(path_of("runs"), body))["run"]
        if not arguments.detach:
            with open_sink(arguments, waiting="waits for a worker") as sink:
                return await _follow(client, line["run"], sink)
        if arguments.json:
            write_json(line)
        else:
            say(line["run"])
        return exits.OK

    return ask(arguments, question, refused=exits.RUN_REFUSED, unreachable=exits.RUN_REFUSED)


async def _follow(client: AdminClient, run: str, sink: Sink) -> int:
    """The first Ctrl-C cancels the run, the second leaves it alone."""
    code = exits.CANCELED
    async with trio.open_nursery() as nursery:
        with trio.open_signal_receiver(signal.SIGINT) as interrupts:
            nursery.start_soon(_interrupted, client, run, interrupts, nursery.cancel_scope)
            try:
                code = exits.of_outcome(await follow(client, run, sink, lost=complain))
            except AdminError as error:
                # It was started, and whoever is told that it was not would start it once more.
                complain(f"{error.message} ({error.code})")
                code = exits.RUN_LOST
            nursery.cancel_scope.cancel()
    return code


async def _interrupted(
    client: AdminClient, run: str, interrupts: AsyncIterator[int], scope: trio.CancelScope
) -> None:
    await anext(interrupts)
    complain(f"cancelling {run}; interrupt again to leave it to itself")
    try:
        await client.post(path_of("runs", run, "cancel"), {"reason": "interrupted"})
    except (AdminError, Unreachable) as error:
        complain(f"{run} cannot be cancelled: {error}")
    await anext(interrupts)
    complain(f"left; follow it again with: gateway tail {run}")
    scope.cancel()


def body_of(arguments: Namespace) -> Line:
    """What is posted to start the run.

    Raises: `UsageError`.
    """
    body: Line = {
        "input": _input_of(arguments),
        "workspace": arguments.workspace,
        "environment": pairs(arguments.env, "--env"),
        "labels": pairs(arguments.label, "--label"),
        "permission": arguments.permission,
        "approvals": arguments.approvals,
        "interactive": arguments.interactive,
    }
    if arguments.timeout is not None:
        body["timeout_ms"] = round(arguments.timeout * 1000)
    if arguments.name is not None:
        body["run"] = arguments.name
    return body


def _input_of(arguments: Namespace) -> Line:
    given = {
        "--prompt": arguments.prompt,
        "--line": arguments.line,
        "--tool": arguments.tool,
        "-- COMMAND": arguments.command or None,
    }
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise UsageError(
            f"say what to run by exactly one of {', '.join(given)}; "
            f"given: {', '.join(chosen) or 'none'}"
        )
    match chosen[0]:
        case "--prompt":
            return _prompt(arguments)
        case "--tool":
            return {"tool": arguments.tool, "arguments": _json(arguments.input)}
        case "--line":
            return {"line": arguments.line, **_around(arguments)}
        case _:
            return {"argv": arguments.command, **_around(arguments)}


def _prompt(arguments: Namespace) -> Line:
    text = arguments.prompt
    if text == "-":
        text = _stdin().decode(errors="replace")
    return {"prompt": text, "provider": arguments.provider, "model": arguments.model}


def _around(arguments: Namespace) -> Line:
    around: Line = {"cwd": arguments.cwd}
    if arguments.stdin:
        around["stdin_base64"] = b64encode(_stdin()).decode()
    return around


def _stdin() -> bytes:
    data = sys.stdin.buffer.read(MAX_STDIN + 1)
    if len(data) > MAX_STDIN:
        raise UsageError(f"standard input has over {MAX_STDIN} bytes; use gateway send for more")
    return data


def _json(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        # Where it breaks, and not the text: arguments of a tool may be anybody's secrets.
        said = f"--input: expected JSON, got {len(text or '')} characters that are none: {error}"
        hint = """; in a shell, quote it whole: --input '{"name": "value"}'"""
        raise UsageError(said + hint) from None


def pairs(words: Sequence[str], option: str) -> dict[str, str]:
    """`NAME=VALUE` words as a dictionary.

    Raises: `UsageError`, without the value, which may be a secret.
    """
    made: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise UsageError(f"{option}: expected NAME=VALUE, got {_came(equals)}")
        made[name] = value
    return made


def _came(equals: str) -> str:
    if not equals:
        return "a word without ="
    return "nothing before the ="
