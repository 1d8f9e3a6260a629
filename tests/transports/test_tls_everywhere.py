"""TLS on each carriage of the network alike: who speaks an old one, is somebody else, or shows no
certificate does not get in."""

from __future__ import annotations

import ssl
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trio
from cryptography import x509

from fleetgate.transports.address import parse_address
from fleetgate.transports.api import DialFailed, DialRefused, Link, LinkError, Options, TlsFiles
from fleetgate.transports.grpc_testing import talking
from fleetgate.transports.open import open_dialer, open_listener
from fleetgate.transports.testing import open_link_pair

SCHEMES = ["tls", "wss", "grpcs"]


def options(scheme: str, files: TlsFiles) -> Options:
    made = talking() if scheme == "grpcs" else Options(framing="varint")
    return attrs.evolve(made, tls=files)


async def echo(link: Link) -> None:
    async for frame in link:
        await link.send(frame)


@asynccontextmanager
async def serving(
    scheme: str, files: TlsFiles, reports: list[str] | None = None
) -> AsyncIterator[str]:
    address = f"{scheme}://127.0.0.1:0"
    said = [] if reports is None else reports
    made = attrs.evolve(
        options(scheme, files), report=lambda _what, reason: said.append(str(reason))
    )
    async with open_listener(address, made) as listener, trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, echo)
        yield listener.addresses[0]
        nursery.cancel_scope.cancel()


class Told(list[str]):
    """Reports, and the moment of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.came = trio.Event()

    def append(self, item: str) -> None:
        super().append(item)
        self.came.set()


async def gets_in(url: str, scheme: str, files: TlsFiles) -> bool:
    """Whether who dials so is heard."""
    async with open_dialer(url, options(scheme, files)) as dialer:
        try:
            async with await dialer.dial() as link:
                await link.send(b"let me in")
                return await link.receive() == b"let me in"
        except (LinkError, trio.EndOfChannel):
            return False


def speaking(version: ssl.TLSVersion, ca: str) -> ssl.SSLContext:
    """A client of one version only, however old."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(ca)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.set_alpn_protocols(["h2"])
    bound(context, version)
    return context


def bound(context: ssl.SSLContext, version: ssl.TLSVersion) -> None:
    with warnings.catch_warnings(category=DeprecationWarning, action="ignore"):
        context.minimum_version = context.maximum_version = version


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("version", "spoken"),
    [
        (ssl.TLSVersion.TLSv1_1, False),
        (ssl.TLSVersion.TLSv1_2, True),
        (ssl.TLSVersion.TLSv1_3, True),
    ],
)
async def test_a_listener_speaks_1_2_and_nothing_older(
    certificates, scheme: str, version: ssl.TLSVersion, spoken: bool
) -> None:
    context = speaking(version, certificates.ca)
    reports: list[str] = []
    async with serving(scheme, certificates.listening(), reports) as url:
        bare = await trio.open_tcp_stream("127.0.0.1", parse_address(url).port)
        stream = trio.SSLStream(bare, context, server_hostname="localhost")
        try:
            await stream.do_handshake()
        except trio.BrokenResourceError:
            shaken = False
        else:
            shaken = True
        await trio.aclose_forcefully(stream)
        assert shaken is spoken
        assert await gets_in(url, scheme, certificates.dialling())
    old = [reason for reason in reports if "UNSUPPORTED" in reason.upper()]
    assert bool(old) is not spoken, reports


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_a_dialler_speaks_nothing_older_either(certificates, scheme: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server.certificate, certificates.server.key)
    context.set_ciphers("ALL:@SECLEVEL=0")
    bound(context, ssl.TLSVersion.TLSv1_1)
    told: list[str] = []

    async def serve(stream: trio.SocketStream) -> None:
        secure = trio.SSLStream(stream, context, server_side=True)
        try:
            await secure.do_handshake()
            told.append("let in")
        except trio.BrokenResourceError as error:
            told.append(str(error.__cause__))

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, serve, listeners)
        made = options(scheme, certificates.dialling())
        async with open_dialer(f"{scheme}://127.0.0.1:{port}", made) as dialer:
            with pytest.raises((DialFailed, DialRefused)):
                await dialer.dial()
        nursery.cancel_scope.cancel()
    assert len(told) <= 1
    assert "let in" not in told


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_a_server_of_another_name_or_authority_is_not_talked_to(
    certificates, strangers, scheme: str
) -> None:
    async with serving(scheme, certificates.listening()) as url:
        assert await gets_in(url, scheme, certificates.dialling())
        assert not await gets_in(url, scheme, strangers.dialling())
        elsewhere = url.replace("127.0.0.1", "[::ffff:127.0.0.1]")
        assert not await gets_in(elsewhere, scheme, certificates.dialling())


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_who_shows_no_certificate_or_a_strangers_is_not_heard(
    certificates, strangers, scheme: str
) -> None:
    stranger = attrs.evolve(strangers.client, ca=certificates.ca)
    async with serving(scheme, certificates.listening(mutual=True)) as url:
        assert not await gets_in(url, scheme, certificates.dialling())
        assert not await gets_in(url, scheme, stranger)
        assert await gets_in(url, scheme, certificates.dialling(mutual=True))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_who_is_refused_is_told_why(
    certificates, scheme: str, version: ssl.TLSVersion
) -> None:
    """Else it is a connection that was cut, and a certificate that expired is tried for ever."""
    async with serving(scheme, certificates.listening(mutual=True)) as url:
        bare = await trio.open_tcp_stream("127.0.0.1", parse_address(url).port)
        context = speaking(version, certificates.ca)
        async with bare:
            stream = trio.SSLStream(bare, context, server_hostname="localhost")
            with pytest.raises(trio.BrokenResourceError) as caught:
                await stream.receive_some()  # behind the handshake, as far as TLS 1.3 has one
    cause = caught.value.__cause__
    assert isinstance(cause, ssl.SSLError)
    assert "ALERT" in str(cause.reason)


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_a_listener_is_told_why_it_is_not_trusted(
    certificates, strangers, scheme: str
) -> None:
    reports = Told()
    async with serving(scheme, certificates.listening(), reports) as url:
        assert not await gets_in(url, scheme, strangers.dialling())
        await reports.came.wait()
    assert "alert unknown ca" in reports[0].lower().replace("_", " ")


def end_of(file: str) -> float:
    certificate = x509.load_pem_x509_certificate(Path(file).read_bytes())
    return certificate.not_valid_after_utc.timestamp()


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_a_listener_knows_when_a_peers_certificate_ends(certificates, scheme: str) -> None:
    listening = options(scheme, certificates.listening(mutual=True))
    dialling = options(scheme, certificates.dialling(mutual=True))
    ends = end_of(certificates.client.certificate)
    address = f"{scheme}://127.0.0.1:0"
    async with open_link_pair(address, listening, dialling) as (_near, far):
        assert far.opening.expires == ends
        assert far.opening.identities[0] == "node-7"
