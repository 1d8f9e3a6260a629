from __future__ import annotations

import sys

import pytest

from fleetgate.transports.address import FORMS, Address
from fleetgate.transports.api import (
    AddressError,
    Dialer,
    GrpcMethod,
    GrpcOptions,
    Listener,
    Options,
    TlsFiles,
)
from fleetgate.transports.open import check_address, open_dialer, open_listener

ADDRESSES = {
    "unix": "unix:/run/gw/s",
    "tcp": "tcp://127.0.0.1:7000",
    "tls": "tls://127.0.0.1:7000",
    "ws": "ws://127.0.0.1:7000/agent",
    "wss": "wss://127.0.0.1:7000/agent",
    "grpc": "grpc://127.0.0.1:7000",
    "grpcs": "grpcs://127.0.0.1:7000",
    "stdio": "stdio:",
    "memory": "memory:gw",
}
USE = GrpcOptions(calls={"/a.B/C": GrpcMethod()}, dial="/a.B/C")


@pytest.mark.parametrize("scheme", FORMS)
async def test_every_scheme_can_be_dialled(scheme: str) -> None:
    async with open_dialer(ADDRESSES[scheme], Options(grpc=USE)) as dialer:
        assert isinstance(dialer, Dialer)
        assert dialer.address == ADDRESSES[scheme]


@pytest.mark.parametrize("scheme", FORMS)
async def test_every_scheme_can_be_listened_at(scheme: str, folder, certificates) -> None:
    address = f"unix:{folder}/s" if scheme == "unix" else ADDRESSES[scheme].replace("7000", "0")
    tls = certificates.listening() if scheme in ("tls", "wss", "grpcs") else None
    async with open_listener(address, Options(tls=tls, grpc=USE)) as listener:
        assert isinstance(listener, Listener)
        assert listener.addresses[0].startswith(f"{scheme}:")
        assert ":0" not in listener.addresses[0]


@pytest.mark.parametrize(
    ("address", "options", "listener", "words"),
    [
        ("http://h:1/", Options(), True, "is no address"),
        ("tcp://h:1", Options(limit=0), True, "at least 1 byte"),
        ("tcp://h:1", Options(framing="ndjson"), True, "no framing 'ndjson'"),
        ("unix:/" + "x" * 107, Options(), False, "at most 107"),
        ("tcp://h:0", Options(), False, "port 0 is for listening"),
        ("ws://h:1/a?x=1", Options(), True, "has no query"),
        ("tls://h:1", Options(), True, "needs a certificate and a key"),
        ("wss://h:1/", Options(), True, "needs a certificate and a key"),
        ("ws://h:1/", Options(tls=TlsFiles()), True, "use wss://"),
        ("tcp://h:1", Options(tls=TlsFiles()), False, "use tls://"),
        ("grpc://h:1", Options(), True, "is not carried over grpc:"),
        ("tcp://h:1", Options(framing=""), True, "is not carried over tcp:"),
        ("grpc://h:1", Options(grpc=GrpcOptions()), True, "no method to serve"),
        ("grpc://h:1", Options(grpc=GrpcOptions()), False, "'' is no method of gRPC"),
        ("grpc://h:1", Options(grpc=GrpcOptions({"a/b": GrpcMethod()})), True, "/package.Serv"),
        ("grpcs://h:1", Options(grpc=USE), True, "needs a certificate and a key"),
        ("grpc://h:1", Options(grpc=USE, tls=TlsFiles()), False, "use grpcs://"),
        ("grpc://h:0", Options(grpc=USE), False, "port 0 is for listening"),
        ("tls://h:1", Options(tls=TlsFiles(ca="/absent.pem")), False, "/absent.pem cannot be read"),
    ],
)
def test_nonsense_is_refused_before_anything_is_touched(
    address: str, options: Options, listener: bool, words: str
) -> None:
    with pytest.raises(AddressError, match=words):
        check_address(address, options, listener)
    with pytest.raises(AddressError, match=words):
        (open_listener if listener else open_dialer)(address, options)


def test_what_makes_sense_is_taken_apart() -> None:
    assert check_address("ws://h:1/a?x=1", Options(framing="none"), False) == Address(
        "ws", "h", 1, "/a?x=1"
    )
    assert check_address("tcp://h:0", Options(), True).port == 0


def test_where_grpc_cannot_be_imported_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """trio-asyncio knows no Python above 3.13 so far; all else runs there."""
    import fleetgate.transports

    monkeypatch.delattr(fleetgate.transports, "grpc", raising=False)
    monkeypatch.setitem(sys.modules, "fleetgate.transports.grpc", None)
    with pytest.raises(AddressError, match="gRPC cannot be used on Python 3"):
        check_address("grpc://h:1", Options(grpc=USE), False)
    assert check_address("ws://h:1", Options(grpc=USE), False)
