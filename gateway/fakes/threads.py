"""The fakes for tests without a loop: unittest, plain pytest.

    with AgencyDaemon(socket=path) as daemon:
        daemon.expect("frame", dir="in", name="hello")

Each is the fake of the same name of `fleetgate.gateway.fakes`, with the same options, in a thread
of its own; methods wait. Any number may be open at a time, and each may be used by any thread. A
test that has a loop (trio, asyncio) must not hold it up, its peer may be in there: see `aside`.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial, update_wrapper
from types import TracebackType
from typing import Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar

import trio

from fleetgate.gateway.fakes import fake, peers, roles
from fleetgate.gateway.fakes.beside import aside, check_no_loop
from fleetgate.gateway.fakes.fake import CLOSE_WITHIN, NotOpen
from fleetgate.gateway.fakes.seen import Frame
from fleetgate.gateway.groups import unwrapped
from fleetgate.gateway.render import Line

_F = TypeVar("_F", bound=fake.Fake)
_P = ParamSpec("_P")
_S = TypeVar("_S", bound="Fake[Any]")
_T = TypeVar("_T")

GRACE: Final = 5.0
"""Seconds beyond its own end that a fake's thread may take, on a machine that is busy."""

OPEN_WITHIN: Final = 30.0
"""Seconds until it is at work: as long as all that it imports may take on such a machine."""

__all__ = [
    "AgencyClient",
    "AgencyDaemon",
    "ControlPlane",
    "Controller",
    "Fake",
    "IopEdge",
    "IopNode",
    "KodeletControlPlane",
    "KodeletRunner",
    "RvboxClient",
    "RvboxServer",
    "Worker",
    "aside",
]


