"""Both ends ours, over loopback sockets."""

from __future__ import annotations

import attrs

from fleetgate.transports.api import GrpcMethod, GrpcOptions, Options
from fleetgate.transports.testing import LinkTraits, check_link, open_link_pair

HERE = "grpc://127.0.0.1:0"
SECURE = "grpcs://127.0.0.1:0"
CONNECT = "/iop.NodeLink/Connect"
USE = GrpcOptions(calls={CONNECT: GrpcMethod()}, dial=CONNECT)
OPTIONS = Options(grpc=USE, close_timeout=0.2)


async def test_it_is_a_link() -> None:
    await check_link(lambda: open_link_pair(HERE, OPTIONS), LinkTraits())


async def test_it_is_a_link_over_tls(certificates) -> None:
    listening = attrs.evolve(OPTIONS, tls=certificates.listening(mutual=True))
    dialling = attrs.evolve(OPTIONS, tls=certificates.dialling(mutual=True))
    await check_link(lambda: open_link_pair(SECURE, listening, dialling), LinkTraits())
    async with open_link_pair(SECURE, listening, dialling) as (near, far):
        assert far.opening.identities[0] == "node-7"
        assert near.opening.identities[0] == "gateway"
