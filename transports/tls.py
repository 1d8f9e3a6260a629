"""TLS: contexts from PEM files, verified names, and links at `tls://HOST:PORT`."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeAlias, cast

import attrs
import trio

from fleetgate.transports.address import Address
from fleetgate.transports.api import (
    AddressError,
    Dialer,
    DialFailed,
    DialRefused,
    Link,
    LinkBroken,
    Listener,
    Opening,
    Options,
    TlsFiles,
)
from fleetgate.transports.framing import make_framer
from fleetgate.transports.renewal import Renewal
from fleetgate.transports.stream import StreamLink, lost
from fleetgate.transports.tcp import bind, connect, peer_of, reason, within_deadline

_MISMATCH: Final = "KEY_VALUES_MISMATCH"
_IGNORE_CUTS: Final = getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)


def client_context(files: TlsFiles | None) -> ssl.SSLContext:
    """For a dialler: TLS 1.2 at least, the peer's certificate and name are verified.

    Raises: `AddressError`, which names the file and what is wrong with it.
    """
    files = files or TlsFiles()
    context = _context(ssl.PROTOCOL_TLS_CLIENT)
    if files.ca is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        _load_ca(context, files.ca)
    if files.certificate is not None or files.key is not None:
        _load_pair(context, files)
    return context


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """For a listener: TLS 1.2 at least; with `ca` every client must show a certificate of it.

    Raises: `AddressError`, which names the file and what is wrong with it.
    """
    context = _context(ssl.PROTOCOL_TLS_SERVER)
    _load_pair(context, files)
    if files.ca is not None:
        _load_ca(context, files.ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _context(kind: int) -> ssl.SSLContext:
    context = ssl.SSLContext(kind)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Python 3.11.0 to 3.11.2 set it with OpenSSL 3, and then take a cut for an orderly end.
    context.options &= ~_IGNORE_CUTS
    return context


def check_tls_files(files: TlsFiles, listener: bool) -> None:
    """Whether the files can be read and fit together. Raises: `AddressError`."""
    if listener:
        server_context(files)
    else:
        client_context(files)


def _load_pair(context: ssl.SSLContext, files: TlsFiles) -> None:
    if files.certificate is None or files.key is None:
        missing = "certificate" if files.certificate is None else "key"
        raise AddressError(f"the TLS {missing} is missing: certificate and key go together")
    _readable(files.certificate, "certificate")
    _readable(files.key, "key")
    try:
        context.load_cert_chain(files.certificate, files.key, password=_no_password(files.key))
    except ssl.SSLError as error:
        if error.reason == _MISMATCH:
            raise AddressError(
                f"the TLS key {files.key} does not belong to the certificate {files.certificate}"
            ) from None
        culprit = _unparsable(files.certificate, files.key)
        raise AddressError(f"the TLS {culprit} is no usable PEM file") from None


def _no_password(key: str) -> Any:
    def refuse() -> str:
        # Else OpenSSL would ask at the terminal, and a service would stand there for ever.
        raise AddressError(f"the TLS key {key} is encrypted: give one without a passphrase")

    return refuse


def _unparsable(certificate: str, key: str) -> str:
    """Which of the two it is."""
    try:
        # As a list of roots any readable certificate does.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(certificate)
    except ssl.SSLError:
        return f"certificate {certificate}"
    return f"key {key}"


def _load_ca(context: ssl.SSLContext, ca: str) -> None:
    _readable(ca, "ca")
    try:
        context.load_verify_locations(ca)
    except ssl.SSLError:
        raise AddressError(f"the TLS ca {ca} holds no certificate in PEM form") from None


def _readable(path: str, what: str) -> None:
    try:
        with open(path, "rb"):
            return
    except OSError as error:
        raise AddressError(f"the TLS {what} {path} cannot be read: {error.strerror}") from None


def identities(peer: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The verified names of a peer: its certificate's CN, then DNS names, URIs and IP addresses.
    `peer` is what `getpeercert()` gives, which is empty where nothing was verified."""
    if not peer:
        return ()
    names = [
        value
        for relative in peer.get("subject", ())
        for kind, value in relative
        if kind == "commonName"
    ]
    names += [
        value
        for kind, value in peer.get("subjectAltName", ())
        if kind in ("DNS", "URI", "IP Address")
    ]
    return tuple(dict.fromkeys(names))


def expiry(peer: Mapping[str, Any] | None) -> float | None:
    """When a verified peer's certificate ends, in Unix seconds; None where nothing was verified."""
    ends = peer.get("notAfter") if peer else None
    return None if ends is None else float(ssl.cert_time_to_seconds(ends))


def start_of(peer: Mapping[str, Any]) -> float | None:
    """When a certificate begins to hold, in Unix seconds."""
    begins = peer.get("notBefore")
    return None if begins is None else float(ssl.cert_time_to_seconds(begins))


