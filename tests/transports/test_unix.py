from __future__ import annotations

import fcntl
import os
import socket
import stat
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock

from fleetgate.transports import unix
from fleetgate.transports.api import AddressError, DialFailed, ListenFailed, Options
from fleetgate.transports.open import open_dialer, open_listener
from fleetgate.transports.testing import LinkTraits, check_link, open_link_pair
from fleetgate.transports.unix import (
    BACKLOG,
    LOCK_DEADLINE,
    PATH_LIMIT,
    bound_unix_socket,
    check_directory,
    check_path,
)

OPTIONS = Options(framing="kind")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def share(path: Path) -> None:
    path.chmod(0o755)


def stale(path: Path) -> None:
    """A socket whose owner is gone."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))


async def refused(path: Path) -> str:
    with pytest.raises(ListenFailed) as caught:
        async with open_listener(f"unix:{path}", OPTIONS):
            raise AssertionError("bound")
    return str(caught.value)


async def test_it_is_a_link(folder: Path) -> None:
    short = attrs.evolve(OPTIONS, close_timeout=0.5)  # where closing is waited for in vain
    await check_link(lambda: open_link_pair(f"unix:{folder}/s", short), LinkTraits(lead=b"\x00"))


async def test_the_socket_is_0600_in_a_directory_that_was_made_0700(folder: Path) -> None:
    path = folder / "a" / "b" / "s"
    old = os.umask(0)
    try:
        async with open_listener(f"unix:{path}", OPTIONS) as listener:
            assert listener.addresses == (f"unix:{path}",)
            assert [mode(each) for each in (path, path.parent, path.parent.parent)] == [
                0o600,
                0o700,
                0o700,
            ]
    finally:
        os.umask(old)
    assert not path.exists()
    assert path.parent.is_dir()


@pytest.mark.parametrize("shared", [0o755, 0o770, 0o701, 0o1777])
async def test_a_shared_directory_is_refused_and_not_changed(folder: Path, shared: int) -> None:
    common = folder / "common"
    common.mkdir()
    common.chmod(shared)
    text = await refused(common / "s")
    assert f"has mode {shared:04o} and is open to others" in text
    with pytest.raises(AddressError, match=f"has mode {shared:04o} and is open to others"):
        check_directory(str(common / "s"))
    assert text.endswith(
        "put the socket in a directory of its own; a missing one is made with mode 0700"
    )
    assert "chmod" not in text  # it may be /tmp, or /run and we root: others need it as it is
    assert mode(common) == shared
    assert list(common.iterdir()) == []


async def test_a_directory_of_somebody_else_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert "belongs to uid" in await refused(folder / "s")


async def test_a_file_in_the_place_of_a_directory_is_refused(folder: Path) -> None:
    (folder / "file").write_text("mine")
    assert "is no directory" in await refused(folder / "file" / "s")
    assert "cannot make the directory" in await refused(folder / "file" / "deep" / "s")
    assert (folder / "file").read_text() == "mine"


async def test_a_bare_name_lies_in_the_current_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    async with open_link_pair("unix:bare", OPTIONS) as (near, far):
        await near.send(b"\x00a")
        assert await far.receive() == b"\x00a"
        assert mode(folder / "bare") == 0o600
    share(folder)
    assert "the directory . has mode 0755" in await refused(Path("bare"))


async def test_a_stale_socket_is_replaced(folder: Path) -> None:
    path = folder / "s"
    stale(path)
    async with open_link_pair(f"unix:{path}", OPTIONS) as (near, far):
        await near.send(b"\x00a")
        assert await far.receive() == b"\x00a"


async def test_a_live_socket_is_not(folder: Path) -> None:
    path = folder / "s"
    async with open_listener(f"unix:{path}", OPTIONS):
        inode = path.lstat().st_ino
        assert await refused(path) == f"another process is already listening at {path}"
        assert path.lstat().st_ino == inode


async def test_a_live_socket_with_a_full_queue_is_not(folder: Path) -> None:
    path = folder / "s"
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(path))
        busy.listen(0)
        waiting = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        for caller in waiting:
            caller.setblocking(False)
            caller.connect_ex(str(path))
        assert "already listening" in await refused(path)
        for caller in waiting:
            caller.close()
    assert path.is_socket()


async def test_a_socket_of_another_kind_is_left_alone(folder: Path) -> None:
    path = folder / "s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(path))
        assert "refusing to replace the socket" in await refused(path)
    assert path.is_socket()


async def test_what_is_no_socket_is_never_touched(folder: Path) -> None:
    file, directory, link = folder / "file", folder / "directory", folder / "link"
    file.write_text("mine")
    directory.mkdir()
    stale(folder / "stale")
    link.symlink_to(folder / "stale")
    for path in (file, directory, link):
        assert await refused(path) == f"refusing to replace a non-socket path at {path}"
    assert file.read_text() == "mine"
    assert directory.is_dir()
    assert link.readlink() == folder / "stale"


def test_the_longest_path_is_named() -> None:
    check_path("/" + "x" * (PATH_LIMIT - 1))
    with pytest.raises(AddressError, match="has 108 bytes and a socket's path at most 107"):
        check_path("/" + "x" * PATH_LIMIT)
    with pytest.raises(AddressError, match="has 109 bytes"):
        check_path("/" + "é" * 54)
    with pytest.raises(AddressError, match="names a directory"):
        check_path("/run/gw/")
    for make in (open_listener, open_dialer):
        with pytest.raises(AddressError, match="at most 107"):
            make("unix:/" + "x" * PATH_LIMIT, OPTIONS)


@pytest.mark.limit("transports/unix.PATH_LIMIT")
async def test_the_longest_path_works(folder: Path) -> None:
    path = f"{folder}/".ljust(PATH_LIMIT, "x")
    async with open_link_pair(f"unix:{path}", OPTIONS) as (near, far):
        await near.send(b"\x00a")
        assert await far.receive() == b"\x00a"


async def test_only_its_own_socket_is_removed(folder: Path) -> None:
    path = folder / "s"
    async with open_listener(f"unix:{path}", OPTIONS) as listener:
        path.unlink()
        stale(path)
        await listener.aclose()
        assert path.is_socket()
    assert path.is_socket()
    async with open_listener(f"unix:{path}", OPTIONS):
        path.unlink()


async def test_who_starts_at_the_same_moment_waits_and_is_told(
    folder: Path, autojump_clock: MockClock
) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        start = trio.current_time()
        assert "holds a lock" in await refused(folder / "s")
        assert trio.current_time() >= start + LOCK_DEADLINE
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_unlock, handle)
            async with open_listener(f"unix:{folder}/s", OPTIONS):
                assert (folder / "s").is_socket()
    finally:
        os.close(handle)


async def _unlock(handle: int) -> None:
    await trio.sleep(1)
    fcntl.flock(handle, fcntl.LOCK_UN)


async def test_a_socket_for_who_carries_no_frames(folder: Path) -> None:
    path = folder / "admin"
    async with bound_unix_socket(str(path)) as listening:
        assert mode(path) == 0o600
        async with await trio.open_unix_socket(str(path)):
            caller, _ = await trio.socket.from_stdlib_socket(listening).accept()
            caller.close()
        assert "already listening" in await refused(path)
    assert not path.exists()


async def test_the_peer_is_known_by_its_credentials(folder: Path) -> None:
    async with open_link_pair(f"unix:{folder}/s", OPTIONS) as (near, far):
        assert near.opening.peer == far.opening.peer == f"uid={os.getuid()} pid={os.getpid()}"


async def test_another_user_is_not_let_in_even_past_the_sockets_mode(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[tuple[str, str]] = []
    options = Options("lines", report=lambda what, why: reports.append((what, str(why))))
    other = os.geteuid() + 1
    monkeypatch.setattr(unix, "_credentials", lambda stream: (1, other))
    async with (
        open_listener(f"unix:{folder}/own/s", options) as listener,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(listener.serve, trio.lowlevel.checkpoint)
        async with await trio.open_unix_socket(f"{folder}/own/s") as stream:
            assert await stream.receive_some(1) == b""
        nursery.cancel_scope.cancel()
    assert reports == [
        ("handshake_failed", f"the peer is of the user {other}, and this socket of {os.geteuid()}")
    ]


async def test_a_kernel_that_tells_no_credentials(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(socket, "SO_PEERCRED")
    async with open_link_pair(f"unix:{folder}/s", OPTIONS) as (near, far):
        assert near.opening.peer == far.opening.peer == ""


async def test_nobody_there(folder: Path) -> None:
    async with open_dialer(f"unix:{folder}/s", OPTIONS) as dialer:
        with pytest.raises(DialFailed, match="cannot be reached: No such file"):
            await dialer.dial()
        stale(folder / "s")
        with pytest.raises(DialFailed, match="cannot be reached: Connection refused"):
            await dialer.dial()


@pytest.mark.limit("transports/unix.BACKLOG")
async def test_i9_so_many_connections_wait_to_be_accepted(folder: Path) -> None:
    path = folder / "s"
    callers: list[socket.socket] = []
    async with open_listener(f"unix:{path}", Options()):
        for _ in range(2 * BACKLOG):
            callers.append(socket.socket(socket.AF_UNIX))
            callers[-1].setblocking(False)
            if callers[-1].connect_ex(str(path)):
                break
        for caller in callers:
            caller.close()
    assert BACKLOG <= len(callers) - 1 <= BACKLOG + 1  # Linux lets one more wait
