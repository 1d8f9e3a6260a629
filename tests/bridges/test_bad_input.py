"""I11: whatever a peer sends, its own link ends at most; the next good run on another goes
through, and nothing of the bad one is in what the operator sees."""

from __future__ import annotations

import struct

import pytest
import trio

from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunState
from fleetgate.schemas.rvbox.v1 import agent_pb2, common_pb2
from fleetgate.transports.api import Link, LinkError, Options
from fleetgate.transports.open import open_dialer

OK = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
SECRET = b"hunter2"


def hello(**changes: object) -> bytes:
    message = agent_pb2.ClientHello(
        client_id="host-2",
        daemon_version="1",
        platform=common_pb2.PLATFORM_LINUX,
        supported_shells=[common_pb2.SHELL_TYPE_SH],
        client_instance_id="i",
        max_running_commands=1,
        max_queued_commands=1,
    )
    version = common_pb2.ProtocolVersion(major=1, minor=0)
    message.supported_protocol.minimum.CopyFrom(version)
    message.supported_protocol.maximum.CopyFrom(version)
    for name, value in changes.items():
        setattr(message, name, value)
    return bytes(agent_pb2.AgentEnvelope(client_hello=message).SerializeToString())


AGENCY = [
    b"",
    b"\x00",
    b"\x00" + SECRET,
    b"\x00\xff\xfe",
    b"\x01\xff",
    b"\x02",
    b"\x03",
    b"\x04",
    b"\x04x",
    b"\x09x",
    b"\x00[]",
    b'\x00{"requestId":1,"type":"list_runs"}',
    b'\x00{"requestId":1,"type":"hello","client_name":"x","version":{"major":1,"minor":0}}',
    b'\x00{"requestId":1,"type":"hello","client_name":"x"}',
    b"\x00" + b"[" * 5000,
    b'\x00{"requestId":1e400}',
]
RVBOX = [
    b"",
    SECRET,
    b"\xff" * 100,
    struct.pack("<Q", 7),
    bytes(agent_pb2.AgentEnvelope(session_id="s", session_generation=1).SerializeToString()),
    bytes(agent_pb2.AgentEnvelope(client_capacity=agent_pb2.ClientCapacity()).SerializeToString()),
    hello(client_id=""),
    hello(client_id="x" * 129),
    hello(client_id="a b"),
    hello(client_instance_id=""),
    hello() + hello(),
]


async def dial(name: str) -> Link:
    async with open_dialer(f"memory:{name}", Options()) as dialer:
        return await dialer.dial()


async def answers(link: Link) -> list[bytes]:
    """All that the gateway says until it ends the link."""
    got: list[bytes] = []
    with trio.move_on_after(200):
        try:
            while True:
                got += await link.receive_some()
        except (trio.EndOfChannel, LinkError):
            return got
    raise AssertionError("the link did not end")


@pytest.mark.parametrize("frame", AGENCY, ids=range(len(AGENCY)))
async def test_a_bad_agency_client_ends_alone(
    agency_to_rvbox, autojump_clock, frame: bytes
) -> None:
    link = await dial("agency-rvbox-up")
    await link.send(frame)
    for said in await answers(link):
        assert SECRET not in said
    await serves_the_next(agency_to_rvbox)


@pytest.mark.parametrize("frame", RVBOX, ids=range(len(RVBOX)))
async def test_a_bad_rvbox_host_ends_alone(agency_to_rvbox, autojump_clock, frame: bytes) -> None:
    link = await dial("agency-rvbox-down")
    await link.send(frame)
    said = await answers(link)
    assert len(said) <= 3
    errors = [agent_pb2.AgentEnvelope.FromString(each) for each in said]
    assert errors[-1].WhichOneof("payload") == "error"
    assert errors[-1].error.close_session
    await serves_the_next(agency_to_rvbox)


async def serves_the_next(bridge) -> None:
    run = await bridge.start()
    bridge.say(await bridge.given(), e.RunStarted(), OK)
    assert (await bridge.ended(run)).state is RunState.SUCCEEDED
    bridge.check(run)
    links = [link for seen in bridge.gateway.seen.entries.values() for link in seen.links]
    reports = [detail for link in links for _, detail in link.reports]
    assert not any(SECRET.decode() in detail for detail in reports)
