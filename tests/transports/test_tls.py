from __future__ import annotations

import os
import shutil
import ssl
from pathlib import Path

import attrs
import pytest
import trio
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from trio.testing import MockClock

from fleetgate.transports.address import parse_address
from fleetgate.transports.api import (
    AddressError,
    DialFailed,
    DialRefused,
    Link,
    LinkBroken,
    Options,
    TlsFiles,
)
from fleetgate.transports.open import open_dialer, open_listener
from fleetgate.transports.tcp import connect
from fleetgate.transports.testing import LinkTraits, check_link, open_link_pair
from fleetgate.transports.tls import (
    check_tls_files,
    client_context,
    identities,
    server_context,
)

HERE = "tls://127.0.0.1:0"


def options(files: TlsFiles | None, **more: float) -> Options:
    return Options(framing="kind", tls=files, **more)  # type: ignore[arg-type]


async def test_it_is_a_link(certificates) -> None:
    def make_pair():
        return open_link_pair(
            HERE,
            options(certificates.listening(), close_timeout=0.5),
            options(certificates.dialling(), close_timeout=0.5),
        )

    await check_link(make_pair, LinkTraits(lead=b"\x00"))


async def test_a_verified_peer_is_known_by_its_names(certificates) -> None:
    pair = open_link_pair(
        HERE,
        options(certificates.listening(mutual=True)),
        options(certificates.dialling(mutual=True)),
    )
    async with pair as (near, far):
        assert set(far.opening.identities) == {"node-7", "node-7.example", "10.0.0.7"}
        assert far.opening.identities[0] == "node-7"
        assert set(near.opening.identities) == {"gateway", "127.0.0.1", "localhost"}
    pair = open_link_pair(
        HERE, options(certificates.listening()), options(certificates.dialling(mutual=True))
    )
    async with pair as (_near, far):
        assert far.opening.identities == (), "a certificate that nobody verified names nobody"


def test_names_are_cn_then_sans_without_repeats() -> None:
    peer = {
        "subject": ((("countryName", "XX"),), (("commonName", "a.example"),)),
        "subjectAltName": (
            ("DNS", "a.example"),
            ("DNS", "b.example"),
            ("URI", "spiffe://x/y"),
            ("IP Address", "10.0.0.1"),
            ("email", "a@b"),
        ),
    }
    assert identities(peer) == ("a.example", "b.example", "spiffe://x/y", "10.0.0.1")
    assert identities({}) == identities(None) == ()


async def serve_echo(link: Link) -> None:
    async for frame in link:
        await link.send(frame)


async def test_a_peer_is_verified_by_authority_and_name(certificates, strangers) -> None:
    async with (
        open_listener(HERE, options(certificates.listening())) as listener,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(listener.serve, serve_echo)
        (url,) = listener.addresses
        async with open_dialer(url, options(strangers.dialling())) as dialer:
            with pytest.raises(DialRefused, match="the certificate does not hold") as caught:
                await dialer.dial()
            assert caught.value.final is False
        port = parse_address(url).port
        async with open_dialer(
            f"tls://[::ffff:127.0.0.1]:{port}", options(certificates.dialling())
        ) as dialer:
            with pytest.raises(DialRefused, match=r"does not hold: .*mismatch"):
                await dialer.dial()
        nursery.cancel_scope.cancel()


async def test_a_listener_with_a_ca_wants_a_certificate_of_it(certificates, strangers) -> None:
    bad = (
        certificates.dialling(),
        attrs.evolve(strangers.client, ca=certificates.ca),
    )
    reported: list[str] = []
    listening = attrs.evolve(
        options(certificates.listening(mutual=True)),
        report=lambda what, reason: reported.append(f"{what}: {reason}"),
    )
    async with open_listener(HERE, listening) as listener, trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, serve_echo)
        for files in bad:
            async with open_dialer(listener.addresses[0], options(files)) as dialer:
                # TLS 1.3 tells a client of the refusal only after its own handshake is over.
                link = await dialer.dial()
                with pytest.raises(LinkBroken):
                    await link.receive()
                await link.close(None)
        good = options(certificates.dialling(mutual=True))
        async with open_dialer(listener.addresses[0], good) as dialer:
            link = await dialer.dial()
            await link.send(b"\x00a")
            assert await link.receive() == b"\x00a"
            await link.aclose()
        nursery.cancel_scope.cancel()
    assert len(reported) == 2
    assert all(line.startswith("handshake_failed: no TLS handshake: ") for line in reported)
    assert "peer did not return a certificate" in reported[0]
    assert "the certificate does not hold" in reported[1]