def verified_names(peer: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that a dialler compares with what it has dialled: DNS names and IP addresses. A
    common name is none of them."""
    names = peer.get("subjectAltName", ())
    return tuple(value for kind, value in names if kind in ("DNS", "IP Address"))


def own_certificate(path: str) -> Mapping[str, Any] | None:
    """The first certificate of a PEM file, as `getpeercert()` gives a peer's; None where there is
    none that can be read."""
    try:
        # The only reader of a certificate in the standard library that trusts nothing and nobody.
        found: Mapping[str, Any] = cast(Any, ssl)._ssl._test_decode_cert(path)
    except (OSError, ssl.SSLError):
        return None
    return found


SecureStream: TypeAlias = trio.SSLStream[trio.SocketStream]


async def accept_tls(
    stream: trio.SocketStream, context: ssl.SSLContext, *, web: bool = False
) -> SecureStream:
    """The listener's half of the handshake. `web`: the stream may end without TLS's own goodbye,
    as HTTP's do; whoever uses it has another way to tell a cut from an end.

    Raises: `LinkBroken`.
    """
    secure = trio.SSLStream(stream, context, server_side=True, https_compatible=web)
    try:
        await secure.do_handshake()
    except trio.BrokenResourceError as error:
        await _say_why(secure)
        raise LinkBroken(f"no TLS handshake: {tls_reason(error)}") from error
    return secure


async def _say_why(secure: SecureStream) -> None:
    """Send the alert with which a handshake fails. trio leaves it where OpenSSL has put it, and the
    peer, whose certificate may have expired, would see no more than a connection that is cut."""
    if alert := secure._outgoing.read():  # pyright: ignore[reportPrivateUsage]
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await secure.transport_stream.send_all(alert)


class TellingContext:
    """A context for whoever makes a handshake with `wrap_bio` and drops what OpenSSL has to say at
    its failure, as asyncio does. `tell` is given the alert then; it must not raise."""

    def __init__(self, context: ssl.SSLContext, tell: Callable[[bytes], None]) -> None:
        context.sslobject_class = _TellingObject
        self._context = context
        self._tell = tell

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
    ) -> ssl.SSLObject:
        """As of `ssl.SSLContext`."""
        made = self._context.wrap_bio(incoming, outgoing, server_side, server_hostname)
        assert isinstance(made, _TellingObject)
        made.failed = lambda: self._tell(outgoing.read())
        return made


class _TellingObject(ssl.SSLObject):
    failed: Callable[[], None]

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError:
            self.failed()
            raise


async def dial_tls(address: Address, context: ssl.SSLContext, *, web: bool = False) -> SecureStream:
    """A connection whose peer is verified. Raises: `DialFailed`, `DialRefused`."""
    stream = await connect(address)
    secure = trio.SSLStream(stream, context, server_hostname=address.host, https_compatible=web)
    try:
        await secure.do_handshake()
    except trio.BrokenResourceError as error:
        await _say_why(secure)
        await trio.aclose_forcefully(stream)
        text = f"no TLS handshake with {address}: {tls_reason(error)}"
        if isinstance(error.__cause__, ssl.SSLCertVerificationError):
            raise DialRefused(text) from error
        raise DialFailed(text) from error
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return secure


def tls_reason(error: BaseException) -> str:
    """What OpenSSL found, in words."""
    cause = error.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the certificate does not hold: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError) and cause.reason:
        return cause.reason.lower().replace("_", " ")
    return lost(error)


def found(error: OSError) -> str:
    """The same, of an error that stands for itself."""
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    return reason(error) or type(error).__name__


def described(secure: SecureStream, opening: Opening) -> Opening:
    """The opening with what the peer's certificate says."""
    peer = secure.getpeercert()
    return attrs.evolve(opening, identities=identities(peer), expires=expiry(peer))


def _make_link(secure: SecureStream, options: Options) -> Link:
    return StreamLink(
        secure,
        make_framer(options.framing, options.limit),
        described(secure, Opening(peer=peer_of(secure.transport_stream))),
        close_timeout=options.close_timeout,
    )


class TlsDialer(Dialer):
    """Reaches a TLS port. The files are read at each dial, so that a renewed certificate counts
    without a restart."""

    def __init__(self, address: Address, options: Options) -> None:
        self.address = str(address)
        self._target = address
        self._options = options

    async def dial(self) -> Link:
        context = dialling_context(self._options)
        with within_deadline(self._target, self._options):
            return _make_link(await dial_tls(self._target, context), self._options)


def dialling_context(options: Options) -> ssl.SSLContext:
    """The context for one dial. Raises: `DialFailed` where a file has gone bad meanwhile."""
    try:
        return client_context(options.tls)
    except AddressError as error:
        raise DialFailed(str(error)) from error


@asynccontextmanager
async def open_tls_listener(address: Address, options: Options) -> AsyncGenerator[Listener, None]:
    """Bind the port until the end of the block. The files are read here, and again at the next
    handshake when one of them has changed (`Renewal`).

    Raises: `AddressError`, `ListenFailed`.
    """
    renewal = Renewal(options, server_context)

    async def greet(stream: trio.SocketStream, nursery: trio.Nursery) -> Link:
        return _make_link(await accept_tls(stream, renewal.context()), options)

    async with bind(address, options, greet) as listener:
        yield listener
