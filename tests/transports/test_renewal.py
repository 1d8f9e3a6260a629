"""A certificate that is renewed under a listener."""

from __future__ import annotations

import os
import shutil
import ssl
from pathlib import Path

import attrs
import pytest
import trio

from fleetgate.transports.api import (
    AddressError,
    DialRefused,
    GrpcMethod,
    GrpcOptions,
    Link,
    Options,
    TlsFiles,
)
from fleetgate.transports.open import open_dialer, open_listener
from fleetgate.transports.renewal import Renewal
from fleetgate.transports.tls import server_context


def _place(files: TlsFiles, folder: Path) -> None:
    """Put a certificate and its key where a listener finds them, each in one step."""
    for source, name in ((files.certificate, "c.pem"), (files.key, "k.pem")):
        shutil.copy(str(source), folder / "new")
        os.replace(folder / "new", folder / name)


@pytest.fixture
def used(certificates, tmp_path: Path) -> TlsFiles:
    _place(certificates.server, tmp_path)
    return TlsFiles(str(tmp_path / "c.pem"), str(tmp_path / "k.pem"))


async def _echo(link: Link) -> None:
    async for frame in link:
        await link.send(frame)


@pytest.mark.parametrize("scheme", ["tls", "wss", "grpcs"])
async def test_the_next_handshake_meets_it_and_links_go_on(
    scheme: str, used: TlsFiles, certificates, strangers, tmp_path: Path
) -> None:
    use = GrpcOptions({"/a.B/C": GrpcMethod()}, "/a.B/C")
    common = Options(framing="kind", grpc=use)
    path = "/" if scheme == "wss" else ""
    async with (
        open_listener(f"{scheme}://127.0.0.1:0{path}", attrs.evolve(common, tls=used)) as listener,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(listener.serve, _echo)
        (url,) = listener.addresses
        old = attrs.evolve(common, tls=certificates.dialling())
        new = attrs.evolve(common, tls=strangers.dialling())
        async with open_dialer(url, old) as dialer, open_dialer(url, new) as later:
            link = await dialer.dial()
            _place(strangers.server, tmp_path)
            with pytest.raises(DialRefused, match="the certificate does not hold"):
                await dialer.dial()
            async with await later.dial() as renewed:
                await renewed.send(b"\0new")
                assert await renewed.receive() == b"\0new"
            await link.send(b"\0old")
            assert await link.receive() == b"\0old"
            await link.close(1000)
        nursery.cancel_scope.cancel()


def test_until_they_fit_again_the_last_good_ones_hold(
    used: TlsFiles, strangers, tmp_path: Path
) -> None:
    reports: list[tuple[str, str]] = []
    options = Options(tls=used, report=lambda what, why: reports.append((what, str(why))))
    renewal = Renewal(options, server_context)
    good = renewal.context()
    assert renewal.context() is good, "nothing is read where nothing has changed"
    shutil.copy(strangers.server.certificate, used.certificate or "")
    assert renewal.context() is renewal.context() is good
    ((what, why),) = reports
    assert what == "certificate_not_renewed"
    assert "does not belong to the certificate" in why
    os.unlink(used.key or "")
    assert renewal.context() is good
    assert "cannot be read" in reports[1][1]
    _place(strangers.server, tmp_path)
    assert isinstance(renewal.context(), ssl.SSLContext)
    assert renewal.context() is not good
    assert len(reports) == 2


def test_nobody_waits_for_the_writer_of_a_pipe(used: TlsFiles) -> None:
    reports: list[str] = []
    options = Options(tls=used, report=lambda _, why: reports.append(str(why)))
    renewal = Renewal(options, server_context)
    good = renewal.context()
    os.unlink(used.key or "")
    os.mkfifo(used.key or "")
    assert renewal.context() is good
    assert reports == [f"{used.key} is not a regular file"]


def test_a_listener_does_not_begin_with_what_does_not_fit(used: TlsFiles, strangers) -> None:
    wrong = attrs.evolve(used, key=strangers.server.key)
    with pytest.raises(AddressError, match="does not belong"):
        Renewal(Options(tls=wrong), server_context)
