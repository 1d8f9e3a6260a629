"""How a host takes the script of a command: "Script", and "Further rules", Scripts. The whole way
from dispatch to exit is tried in `client_keeping`."""

from __future__ import annotations

import hashlib
from typing import Final

from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.gateway.tck.rvbox.host import HostAttempt, Lifecycle, Server, expect_exit
from fleetgate.gateway.tck.rvbox.talk import digest, expect_code, new_uuid
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

TOPIC: Final = Topic("scripts")

LARGEST_CHUNK: Final = 64 << 10
LARGEST_SCRIPT: Final = 16 << 20

_OPEN: Final = "a host with an open session"
_WAITS: Final = "a command that waits for its script"


def sum_of(data: bytes) -> bytes:
    """The sum that a chunk, or a script, is sent with."""
    return hashlib.sha256(data).digest()


async def _waiting(kit: HostAttempt, server: Server, script: bytes) -> w.CommandDispatch:
    """A command that waits for this script."""
    spec = w.ExecutionSpec(w.ScriptRef(len(script), sum_of(script)))
    dispatch = await server.dispatch(spec=spec)
    await server.accepted(dispatch)
    first = await server.event(dispatch)
    if first.event != w.LifecycleChanged(Lifecycle.AWAITING_SCRIPT):
        raise Unmet("AWAITING_SCRIPT", f"{first.event!r:.200} came")
    return dispatch


def _chunk(dispatch: w.CommandDispatch, offset: int, data: bytes) -> w.ScriptChunk:
    return w.ScriptChunk(dispatch.issue_uuid, offset, data, sum_of(data))


def _commit(dispatch: w.CommandDispatch, script: bytes) -> w.ScriptCommit:
    return w.ScriptCommit(dispatch.issue_uuid, len(script), sum_of(script))


def _script(kit: HostAttempt) -> bytes:
    return f"{kit.given.line}\n".encode()


@TOPIC.must(
    "RVBOX-C-060",
    given=_WAITS,
    when="a chunk comes with another offset than the bytes so far, and then the rest of the script",
    expect="AgentError OUT_OF_ORDER about it; what came before is kept, and the command goes on to "
    "its exit",
    source="rvbox 1, Further rules, Scripts: wrong offset",
)
async def wrong_offset(kit: HostAttempt) -> None:
    server, script = await kit.opened(), _script(kit)
    dispatch = await _waiting(kit, server, script)
    await server.say(_chunk(dispatch, 0, script[:2]), _chunk(dispatch, 3, script[3:]))
    await server.expect_report(Code.OUT_OF_ORDER, dispatch.issue_uuid)
    await server.say(_chunk(dispatch, 2, script[2:]), _commit(dispatch, script))
    expect_exit(await server.events(dispatch, first=2))


@TOPIC.must(
    "RVBOX-C-061",
    given=_WAITS,
    when="a chunk of more than 64 KiB comes",
    expect="AgentError INVALID_ARGUMENT about it, and the session goes on",
    source="rvbox 1, Further rules, Scripts: a chunk over 64 KiB",
)
async def large_chunk(kit: HostAttempt) -> None:
    server, script = await kit.opened(), b"#" * (LARGEST_CHUNK + 1)
    dispatch = await _waiting(kit, server, script)
    await server.say(_chunk(dispatch, 0, script))
    await server.expect_report(Code.INVALID_ARGUMENT, dispatch.issue_uuid)
    await server.settle()


@TOPIC.must(
    "RVBOX-C-062",
    given=_WAITS,
    when="the script is committed before it is whole, or with another sum than its dispatch has, "
    "and then comes from the start",
    expect="AgentError CHECKSUM_MISMATCH about each; the upload starts again from 0, and the "
    "command goes on to its exit",
    source="rvbox 1, Commands: Script; Further rules, Scripts: the commit",
)
async def wrong_commit(kit: HostAttempt) -> None:
    server, script = await kit.opened(), _script(kit)
    dispatch = await _waiting(kit, server, script)
    other = b"!" * len(script)
    for sent, committed in ((script[:2], script), (script, other)):
        await server.say(_chunk(dispatch, 0, sent), _commit(dispatch, committed))
        await server.expect_report(Code.CHECKSUM_MISMATCH, dispatch.issue_uuid)
    await server.say(_chunk(dispatch, 0, script), _commit(dispatch, script))
    expect_exit(await server.events(dispatch, first=2))


@TOPIC.must(
    "RVBOX-C-063",
    given="a command that runs and goes on, and one that the host does not know",
    when="a chunk comes for them",
    expect="AgentError INVALID_ARGUMENT about the one, for nobody waits for it; NOT_FOUND about "
    "the other; and the session goes on",
    source="rvbox 1, Further rules, Errors",
)
async def unasked(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch = await kit.holding(server)
    await server.say(_chunk(dispatch, 0, b"true\n"))
    await server.expect_report(Code.INVALID_ARGUMENT, dispatch.issue_uuid)
    uuid = new_uuid()
    await server.say(w.ScriptChunk(uuid, 0, b"true\n", sum_of(b"true\n")))
    await server.expect_report(Code.NOT_FOUND, uuid)
    await server.settle()


@TOPIC.must(
    "RVBOX-C-064",
    given=_OPEN,
    when="a dispatch announces a script of more than 16 MiB, or with a sum of 31 bytes",
    expect="CommandAccepted, rejected with INVALID_ARGUMENT, and no event",
    source="rvbox 1, Further rules, Scripts: a ScriptRef",
)
async def bad_reference(kit: HostAttempt) -> None:
    server = await kit.opened()
    for reference in (w.ScriptRef(LARGEST_SCRIPT + 1, digest()), w.ScriptRef(5, digest()[:31])):
        answer = await server.answer(await server.dispatch(spec=w.ExecutionSpec(reference)))
        expect_code(answer, Code.INVALID_ARGUMENT)
        if answer.accepted:
            raise Unmet("that it is not accepted", "accepted is true")
    if any(isinstance(each, w.CommandEvent) for each in await server.settle()):
        raise Unmet("no event of a command that was rejected", "one came")


@TOPIC.must(
    "RVBOX-C-065",
    given=f"{_WAITS}, half of which has come",
    when="the link is lost, and it comes from the start on the next one",
    expect="that the upload starts again from 0, and the command goes on to its exit",
    source="rvbox 1, Further rules, Scripts: an upload cut by a lost link",
)
async def cut(kit: HostAttempt) -> None:
    server, script = await kit.opened(), _script(kit)
    dispatch = await _waiting(kit, server, script)
    await server.say(_chunk(dispatch, 0, script[:2]))
    await server.settle()
    server = await kit.again(server)
    state = (await server.snapshot()).get(dispatch.issue_uuid)
    if state is None or state.lifecycle != Lifecycle.AWAITING_SCRIPT:
        raise Unmet("it in the snapshot, AWAITING_SCRIPT", f"{state} came")
    await server.conclude()
    await server.say(_chunk(dispatch, 0, script), _commit(dispatch, script))
    expect_exit(await server.events(dispatch))
