"""Links over Unix sockets: `unix:/path`.

Nothing stands between two processes here but the file system: the socket is 0600 and lies in a
directory that is 0700 and ours. An existing directory is never changed to make it so, since
others may be using it; it is refused.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
import struct
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import attrs
import trio

from fleetgate.transports.address import Address
from fleetgate.transports.api import (
    AddressError,
    Dialer,
    DialFailed,
    Link,
    LinkBroken,
    Listener,
    ListenFailed,
    Opening,
    Options,
    PathTooLong,
)
from fleetgate.transports.framing import make_framer
from fleetgate.transports.serving import StreamListener
from fleetgate.transports.stream import StreamLink
from fleetgate.transports.tcp import reason, within_deadline

PATH_LIMIT: Final = 107
"""Bytes of a socket's path: what Linux has in `sockaddr_un`, less the closing zero."""

BACKLOG: Final = 128
"""Connections that wait to be accepted, as the kernel's own default for a listen queue was."""

LOCK_DEADLINE: Final = 5.0
"""Seconds to wait for another process of ours that binds in the same directory just now."""

LOCK_RETRY: Final = 0.01
"""Seconds between two tries: binding takes well under one."""


def check_path(path: str) -> None:
    """Raises: `AddressError` where the path cannot be a socket's."""
    size = len(os.fsencode(path))
    if size > PATH_LIMIT:
        raise PathTooLong(
            f"the socket path {path} has {size} bytes and a socket's path at most {PATH_LIMIT}: "
            "choose a shorter one"
        )
    if path.endswith("/"):
        raise AddressError(f"the socket path {path} names a directory: wanted unix:/path/to/socket")


def check_directory(path: str) -> None:
    """Raises: `AddressError` where a socket that is to be bound has a directory that is not ours
    alone. A missing one is made later."""
    parent = os.path.dirname(path) or "."
    try:
        status = os.stat(parent)
    except OSError:
        return
    if fault := _shared(parent, status):
        raise AddressError(fault)


class UnixDialer(Dialer):
    """Reaches a Unix socket."""

    def __init__(self, address: Address, options: Options) -> None:
        self.address = str(address)
        self._target = address
        self._options = options

    async def dial(self) -> Link:
        with within_deadline(self._target, self._options):
            try:
                stream = await trio.open_unix_socket(self._target.path)
            except OSError as error:
                raise DialFailed(f"{self.address} cannot be reached: {reason(error)}") from error
            return _make_link(stream, self._options)


def _make_link(stream: trio.SocketStream, options: Options) -> Link:
    return StreamLink(
        stream,
        make_framer(options.framing, options.limit),
        Opening(peer=_peer_of(stream)),
        close_timeout=options.close_timeout,
        linger=True,
    )


def _credentials(stream: trio.SocketStream) -> tuple[int, int] | None:
    """The process and the user that connected, as the kernel knows them; None where it is not
    Linux."""
    option: int | None = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    form = struct.Struct("3i")
    raw = stream.socket.getsockopt(socket.SOL_SOCKET, option, form.size)
    pid, uid, _gid = form.unpack(raw)
    return pid, uid


def _peer_of(stream: trio.SocketStream) -> str:
    """Who holds the other end; empty where that cannot be told."""
    known = _credentials(stream)
    return "" if known is None else f"uid={known[1]} pid={known[0]}"


def stranger_at(stream: trio.SocketStream) -> str | None:
    """Why whoever connected to a socket of ours is not let in: it is of another user, and not
    root. None where it is ours, or the kernel does not tell: the socket's mode has kept others out
    as well, but a mode can be changed under us, and a socket handed on."""
    known = _credentials(stream)
    if known is None or known[1] in (os.geteuid(), 0):
        return None
    return f"the peer is of the user {known[1]}, and this socket of {os.geteuid()}"


@asynccontextmanager
async def open_unix_listener(address: Address, options: Options) -> AsyncGenerator[Listener, None]:
    """Bind the path until the end of the block; then remove the socket, if it still is ours.

    Raises: `ListenFailed`. Nothing was changed then, but that a missing parent directory may
    have been made, and a stale socket removed.
    """
    bound = await _bind(address.path)

    async def greet(stream: trio.SocketStream, nursery: trio.Nursery) -> Link:
        if (why := stranger_at(stream)) is not None:
            raise LinkBroken(why)
        return _make_link(stream, options)

    sockets = [trio.SocketListener(trio.socket.from_stdlib_socket(bound.socket))]
    listener = UnixListener(sockets, (str(address),), options, greet)
    listener.bound = bound
    try:
        yield listener
    finally:
        await listener.aclose()


