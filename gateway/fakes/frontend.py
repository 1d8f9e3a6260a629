"""The JSON-lines front end: operations in, answers and events out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import trio

from fleetgate.core.errors import InvalidArgument, Refusal, Unavailable
from fleetgate.gateway.fakes import operations as ops
from fleetgate.gateway.fakes.lines import LineReader, LineWriter, TooLong
from fleetgate.gateway.fakes.operations import BadLine, Operation, read_operation
from fleetgate.gateway.fakes.performing import Perform, Performer

MAX_WAITING: Final = 1000
"""Operations under way that wait for a run or a peer; one more is refused."""

INPUT_ENDED: Final = "its standard input was closed"
QUIT: Final = "it was told to quit"


class FrontEnd:
    """Serves one stream of operations. `known` are those that the fake's side takes; `performer`
    carries them out."""

    def __init__(
        self,
        reader: LineReader,
        writer: LineWriter,
        known: Mapping[str, type[Any]],
        performer: Performer,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._known = known
        self._performer = performer
        self._waiting = 0

    async def serve(self) -> str:
        """Serve until `quit` or the end of the input; answers in words which it was. Cancelled,
        what runs goes on."""
        async with trio.open_nursery() as nursery:
            while (end := await self._serve_one(nursery)) is None:
                pass
            nursery.cancel_scope.cancel()
        return end

    async def _serve_one(self, nursery: trio.Nursery) -> str | None:
        """Serve the next line. Answers why it was the last one, if it was."""
        try:
            line = await self._reader.next()
            if line is None:
                return INPUT_ENDED
            id, operation = read_operation(line, self._known)
        except TooLong as error:
            await self._refuse(None, InvalidArgument(f"{error}; send less at a time"))
            return None
        except BadLine as error:
            await self._refuse(error.id, error.refusal)
            return None
        if isinstance(operation, ops.Quit):
            await self._writer.write({"id": id, "ok": True})
            return QUIT
        if self._performer.waits(operation):
            await self._answer_later(nursery, id, operation)
        else:
            await self._answer(id, partial(self._performer.perform, nursery, operation))
        return None

    async def _answer_later(
        self, nursery: trio.Nursery, id: str | None, operation: Operation
    ) -> None:
        if self._waiting >= MAX_WAITING:
            refusal = Unavailable(f"{MAX_WAITING} operations wait already; try again later")
            await self._refuse(id, refusal)
            return
        try:
            perform = self._performer.begin(id or "", operation)
        except Refusal as refusal:
            await self._refuse(id, refusal)
            return
        self._waiting += 1
        nursery.start_soon(self._wait_and_answer, id, perform)

    async def _wait_and_answer(self, id: str | None, perform: Perform) -> None:
        try:
            await self._answer(id, perform)
        finally:
            self._waiting -= 1

    async def _answer(self, id: str | None, perform: Perform) -> None:
        try:
            members = await perform()
        except Refusal as refusal:
            await self._refuse(id, refusal)
        else:
            await self._writer.write({"id": id, "ok": True, **members})

    async def _refuse(self, id: str | None, refusal: Refusal) -> None:
        error = {"code": refusal.code, "message": refusal.message}
        await self._writer.write({"id": id, "ok": False, "error": error})
