"""Framings as targets: a stream that comes in pieces of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final

import attrs
from fuzz_bytes import mutate_bytes
from fuzz_engine import demand

from fleetgate.transports.api import FrameRefused
from fleetgate.transports.framing import Framer, FramingError

LIMIT: Final = 8 * 1024
"""Bytes of a frame: small, so that lengths above it are met."""

PIECES: Final = (1, 2, 3, 7, 64, 1000, 1 << 20)


def mutate_stream(draw: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """The first byte says in what pieces the rest comes, so it is drawn anew each time."""
    return bytes([draw.randrange(256)]) + mutate_bytes(draw, data[1:], [each[1:] for each in seeds])


def pieces(data: bytes, way: int) -> Iterator[bytes]:
    """The data, in pieces of one size or of several."""
    at, turn = 0, way
    while at < len(data):
        size = PIECES[turn % len(PIECES)]
        yield data[at : at + size]
        at += size
        turn += 1 if way & 0x80 else 0


@attrs.frozen
class Framed:
    """A framing. `write` makes what it reads, where it is another one."""

    make: Callable[[int], Framer]
    write: Callable[[int], Framer] | None = None

    def streams(self, frames: Sequence[bytes]) -> Iterator[bytes]:
        """Streams of several frames each."""
        framer = (self.write or self.make)(LIMIT)
        for at in range(0, len(frames), 3):
            whole = b""
            for frame in frames[at : at + 3]:
                try:
                    whole += framer.encode(frame)
                except FrameRefused:
                    continue
            yield bytes([at % 256]) + whole

    def run(self, data: bytes) -> bool:
        """A stream in pieces is taken apart as it is in one, nothing beyond the limit is kept, and
        its frames written again are the same frames."""
        way, stream = (data[0], data[1:]) if data else (0, b"")
        once, fault = self._read([stream])
        parts, other = self._read(pieces(stream, way))
        demand(parts == once, "pieces change what is read")
        demand(fault == other, "pieces change the fault")
        if once:
            self._again(once)
        return fault is None

    def _read(self, stream: Iterator[bytes] | list[bytes]) -> tuple[list[bytes], bool | None]:
        framer = self.make(LIMIT)
        frames: list[bytes] = []
        try:
            for piece in stream:
                frames += framer.feed(piece)
                demand(framer.buffered <= LIMIT + 5 + len(piece), "more than the limit is kept")
            framer.eof()
        except FramingError as error:
            frames += error.frames
            demand(framer.buffered == 0 or not error.frames, "something is kept behind a fault")
            demand(_raises(framer), "it reads on behind a fault")
            return frames, error.too_long
        finally:
            demand(all(len(frame) <= LIMIT for frame in frames), "a frame beyond the limit")
        return frames, None

    def _again(self, frames: list[bytes]) -> None:
        writer = (self.write or self.make)(LIMIT)
        stream = b"".join(map(writer.encode, frames))
        again, fault = self._read([stream])
        if self.write is None:
            demand(again == frames and fault is None, "decode(encode(x)) is not x")


def _raises(framer: Framer) -> bool:
    try:
        framer.feed(b"x")
    except FramingError:
        return True
    return False