def _waits(
    method: Callable[Concatenate[_F, _P], Awaitable[_T]],
) -> Callable[Concatenate[Any, _P], _T]:
    """The same method of a fake in a thread."""

    def call(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        __tracebackhide__ = True  # here and below: pytest then shows the line of the test
        answer: _T = self.ask(partial(method, self.fake, *args, **kwargs))
        return answer

    update_wrapper(call, method)
    return call


class Fake(Generic[_F]):
    """A fake in a thread of its own, as long as the block lasts. Each method does what the one of
    the same name does in `fleetgate.gateway.fakes`, and raises the same."""

    def __init__(self, fake: _F) -> None:
        self._hold(fake)

    def _hold(self, fake: _F) -> None:
        self.fake = fake
        self._thread: threading.Thread | None = None
        self._nursery: trio.Nursery | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._left = trio.Event()
        self._opened: Future[None] = Future()
        self._fault: BaseException | None = None

    def __enter__(self) -> Self:
        """Begin. Raises: `CannotStart`; `NotOpen`, where it was entered before."""
        if self._thread is not None:
            raise NotOpen(f"{self.fake.name} was entered before; make another one")
        name = f"fake {self.fake.name}"
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()
        self._opened.result(OPEN_WITHIN)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End. Raises: the fake's own fault, if it had one."""
        self.close()

    def __repr__(self) -> str:
        return repr(self.fake)

    def close(self) -> None:
        """End, as the end of the block does; again, it does nothing."""
        thread, token = self._thread, self._token
        if thread is None or token is None:
            return
        with suppress(trio.RunFinishedError):  # a fault has ended it
            token.run_sync_soon(self._left.set)
        thread.join(CLOSE_WITHIN + GRACE)
        if thread.is_alive():
            raise RuntimeError(f"{self.fake.title()} did not end in time; it is left behind")
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault

    def _work(self) -> None:
        try:
            trio.run(self._run)
        except BaseException as error:  # it is raised by whoever opens or closes the fake
            if self._opened.done():
                self._fault = error
            else:
                self._opened.set_exception(unwrapped(error))

    async def _run(self) -> None:
        async with self.fake, trio.open_nursery() as nursery:
            self._nursery = nursery
            self._token = trio.lowlevel.current_trio_token()
            self._opened.set_result(None)
            await self._left.wait()
            nursery.cancel_scope.cancel()

    def ask(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Wait for what is asked of the fake, in its own thread."""
        __tracebackhide__ = True
        check_no_loop(self.fake.name)
        token, nursery = self._token, self._nursery
        if token is None or nursery is None:
            raise NotOpen(f"{self.fake.name} was not entered yet; use it inside its `with` block")
        answer: Future[_T] = Future()
        try:
            token.run_sync_soon(self._begin, nursery, ask, answer)
        except trio.RunFinishedError:
            raise self._gone() from None
        if (error := answer.exception()) is not None:
            try:  # raised here: pytest would show where the future raises it
                raise error
            finally:
                del error
        return answer.result()

    def _begin(
        self, nursery: trio.Nursery, ask: Callable[[], Awaitable[_T]], answer: Future[_T]
    ) -> None:
        try:
            nursery.start_soon(self._answer, ask, answer)
        except RuntimeError:  # the nursery is closed
            answer.set_exception(self._gone())

    async def _answer(self, ask: Callable[[], Awaitable[_T]], answer: Future[_T]) -> None:
        __tracebackhide__ = True
        try:
            answer.set_result(await ask())
        except trio.Cancelled:
            answer.set_exception(self._gone())
            raise
        except Exception as error:
            answer.set_exception(error)

    def _gone(self) -> NotOpen:
        return NotOpen(f"{self.fake.name} is closed; use it inside its `with` block")

    # --- looking

    @property
    def address(self) -> str:
        """As the fake's own."""
        return self.fake.address

    @property
    def runs(self) -> list[Line]:
        """As the fake's own."""
        return self.fake.runs

    @property
    def frames(self) -> list[Frame]:
        """As the fake's own."""
        return self.fake.frames

    @property
    def events(self) -> list[Line]:
        """As the fake's own."""
        return self.fake.events

    expect = _waits(fake.Fake.expect)
    fault = _waits(fake.Fake.fault)
    drop = _waits(fake.Fake.drop)
    raw = _waits(fake.Fake.raw)


_W = TypeVar("_W", bound=roles.Worker)
_C = TypeVar("_C", bound=roles.Controller)


class Worker(Fake[_W]):
    """A fake that is given runs."""

    script = _waits(roles.Worker.script)
    emit = _waits(roles.Worker.emit)


class Controller(Fake[_C]):
    """A fake that starts runs."""

    workers = _waits(roles.Controller.workers)
    start = _waits(roles.Controller.start)
    send = _waits(roles.Controller.send)
    close_input = _waits(roles.Controller.close_input)
    signal = _waits(roles.Controller.signal)
    cancel = _waits(roles.Controller.cancel)
    approve = _waits(roles.Controller.approve)
    ack = _waits(roles.Controller.ack)
    status = _waits(roles.Controller.status)
    wait = _waits(roles.Controller.wait)
    usage = _waits(roles.Controller.usage)
    after = _waits(roles.Controller.after)

    def follow(
        self, run: str, *, after: int = 0, within: float = roles.WAIT_WITHIN
    ) -> Iterator[Line]:
        """The events of a run above `after`, to its end; each is waited for."""
        while True:
            for event in self.after(run, after, within=within):
                after = event["seq"]
                yield event
                if event["type"] == "RunFinished":
                    return


class ControlPlane(Controller[peers.KodeletControlPlane]):
    """A kodelet control plane."""

    runners = _waits(peers.KodeletControlPlane.runners)
    open = _waits(peers.KodeletControlPlane.open)
    call = _waits(peers.KodeletControlPlane.call)
    tool = _waits(peers.KodeletControlPlane.tool)
    close_run = _waits(peers.KodeletControlPlane.close_run)
    run = _waits(peers.KodeletControlPlane.run)
    abort = _waits(peers.KodeletControlPlane.abort)


def _options_of(
    made: Callable[_P, fake.Fake],
) -> Callable[[Callable[[Any], None]], Callable[Concatenate[Any, _P], None]]:
    """The beginning of a fake in a thread: it takes the options of the fake itself."""

    def begins(_: Callable[[Any], None]) -> Callable[Concatenate[Any, _P], None]:
        def __init__(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
            self._hold(made(*args, **kwargs))

        return __init__

    return begins


class AgencyDaemon(Worker[peers.AgencyDaemon]):
    __doc__ = peers.AgencyDaemon.__doc__

    @_options_of(peers.AgencyDaemon)
    def __init__(self) -> None: ...


class AgencyClient(Controller[peers.AgencyClient]):
    __doc__ = peers.AgencyClient.__doc__

    @_options_of(peers.AgencyClient)
    def __init__(self) -> None: ...


class RvboxServer(Controller[peers.RvboxServer]):
    __doc__ = peers.RvboxServer.__doc__

    @_options_of(peers.RvboxServer)
    def __init__(self) -> None: ...


class RvboxClient(Worker[peers.RvboxClient]):
    __doc__ = peers.RvboxClient.__doc__

    @_options_of(peers.RvboxClient)
    def __init__(self) -> None: ...


class IopEdge(Controller[peers.IopEdge]):
    __doc__ = peers.IopEdge.__doc__

    @_options_of(peers.IopEdge)
    def __init__(self) -> None: ...


class IopNode(Worker[peers.IopNode]):
    __doc__ = peers.IopNode.__doc__

    @_options_of(peers.IopNode)
    def __init__(self) -> None: ...


class KodeletRunner(Worker[peers.KodeletRunner]):
    __doc__ = peers.KodeletRunner.__doc__

    @_options_of(peers.KodeletRunner)
    def __init__(self) -> None: ...


class KodeletControlPlane(ControlPlane):
    __doc__ = peers.KodeletControlPlane.__doc__

    @_options_of(peers.KodeletControlPlane)
    def __init__(self) -> None: ...
