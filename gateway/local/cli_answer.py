"""One answer of a command-line agent, on its way from the program to the run's events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import trio

from fleetgate.core.events import Diagnosed, OutputProduced, Stream, TextProduced
from fleetgate.core.sequence import split_bytes
from fleetgate.gateway.local.bodies import split_text
from fleetgate.gateway.local.cli_output import Output, TooLong
from fleetgate.gateway.local.cli_profile import CliProfile
from fleetgate.gateway.local.work import Work, WorkFailed


class Answer:
    """Hears a program until its answer is complete. Until `begin` there is no room for any of it:
    nothing is told of a run before its start is."""

    def __init__(self, work: Work, profile: CliProfile) -> None:
        self.done = trio.Event()
        """It is complete, or can become nothing."""
        self._begun = trio.Event()
        self._work = work
        self._output = Output(profile)
        self._too_long: TooLong | None = None
        self._errors = 0
        self._bytes = 0
        """Of the answer, those that were handed on as bytes."""

    def hear(self, event: OutputProduced) -> None:
        """The program wrote something."""
        if event.stream is Stream.STDERR:
            self._work.tell(OutputProduced(Stream.STDERR, event.data, self._errors))
            self._errors += len(event.data)
        elif not self.done.is_set():
            self._tell(partial(self._output.feed, event.data))
            if self._output.complete:
                self.done.set()

    def begin(self) -> None:
        """The run's start has been told, or never will be."""
        self._begun.set()

    async def wait_room(self) -> None:
        """Wait until more is welcome."""
        await self._begun.wait()
        await self._work.wait_room()

    def _tell(self, read: Callable[[], Iterator[str | bytes]]) -> None:
        try:
            for piece in read():
                self._say(piece)
        except TooLong as error:
            self._too_long = error
            self.done.set()

    def _say(self, said: str | bytes) -> None:
        if isinstance(said, str):
            for text in split_text(said):
                self._work.tell(TextProduced(text))
            return
        for data in split_bytes(said):
            self._work.tell(OutputProduced(Stream.STDOUT, data, self._bytes))
            self._bytes += len(data)

    def finish(self) -> None:
        """No more of it comes.

        Raises: `WorkFailed`.
        """
        if self._too_long is None:
            self._tell(self._output.end)
        if self._too_long is not None:
            raise WorkFailed("resource_exhausted", str(self._too_long))
        if self._output.left_out:
            said = f"{self._output.left_out} objects of the output held no text, delta or content"
            self._work.tell(Diagnosed(said, "cli_objects"))
