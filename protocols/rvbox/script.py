"""A script on its way: cut into chunks by a server, put together by a client."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code


class Upload:
    """A server's upload of one script. It can begin again, a limited number of times."""

    __slots__ = ("_data", "_digest", "_uuid", "attempts", "done", "offset")

    def __init__(self, issue_uuid: str, data: bytes, digest: bytes) -> None:
        self._uuid = issue_uuid
        self._data = data
        self._digest = digest
        self.offset = 0
        self.attempts = 1
        self.done = False

    def restart(self) -> None:
        """Begin again from the first byte."""
        self.offset = 0
        self.attempts += 1
        self.done = False

    def next(self, window: int) -> Iterator[w.ScriptChunk | w.ScriptCommit]:
        """The next chunks, `window` bytes or a little more of them, and behind the last one
        the commit."""
        end = self.offset + window
        while self.offset < min(end, len(self._data)):
            piece = self._data[self.offset : self.offset + limits.SCRIPT_CHUNK]
            digest = hashlib.sha256(piece).digest()
            yield w.ScriptChunk(self._uuid, self.offset, piece, digest)
            self.offset += len(piece)
        if self.offset >= len(self._data) and not self.done:
            self.done = True
            yield w.ScriptCommit(self._uuid, len(self._data), self._digest)


class Assembly:
    """A client's half of an upload."""

    __slots__ = ("_ref", "data")

    def __init__(self, ref: w.ScriptRef) -> None:
        self._ref = ref
        self.data = bytearray()

    def fresh(self) -> Assembly:
        """The same script, of which nothing has come."""
        return Assembly(self._ref)

    def add(self, chunk: w.ScriptChunk, room: int) -> w.ControlError | None:
        """Take a chunk; what is wrong with it, or None. `room` is how many bytes there is
        memory for, this script's included."""
        size = len(chunk.data)
        if size > limits.SCRIPT_CHUNK:
            text = f"the chunk has {size} bytes; at most {limits.SCRIPT_CHUNK} are taken"
            return w.ControlError(Code.INVALID_ARGUMENT, text)
        if chunk.offset != len(self.data):
            text = f"expected the chunk at offset {len(self.data)}, it came for {chunk.offset}"
            return w.ControlError(Code.OUT_OF_ORDER, text)
        if hashlib.sha256(chunk.data).digest() != chunk.sha256:
            return self._again("the chunk's sha256 is not that of its data")
        if len(self.data) + size > self._ref.size_bytes:
            return self._again(f"more than the announced {self._ref.size_bytes} bytes came")
        if size > room:
            text = "too many scripts are being uploaded; try again once some are complete"
            return w.ControlError(Code.RESOURCE_EXHAUSTED, text)
        self.data += chunk.data
        return None

    def commit(self, commit: w.ScriptCommit) -> w.ControlError | None:
        """Check the whole; what is wrong with it, or None."""
        ref = self._ref
        if commit.size_bytes != ref.size_bytes or commit.sha256 != ref.sha256:
            return self._again("the commit is not what the dispatch announced")
        if len(self.data) != ref.size_bytes:
            return self._again(f"{len(self.data)} of {ref.size_bytes} bytes have come")
        if hashlib.sha256(self.data).digest() != ref.sha256:
            return self._again("the script's sha256 is not the announced one")
        return None

    def _again(self, text: str) -> w.ControlError:
        self.data = bytearray()
        return w.ControlError(Code.CHECKSUM_MISMATCH, f"{text}; the upload begins again at 0")