async def test_junk_and_a_silent_caller_are_survived(certificates, mock_clock: MockClock) -> None:
    """Time goes by only where nothing is under way: a handshake has it on any busy machine."""
    reported: list[str] = []
    listening = attrs.evolve(
        options(certificates.listening()),
        report=lambda what, reason: reported.append(what),
    )
    async with open_listener(HERE, listening) as listener, trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, serve_echo)
        address = parse_address(listener.addresses[0])
        for junk in (b"GET / HTTP/1.1\r\n\r\n", b""):
            async with await connect(address) as stream:
                if junk:
                    await stream.send_all(junk)
                else:
                    await trio.testing.wait_all_tasks_blocked(0.01)
                    mock_clock.jump(listening.handshake_timeout)
                while await stream.receive_some():
                    pass
        async with open_dialer(str(address), options(certificates.dialling())) as dialer:
            link = await dialer.dial()
            await link.send(b"\x00a")
            assert await link.receive() == b"\x00a"
            await link.aclose()
        nursery.cancel_scope.cancel()
    assert reported == ["handshake_failed"] * 2


async def test_a_server_that_speaks_no_tls_or_nothing(certificates) -> None:
    answers = [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""]

    async def answer(stream: trio.SocketStream) -> None:
        said = answers.pop(0)
        await stream.receive_some()
        if not said:
            await trio.sleep_forever()
        await stream.send_all(said)

    async with trio.open_nursery() as nursery:
        (bound,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, answer, [bound])
        url = f"tls://127.0.0.1:{bound.socket.getsockname()[1]}"
        async with open_dialer(url, options(certificates.dialling())) as dialer:
            with pytest.raises(DialFailed, match=r"no TLS handshake with .*wrong version"):
                await dialer.dial()
        hasty = options(certificates.dialling(), handshake_timeout=0.1)
        async with open_dialer(url, hasty) as dialer:
            with pytest.raises(DialFailed, match=r"did not answer within 0.1 s"):
                await dialer.dial()
        nursery.cancel_scope.cancel()


async def test_an_end_without_tlss_goodbye_is_no_orderly_end(certificates) -> None:
    """Else whoever can cut the connection could make a cut look like an end."""
    pair = open_link_pair(HERE, options(certificates.listening()), options(certificates.dialling()))
    async with pair as (near, far):
        await far.close(None)
        with pytest.raises(LinkBroken):
            await near.receive()


def test_a_cut_is_no_end_whatever_python_sets(certificates) -> None:
    """Python 3.11.0 to 3.11.2 set it, others do not, and both must read a cut the same."""
    ignores = getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    for context in (
        client_context(certificates.dialling()),
        server_context(certificates.listening()),
    ):
        assert not context.options & ignores


def test_tls_1_2_at_least(certificates) -> None:
    for context in (
        client_context(certificates.dialling()),
        server_context(certificates.listening()),
    ):
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert client_context(None).check_hostname
    assert client_context(None).verify_mode is ssl.CERT_REQUIRED
    assert server_context(certificates.listening()).verify_mode is ssl.CERT_NONE
    assert server_context(certificates.listening(mutual=True)).verify_mode is ssl.CERT_REQUIRED


def test_files_that_are_good(certificates) -> None:
    check_tls_files(certificates.listening(mutual=True), listener=True)
    check_tls_files(certificates.dialling(mutual=True), listener=False)
    check_tls_files(TlsFiles(), listener=False)


def test_what_is_wrong_with_a_file_is_said_by_name(certificates, strangers, tmp_path: Path) -> None:
    good, other = certificates.server, strangers.server
    empty = tmp_path / "empty.pem"
    empty.write_text("no PEM\n")
    locked = tmp_path / "locked.key"
    locked.write_bytes(
        load_pem_private_key(Path(good.key).read_bytes(), None).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
        )
    )
    absent, junk = str(tmp_path / "absent.pem"), str(empty)
    cases = [
        (TlsFiles(), "the TLS certificate is missing"),
        (TlsFiles(good.certificate), "the TLS key is missing"),
        (TlsFiles(absent, good.key), f"certificate {absent} cannot be read: No such file"),
        (TlsFiles(good.certificate, absent), f"key {absent} cannot be read: No such file"),
        (TlsFiles(str(tmp_path), good.key), f"certificate {tmp_path} cannot be read: Is a dir"),
        (TlsFiles(junk, good.key), f"certificate {junk} is no usable PEM file"),
        (TlsFiles(good.certificate, junk), f"key {junk} is no usable PEM file"),
        (
            TlsFiles(good.certificate, other.key),
            f"key {other.key} does not belong to the certificate {good.certificate}",
        ),
        (TlsFiles(good.certificate, str(locked)), f"key {locked} is encrypted"),
        (attrs.evolve(good, ca=absent), f"ca {absent} cannot be read"),
        (attrs.evolve(good, ca=junk), f"ca {junk} holds no certificate"),
    ]
    for files, words in cases:
        with pytest.raises(AddressError) as caught:
            check_tls_files(files, listener=True)
        assert words in str(caught.value)


async def test_a_file_that_went_bad_is_found_at_the_next_dial(certificates, tmp_path: Path) -> None:
    root = Path(shutil.copy(certificates.ca, tmp_path))
    async with open_dialer("tls://127.0.0.1:1", options(TlsFiles(ca=str(root)))) as dialer:
        os.unlink(root)
        with pytest.raises(DialFailed, match="cannot be read"):
            await dialer.dial()
