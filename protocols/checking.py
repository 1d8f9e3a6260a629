"""The check that every adapter must pass."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, get_args

import attrs

from fleetgate.core.answers import Admission
from fleetgate.core.errors import Unavailable
from fleetgate.core.ids import Epoch
from fleetgate.protocols.api import (
    Adapter,
    AnnounceWorker,
    Close,
    Connection,
    Notify,
    Opening,
    Pause,
    Record,
    RemoteProtocolError,
    Resume,
    Send,
    Side,
    Step,
    Steps,
    Submit,
    Wake,
    WithdrawWorker,
)
from fleetgate.protocols.bulk import BulkConnection
from fleetgate.protocols.carriage import Carriage

STEP_KINDS: Final[tuple[type[Any], ...]] = get_args(Step)
"""The closed union of steps, as classes."""

_START: Final = 1_700_000_000_000_000_000


def check_adapter(
    adapter: Adapter,
    *,
    north: Sequence[bytes] = (),
    south: Sequence[bytes] = (),
    rounds: int = 200,
) -> None:
    """Hold `adapter` to what every adapter owes the driver, on both of its sides.

    Settings need no argument; connections share nothing; steps are of the closed union,
    none follows a `Close`, frames keep to the carriage's limit; whatever bytes come, a
    connection raises `RemoteProtocolError` or answers with steps, and nothing else.
    `north` and `south` are valid frames that each side may receive: they are played in
    order, then again with bytes changed, cut out or repeated. The bytes derive from the
    round's number: a failure names it and comes again.
    """
    assert adapter.name, "an adapter has a name"
    for name, side, frames in (
        ("northbound", adapter.northbound, north),
        ("southbound", adapter.southbound, south),
    ):
        where = f"{adapter.name} {name}"
        carriage = _check_side(where, side)
        for nth in range(rounds):
            _check_round(f"{where}, round {nth}", side, carriage, _damaged(frames, nth))
        _check_round(f"{where}, its own frames", side, carriage, frames)


def _check_side(where: str, side: Side) -> Carriage:
    assert attrs.has(side.settings), f"{where}: settings are an attrs class"
    for member in attrs.fields(side.settings):
        assert member.default is not attrs.NOTHING, f"{where}: {member.name} has no default"
    settings = side.settings()
    assert settings == side.settings(), f"{where}: default settings differ from each other"
    carriage = side.carriage(settings)
    assert carriage.stream or carriage.websocket, f"{where}: no carriage at all"
    assert carriage.limit > 0, f"{where}: the frame limit is {carriage.limit}"
    one, other = side.open(settings), side.open(settings)
    assert one is not other, f"{where}: open() gave the same connection twice"
    return carriage


def _check_round(where: str, side: Side, carriage: Carriage, frames: Iterable[bytes]) -> None:
    host = _Host(where, side.open(side.settings()), carriage)
    opening = Opening(link="entry", instance="00000000-0000-4000-8000-000000000000")
    host.tell(lambda c: c.opened(opening, host.now))
    for frame in frames:
        if not host.open or host.paused:
            break
        host.receive(frame)
        if host.wake is not None and len(frame) % 7 == 0:
            host.now, host.wake = max(host.now, host.wake), None
            host.tell(lambda c: c.tick(host.now))
    host.tell(lambda c: c.drain(host.now))
    last = host.call(lambda c: c.closed("the check is over", host.now))
    for step in last:
        allowed = isinstance(step, Record | WithdrawWorker | Notify | Submit)
        assert allowed, f"{where}: closed() may not ask for {step!r}"


class _Host:
    """A driver that refuses every command, admits every worker, and believes nothing."""

    def __init__(self, where: str, connection: Connection, carriage: Carriage) -> None:
        self.open = True
        self.paused = False
        self.wake: int | None = None
        self.now = _START
        self._where = where
        self._connection = connection
        self._carriage = carriage

    def receive(self, frame: bytes) -> None:
        """A frame comes."""
        connection = self._connection
        if isinstance(connection, BulkConnection) and connection.receive_bulk([frame], self.now):
            return
        self.tell(lambda c: c.receive(frame, self.now))

    def tell(self, call: Callable[[Connection], Steps]) -> None:
        """Make a call, and answer all that it submits, unless the link has ended."""
        todo = [call]
        while todo and self.open:
            for step in self.call(todo.pop(0)):
                assert self.open, f"{self._where}: {step!r} comes after a Close"
                todo += self._performed(step)

    def call(self, call: Callable[[Connection], Steps]) -> Steps:
        """Make one call; the steps are checked and not performed."""
        self.now += 1
        try:
            steps = call(self._connection)
        except RemoteProtocolError as error:
            steps = [*error.steps]
            if not any(isinstance(step, Close) for step in steps):
                steps.append(Close(None, str(error)))
        except Exception as error:
            text = f"{self._where}: {error!r}, where only RemoteProtocolError may be raised"
            raise AssertionError(text) from error
        for step in steps:
            assert isinstance(step, STEP_KINDS), f"{self._where}: {step!r} is no step"
        return steps

    def _performed(self, step: Step) -> Iterator[Callable[[Connection], Steps]]:
        match step:
            case Send(frame=frame):
                limit = self._carriage.limit
                assert len(frame) <= limit, f"{self._where}: {len(frame)} bytes, limit {limit}"
            case Pause() | Resume():
                self.paused = isinstance(step, Pause)
            case Wake(at=at):
                self.wake = at
            case Close():
                self.open = False
            case Submit(reply_to=key):
                refusal = Unavailable("the check refuses every command")
                yield lambda c: c.reply(key, refusal, self.now)
            case AnnounceWorker(reply_to=key):
                yield lambda c: c.reply(key, Admission(Epoch(1), ()), self.now)
            case _:
                pass


def _damaged(frames: Sequence[bytes], nth: int) -> Iterator[bytes]:
    """Frames of one round: valid ones up to some point, then damaged ones and noise."""
    dice = hashlib.shake_256(struct.pack(">Q", nth)).digest(4096)
    start = dice[0] % (len(frames) + 1)
    yield from frames[:start]
    for at, frame in enumerate(frames[start : start + 8]):
        yield _spoiled(frame, dice[16 + 8 * at : 24 + 8 * at])
    for at in range(8):
        size = dice[128 + at]
        yield dice[256 + at * 256 :][:size]


def _spoiled(frame: bytes, dice: bytes) -> bytes:
    if not frame:
        return dice
    at = int.from_bytes(dice[:4]) % len(frame)
    end = at + 1 + dice[4] % 16
    kinds = (
        frame[:at] + dice[5:6] + frame[at + 1 :],
        frame[:at] + frame[end:],
        frame[:end] + frame[at:],
        frame[:at],
    )
    return kinds[dice[6] % len(kinds)]