class UnixListener(StreamListener):
    """Also removes its socket from the file system."""

    bound: _Bound

    async def aclose(self) -> None:
        self.bound.remove()
        await super().aclose()


@attrs.frozen(slots=True)
class _Bound:
    path: str
    socket: socket.socket
    inode: tuple[int, int]

    def remove(self) -> None:
        """Unlink the socket, unless another has taken its place since."""
        try:
            if _inode(os.lstat(self.path)) == self.inode:
                os.unlink(self.path)
        except FileNotFoundError:
            return


def _inode(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


async def _bind(path: str) -> _Bound:
    parent = _private_directory(path)
    deadline = trio.current_time() + LOCK_DEADLINE
    with _opened(parent) as directory:
        while not _locked(directory):
            if trio.current_time() > deadline:
                raise ListenFailed(
                    f"cannot listen at {path}: another process holds a lock on {parent}; "
                    "find it with fuser, or choose another directory"
                )
            await trio.sleep(LOCK_RETRY)
        # From here to the end of the block nothing waits: whoever starts at the same moment finds
        # either no socket or one that answers, and no fresh socket is taken for a stale one.
        _make_way(path)
        return _bind_socket(path)


def _private_directory(path: str) -> str:
    """The directory of the socket: made if there is none, else refused unless it is ours alone."""
    parent = os.path.dirname(path) or "."
    try:
        make_private(Path(parent))
        status = os.stat(parent)
    except OSError as error:
        raise ListenFailed(f"cannot make the directory {parent}: {reason(error)}") from error
    if fault := _shared(parent, status):
        raise ListenFailed(fault)
    return parent


def _shared(parent: str, status: os.stat_result) -> str | None:
    """Why no socket may be put there; None where it may."""
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISDIR(status.st_mode):
        return f"{parent} is no directory: a socket cannot be made in it"
    # No word of chmod: of /tmp or /run it would take what all others need.
    if status.st_uid != os.geteuid():
        fault = f"belongs to uid {status.st_uid}, we are {os.geteuid()}"
    elif mode & 0o077:
        fault = f"has mode {mode:04o} and is open to others"
    else:
        return None
    return (
        f"the directory {parent} {fault}: put the socket in a directory of its own; a missing one "
        "is made with mode 0700"
    )


def make_private(path: Path) -> None:
    """Like `mkdir -p`, with 0700 for every one that is made and none changed that is there.

    Raises: `OSError`.
    """
    if path.is_dir():
        return
    if path.parent != path:
        make_private(path.parent)
    try:
        path.mkdir(0o700)
    except FileExistsError:
        # Made by another at the same moment, or no directory: the caller looks at what it is.
        return


@contextmanager
def _opened(directory: str) -> Generator[int, None, None]:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _locked(directory: int) -> bool:
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _make_way(path: str) -> None:
    """Remove a socket that nobody answers at. Raises: `ListenFailed` for anything else there."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise ListenFailed(f"refusing to replace a non-socket path at {path}")
    answer = _knock(path)
    if answer == errno.ECONNREFUSED:
        os.unlink(path)
    elif answer in (0, errno.EAGAIN):
        # EAGAIN: somebody listens, and has more callers waiting than the queue holds.
        raise ListenFailed(f"another process is already listening at {path}")
    elif answer != errno.ENOENT:
        raise ListenFailed(
            f"refusing to replace the socket at {path}: whether it is in use cannot be told "
            f"({os.strerror(answer)})"
        )


def _knock(path: str) -> int:
    """Connect and leave: 0, or the error number."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        knock.setblocking(False)
        return knock.connect_ex(path)


def _bind_socket(path: str) -> _Bound:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(path)
        # Between bind and chmod the mode is the umask's, but nobody else gets past the directory.
        os.chmod(path, 0o600)
        made.listen(BACKLOG)
        return _Bound(path, made, _inode(os.lstat(path)))
    except OSError as error:
        made.close()
        raise ListenFailed(f"cannot listen at {path}: {reason(error)}") from error


@asynccontextmanager
async def bound_unix_socket(path: str) -> AsyncGenerator[socket.socket, None]:
    """A listening socket at `path`, as `open_unix_listener` binds it, for who carries no frames
    over it. At the end of the block it is closed and removed, if it still is ours.

    Raises: `AddressError`, `ListenFailed`.
    """
    check_path(path)
    bound = await _bind(path)
    try:
        yield bound.socket
    finally:
        bound.remove()
        bound.socket.close()
