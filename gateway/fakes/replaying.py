"""A recording as a test: one side of it is played against a live peer, from a thread."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio

from fleetgate.gateway.fakes.beside import check_no_loop
from fleetgate.gateway.fakes.from_python import by_name
from fleetgate.gateway.fakes.options import GivenToken
from fleetgate.gateway.fakes.shown import BOARD
from fleetgate.gateway.groups import unwrapped
from fleetgate.gateway.recording.comparing import Manner
from fleetgate.gateway.recording.live import Place, carried, entry_of
from fleetgate.gateway.recording.playing import Differs, Part, Wanted, play_at, read_part
from fleetgate.gateway.recording.reading import LinkUp, Unusable
from fleetgate.gateway.recording.replay import PATIENCE, Played
from fleetgate.protocols.explaining import other
from fleetgate.transports.api import TlsFiles

GRACE: Final = 5.0
"""Seconds that its thread may take to end once it was told to."""

BOUND_WITHIN: Final = 30.0
"""Seconds until it listens: as long as Python may take to start on a machine that is busy."""


class Replaying:
    """A replay that is under way. `address` is where it listens or what it dials."""

    def __init__(self, wanted: Wanted, place: Place) -> None:
        self.address = place.address
        self._wanted = wanted
        self._played: Future[Played] = Future()
        self._bound: Future[str] = Future()
        self._spoken = threading.Event()
        self._scope = trio.CancelScope()
        self._token: trio.lowlevel.TrioToken | None = None
        self._told = False
        work = partial(trio.run, self._work, place)
        self._thread = threading.Thread(target=self._run, args=(work,), name="replay", daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], Played]) -> None:
        try:
            self._played.set_result(work())
        except BaseException as error:  # it is raised by whoever waits for the end
            error = unwrapped(error)
            self._played.set_exception(error)
            if not self._bound.done():
                self._bound.set_exception(error)
        finally:
            self._spoken.set()

    async def _work(self, place: Place) -> Played:
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            return await play_at(self._wanted, place, self._bound.set_result, self._spoken.set)
        raise Unusable(f"{self._wanted.path}: the test has ended before all was played")

    def wait_bound(self) -> None:
        """Wait until it listens. Raises: `Unusable`, `AddressError`, `LinkError`."""
        self.address = self._bound.result(BOUND_WITHIN)

    @property
    def told(self) -> bool:
        """Whether somebody has heard how it went."""
        return self._told

    def wait_spoken(self) -> None:
        """Wait until nothing is left to play but what the peer does when it is ended; or until it
        is over."""
        check_no_loop("a replay")
        self._spoken.wait()

    def finish(self) -> int:
        """Wait until all was played; how many frames were. The peer has the time for each message
        that `timeout` gives it.

        Raises: `Differs`, with the first difference; `Unusable`, `LinkError`.
        """
        __tracebackhide__ = True
        check_no_loop("a replay")
        self._told = True
        played = self._played.result()
        if played.difference is not None:
            raise Differs(self._wanted.path, played.difference)
        return played.frames

    # --- what a test that fails shows of it

    def heading(self) -> str:
        """What is replayed, and where."""
        return f"replay of {self._wanted.path} at {self.address}"

    @property
    def over(self) -> bool:
        """Whether it has come to its end, of whatever kind."""
        return self._played.done()

    def lines(self, since: int, whole: bool) -> list[str]:
        """What it has found that nobody was told yet."""
        if self._told:
            return []
        if not self._played.done():
            return ["it is under way; so far the peer did as was recorded"]
        error = self._played.exception()
        found = error if error is not None else self._played.result().difference
        return [] if found is None else [str(found)]

    def close(self) -> None:
        """End it, played or not."""
        if self._token is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._scope.cancel)
        self._thread.join(GRACE)


class Replayer:
    """Plays recordings in one test."""

    def __init__(self, stack: ExitStack, beside: Path | None = None) -> None:
        self._stack = stack
        self._beside = beside
        self._begun: list[Replaying] = []

    @by_name
    def __call__(
        self,
        file: str | os.PathLike[str],
        *,
        side: str | None = None,
        connect: str | None = None,
        listen: str | None = None,
        strict: bool = False,
        match_shape: bool = False,
        link: Sequence[int] = (),
        partial: bool = False,
        token: str | None = None,
        timeout: float = PATIENCE,
        tls_ca: str | None = None,
        tls_cert: str | None = None,
        tls_key: str | None = None,
    ) -> Replaying:
        """Play one side of a recording against a live peer. Options are those of `gateway replay`;
        a file that is not there from the working directory is one beside the test.

        With `connect` the peer is dialled, and all is played when this returns. Without, it is
        waited for at `listen`, or at a free address if that is not given: `address` of what comes
        back says where, and `finish` waits for the end; a test that does not ask waits at its own
        end. `side` is the one that dialled, or was dialled, unless it is named.
        Raises: `BadOption`, `Unusable`; `Differs`, `LinkError`.
        """
        __tracebackhide__ = True
        file = self._find(file)
        if (connect is not None and listen is not None) or (strict and match_shape):
            raise Unusable(f"{file}: of two options that exclude each other choose one")
        manner: Manner = "strict" if strict else "shape" if match_shape else "values"
        wanted = Wanted(
            file, side or "controller", manner, frozenset(link), partial, timeout, token
        )
        if connect is not None:
            check_no_loop("a replay")
        part = read_part(wanted)
        if part.dials == (connect is None):
            if side is not None:
                does = "dialled" if part.dials else "was dialled by"
                option = "connect" if part.dials else "listen"
                raise Unusable(f"in {wanted.path} the {side} {does} its peer; say {option}=")
            wanted = attrs.evolve(wanted, side=other(part.side))
        files = TlsFiles(tls_cert, tls_key, tls_ca)
        shown = None if token is None or connect is None else GivenToken(value=token)
        address = connect or listen or self._free(part)
        place = Place(address, connect is None, None if files == TlsFiles() else files, shown)
        begun = Replaying(wanted, place)
        self._begun.append(begun)
        BOARD.add(begun)
        if connect is not None:
            begun.finish()
        else:
            begun.wait_bound()
        return begun

    def _find(self, file: str | os.PathLike[str]) -> str:
        path = os.fspath(file)
        if self._beside is not None and not os.path.exists(path):
            near = self._beside / path
            return str(near) if near.exists() else path
        return path

    def _free(self, part: Part) -> str:
        """An address of the kind that was recorded."""
        options = carried(part.adapter, entry_of(part.adapter, part.side, Place("", True)))
        if options.grpc is not None:
            return "grpc://127.0.0.1:0"
        paths = [item.path for item in part.recording.items if isinstance(item, LinkUp)]
        if paths[0]:
            return f"ws://127.0.0.1:0{paths[0]}"
        place = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fleetgate-"))
        return f"unix:{place}/s"

    def settle(self) -> None:
        """Wait for what peers have to say in those that nobody has waited for.

        Raises: as `Replaying.finish`, for what is known by then.
        """
        __tracebackhide__ = True
        for each in self._begun:
            if not each.told:
                each.wait_spoken()
                if each.over:
                    each.finish()

    def finish(self) -> None:
        """Wait for those that nobody has waited for."""
        __tracebackhide__ = True
        for each in self._begun:
            if not each.told:
                each.finish()

    def give_up(self) -> None:
        """Their test has failed: end those that are under way, and wait for none of them."""
        self.close()
        self._begun.clear()

    def close(self) -> None:
        """End them all."""
        for each in self._begun:
            each.close()


@contextmanager
def replays(beside: Path | None = None) -> Generator[Replayer, None, None]:
    """What plays recordings, as long as the test lasts. `beside`: the directory of the test.

    Raises: as `Replaying.finish`, for a replay that the test has not asked for its end.
    """
    with ExitStack() as stack:
        replayer = Replayer(stack, beside)
        stack.callback(replayer.close)
        yield replayer
        replayer.finish()
