"""Which errors a host does not dial again after: "Further rules", Dialling."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.tck.requirement import Topic
from fleetgate.gateway.tck.rvbox.host import HostAttempt
from fleetgate.gateway.tck.rvbox.talk import POLICY, SUPERSEDED
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

TOPIC: Final = Topic("dialling")

_SOURCE: Final = "rvbox 1, Further rules, Dialling"


def _refusal(code: Code) -> w.AgentError:
    return w.AgentError(w.ControlError(code, "by the conformance kit"), True)


@TOPIC.must(
    "RVBOX-C-049",
    given="a host that has said hello",
    when="it is answered with AgentError CLIENT_ID_IN_USE, and close 1008",
    expect="that it dials again: the older link may be dead soon",
    source=_SOURCE,
)
async def in_use(kit: HostAttempt) -> None:
    server = await kit.arrive()
    await server.hello()
    await server.say(_refusal(Code.CLIENT_ID_IN_USE))
    await server.close(*POLICY)
    await kit.opened()


@TOPIC.must(
    "RVBOX-C-050",
    given="a host with an open session",
    when="AgentError INVALID_ARGUMENT comes, which is final as the answer to hello alone, and the "
    "end",
    expect="that it dials again",
    source=_SOURCE,
)
async def invalid_later(kit: HostAttempt) -> None:
    server = await kit.opened()
    await server.say(_refusal(Code.INVALID_ARGUMENT))
    await server.close(*POLICY)
    await kit.opened()


def _final_at_hello(id: str, code: Code) -> None:
    @TOPIC.must(
        id,
        given="a host that has said hello",
        when=f"it is answered with AgentError {code.name}, and close 1008",
        expect="that it does not dial again",
        source=_SOURCE,
        ends=True,
    )
    async def final(kit: HostAttempt) -> None:
        server = await kit.arrive()
        await server.hello()
        await server.say(_refusal(code))
        await server.close(*POLICY)
        await kit.expect_no_dial()


_final_at_hello("RVBOX-C-051", Code.UNSUPPORTED_VERSION)
_final_at_hello("RVBOX-C-052", Code.UNAUTHENTICATED)
_final_at_hello("RVBOX-C-053", Code.INVALID_ARGUMENT)


@TOPIC.must(
    "RVBOX-C-054",
    given="a host with an open session",
    when="AgentError SUPERSEDED comes, and close 4002",
    expect="that it does not dial again: another of its instance has taken its place",
    source=f"{_SOURCE}; Session 4",
    ends=True,
)
async def superseded(kit: HostAttempt) -> None:
    server = await kit.opened()
    await server.say(_refusal(Code.SUPERSEDED))
    await server.close(*SUPERSEDED)
    await kit.expect_no_dial()
