"""Links to a target: dialled, or waited for where it is the target that dials."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, Protocol

import attrs
import trio

from fleetgate.gateway.tck.peer import CannotStart, Skipped, Unmet
from fleetgate.gateway.tck.requirement import Kit
from fleetgate.transports.address import parse_address
from fleetgate.transports.api import Link, LinkError, Opening, Options
from fleetgate.transports.open import check_address, open_dialer, open_listener

ONCE_MISSED: Final = 2.0
"""Seconds that a target which did not come the last time is waited for."""

GRACE: Final = 2.0
"""Seconds between SIGTERM and SIGKILL for a target that was started here."""

ASKING: Final = 30.0
"""Seconds that a command given with `--on` may take."""


class Asking(Protocol):
    """How a target is made to do what it must be asked for."""

    async def ask(self, what: str, details: Mapping[str, str]) -> bool:
        """Have it asked; False where there is no way. Raises: `Skipped`."""
        ...


class Wants:
    """How the target is made to do what it must be asked for: a command for each want. `{run}`
    and the like in it are filled in, each within one word: no shell reads it."""

    def __init__(
        self,
        commands: Mapping[str, str],
        write: Callable[[str], Awaitable[None]] | None = None,
        say: Mapping[str, str] | None = None,
    ) -> None:
        """`say`: lines for the standard input of a target that was started here, by `write`."""
        self._commands = commands
        self._write = write
        self._say = say or {}

    async def ask(self, what: str, details: Mapping[str, str]) -> bool:
        """Have it asked; False where there is no way. Raises: `Skipped`."""
        if what in self._say and self._write is not None:
            await self._write(_filled(self._say[what], details) + "\n")
            return True
        if what not in self._commands:
            return False
        words = [_filled(word, details) for word in shlex.split(self._commands[what])]
        with trio.move_on_after(ASKING) as scope:
            try:
                done = await trio.run_process(words, check=False, stdin=b"", capture_stdout=True)
            except OSError as error:
                raise Skipped(f"--on {what}: {words[0]} cannot be run: {error}") from None
            if done.returncode:
                raise Skipped(f"--on {what}: {words[0]} ended with {done.returncode}")
        if scope.cancelled_caught:
            raise Skipped(f"--on {what}: {words[0]} did not end within {ASKING:g} s")
        return True


def _filled(text: str, details: Mapping[str, str]) -> str:
    for name, value in details.items():
        text = text.replace(f"{{{name}}}", value)
    return text


class DialledTarget:
    """A target that listens. Its links live in the nursery: what they open there must not be
    closed in the middle of what a requirement has open."""

    def __init__(
        self, address: str, options: Options, wants: Asking, nursery: trio.Nursery
    ) -> None:
        self.address = address
        self._options = options
        self._wants = wants
        self._nursery = nursery

    async def link(self, stack: AsyncExitStack, arrive: float, **changes: Any) -> Link:
        """Dial it."""
        over = trio.Event()
        options = attrs.evolve(self._options, **changes)
        link: Link = await self._nursery.start(self._hold, options, over)
        stack.callback(over.set)
        return link

    async def _hold(
        self,
        options: Options,
        over: trio.Event,
        task_status: trio.TaskStatus[Link] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        failure: LinkError | None = None
        async with open_dialer(self.address, options) as dialer:
            try:
                link = await dialer.dial()
            except LinkError as error:
                failure = error
            else:
                task_status.started(link)
                await over.wait()
                await link.close(None)
        if failure is not None:  # out here it comes out as it is, and in no group
            raise failure

    async def refuse(self, status: int, within: float, after: float) -> int:
        """It is not the target that dials."""
        raise Skipped("it is the target that listens")

    async def stream(self, stack: AsyncExitStack) -> trio.abc.Stream | None:
        """Connect to it."""
        address = parse_address(self.address)
        if address.scheme == "unix":
            return await stack.enter_async_context(await trio.open_unix_socket(address.path))
        if address.scheme in ("tcp", "ws"):
            stream = await trio.open_tcp_stream(address.host, address.port)
            return await stack.enter_async_context(stream)
        return None

    async def want(self, what: str, **details: str) -> bool:
        """Have it asked."""
        return await self._wants.ask(what, details)


class AwaitedTarget:
    """A target that dials. The link that came last waits until an attempt takes it."""

    def __init__(self, address: str, wants: Asking) -> None:
        self.address = address
        self._wants = wants
        self._held: tuple[Link, trio.Event] | None = None
        self._came = trio.Event()
        self._missed = False
        self._status: int | None = None
        self._refused = 0

    def judge(self, _opening: Opening) -> int | None:
        """With which HTTP status an upgrade is answered; None: it is let in."""
        if self._status is not None:
            self._refused += 1
            self._came.set()
        return self._status

    async def refuse(self, status: int, within: float, after: float) -> int:
        """Answer upgrades with an HTTP status: how many came. The first one is waited for up to
        `within` seconds, and `after` seconds are left to more."""
        self._status, self._refused = status, 0
        try:
            with trio.move_on_after(within):
                while not self._refused:
                    self._came = trio.Event()
                    await self._came.wait()
            if self._refused:
                await trio.sleep(after)
            return self._refused
        finally:
            self._status = None

    async def handle(self, link: Link) -> None:
        """Hold a link until an attempt has taken it and is over, or a newer one comes."""
        over = trio.Event()
        if self._held is not None:
            self._held[1].set()
        self._held = (link, over)
        self._came.set()
        await over.wait()

    async def link(self, stack: AsyncExitStack, arrive: float, **changes: Any) -> Link:
        """Wait for it."""
        if changes:
            raise Skipped("how the target carries its frames is the target's to say")
        seconds = min(arrive, ONCE_MISSED) if self._missed else arrive
        with trio.move_on_after(seconds):
            while self._held is None:
                self._came = trio.Event()
                await self._came.wait()
        held, self._held = self._held, None
        if held is not None or arrive > ONCE_MISSED:  # a look is no wait
            self._missed = held is None
        if held is None:
            expected = f"that the target dials {self.address}"
            raise Unmet(expected, f"it did not within {seconds:g} s")
        link, over = held
        stack.callback(over.set)
        stack.push_async_callback(link.close, None)
        return link

    async def stream(self, stack: AsyncExitStack) -> trio.abc.Stream | None:
        """There is none: what the listener takes in are links."""
        return None

    async def want(self, what: str, **details: str) -> bool:
        """Have it asked."""
        return await self._wants.ask(what, details)


@asynccontextmanager
async def open_target(
    kit: Kit, address: str, options: Options, wants: Asking
) -> AsyncGenerator[DialledTarget | AwaitedTarget, None]:
    """The target at `address`, or, where it dials, a listener there until the end of the block.

    Raises: `AddressError`, `ListenFailed`.
    """
    async with AsyncExitStack() as stack:
        target: DialledTarget | AwaitedTarget
        if kit.listens:
            check_address(address, options, listener=False)
            nursery = await stack.enter_async_context(trio.open_nursery())
            target = DialledTarget(address, options, wants, nursery)
        else:
            target = AwaitedTarget(address, wants)
            doors = attrs.evolve(options, authorize=target.judge)
            listener = await stack.enter_async_context(open_listener(address, doors))
            target.address = listener.addresses[0]
            nursery = await stack.enter_async_context(trio.open_nursery())
            nursery.start_soon(listener.serve, target.handle)
        yield target
        nursery.cancel_scope.cancel()


class Started:
    """A target that the kit starts itself, and starts again whenever it has ended."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._process: trio.Process | None = None

    @property
    def exit_code(self) -> int | None:
        """With which it has ended by itself, -9 for SIGKILL; None: it has not."""
        return None if self._process is None else self._process.poll()

    async def ensure(self) -> bool:
        """Have it running; answers whether it was started just now.

        Raises: `CannotStart`.
        """
        if self._process is not None and self._process.poll() is None:
            return False
        await self.stop()
        try:
            self._process = await trio.lowlevel.open_process(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
            )
        except OSError as error:
            said = f"--start: {self._words[0]} cannot be run: {error.strerror or error}"
            hint = "name a program that is on PATH, or by its path; no shell reads the command"
            raise CannotStart(f"{said}; {hint}") from None
        return True

    async def write(self, text: str) -> None:
        """Put a line on its standard input. Raises: `Skipped` where it has left."""
        if self._process is None or self._process.stdin is None:
            raise Skipped("the target is not running")
        try:
            await self._process.stdin.send_all(text.encode())
        except trio.BrokenResourceError:
            raise Skipped("the target has closed its standard input") from None

    async def stop(self) -> None:
        """End it: the end of its input, SIGTERM, and after 2 s SIGKILL. Cancelled, it is killed."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            if process.stdin is not None:
                await process.stdin.aclose()
            process.terminate()
            with trio.move_on_after(GRACE):
                await process.wait()
        finally:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
