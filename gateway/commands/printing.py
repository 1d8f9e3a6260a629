"""A run's events as they come.

On stdout goes what the run produces: an agent's words, a program's output. On stderr goes
what there is to know about it. Into a pipe bytes go as they are; on a terminal no escape
sequence in them acts.
"""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from base64 import b64decode
from collections.abc import Generator
from contextlib import contextmanager
from typing import BinaryIO, Final, Protocol

from fleetgate.gateway.printable import PrintableStream, printable
from fleetgate.gateway.render import Line, encode

MAX_DETAIL: Final = 200
"""Characters of free-form JSON in a line for people."""


class Sink(Protocol):
    """What takes a run's events."""

    def event(self, line: Line) -> None:
        """The next event, as `render.event_line` has it."""
        ...


class JsonSink:
    """Every event as a JSON line on stdout."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def event(self, line: Line) -> None:
        """Write it."""
        self._out.write(encode(line))
        self._out.flush()


class Channel:
    """A stream that bytes of others go to. `terminal`: made harmless on the way."""

    def __init__(self, out: BinaryIO, terminal: bool) -> None:
        self._out = out
        self._text = PrintableStream() if terminal else None
        self._fresh = True

    def write(self, data: bytes) -> None:
        """Write bytes, whatever is in them."""
        if self._text is not None:
            data = self._text.feed(data).encode()
        if data:
            self._out.write(data)
            self._out.flush()
            self._fresh = data.endswith(b"\n")

    def end_line(self) -> None:
        """On a terminal, begin a new line unless one has just begun."""
        if self._text is not None and not self._fresh:
            self.write(b"\n")


class PeopleSink:
    """For people. `quiet`: only what the run produces."""

    def __init__(self, out: Channel, err: Channel, *, quiet: bool = False) -> None:
        self._out = out
        self._err = err
        self._quiet = quiet
        self._said = ""

    def event(self, line: Line) -> None:
        """Show it."""
        match line["type"]:
            case "TextProduced":
                self._out.write(line["text"].encode(errors="replace"))
            case "OutputProduced":
                to = self._out if line["stream"] == "stdout" else self._err
                to.write(b64decode(line["data_base64"]))
            case "MessageEnded":
                self._out.end_line()
            case _ if not self._quiet:
                self._once(words_of(line))
            case _:
                pass

    def _once(self, text: str) -> None:
        """A note, but not the same one twice in a row: some workers repeat a state."""
        if text != self._said:
            self.note(text)
        self._said = text

    def note(self, text: str) -> None:
        """A line about the run, on stderr."""
        self._out.end_line()
        self._err.end_line()
        self._err.write(f"{printable(text)}\n".encode(errors="replace"))


def words_of(line: Line) -> str:
    """An event that is no output, as a sentence."""
    match line["type"]:
        case "RunAssigned":
            return f"given to {line['worker']}"
        case "RunStarted":
            return "started" if line["pid"] is None else f"started, pid {line['pid']}"
        case "ReasoningProduced":
            return str(line["text"])
        case "ToolCalled":
            return f"calls the tool {line['name']} {_short(line['input'])}"
        case "ToolReturned":
            return f"the tool returned {_short(line['output'])}"
        case "ApprovalRequested":
            return f"waits for an approval: {line['title']} (answer with: {_approve(line)})"
        case "ApprovalResolved":
            return f"approval {line['approval']} was answered: {line['decision']}"
        case "InputAccepted":
            return f"took its input up to number {line['through']}"
        case "Diagnosed":
            return f"note: {line['message']}"
        case "GapFound":
            return f"events {line['from_seq']} to {line['to_seq']} are gone: {line['reason']}"
        case "RunFinished":
            return _ending(line["outcome"])
        case _:
            return _state_of(line)


def _approve(line: Line) -> str:
    """What answers an approval, to be copied into a shell: the names in it are of peers."""
    names = [str(line["run"]), str(line["approval"])]
    mark = ["--"] if any(name.startswith("-") for name in names) else []
    return shlex.join(["gateway", "approve", *mark, *names])


def _state_of(line: Line) -> str:
    """What is said of the run itself, or of the agent in it."""
    match line["type"]:
        case "StateChanged":
            state, detail = str(line["state"]), str(line["detail"])
            return state if detail in ("", state) else f"{state}: {detail}"
        case "SessionOpened":
            model = f", model {line['model']}" if line["model"] else ""
            return f"its session is {line['native_session']}{model}"
        case "UsageReported":
            return _usage(line)
        case "RateLimited":
            return _with("held up by a rate limit", line["detail"])
        case "HistoryCompacted":
            return _with("its history was compacted", line["detail"])
        case "CommandsListed":
            return _with("has named its commands", line["detail"])
        case "ToolProgressed":
            return f"the tool says: {_short(line['text'])}"
        case _:  # of a gateway that is newer than this command
            return _plainly(line)


def _usage(line: Line) -> str:
    counts = {"input": line["input_tokens"], "output": line["output_tokens"]}
    told = [f"{count} {what} tokens" for what, count in counts.items() if count is not None]
    return _with(f"used {' and '.join(told)}" if told else "told its usage", line["detail"])


def _with(said: str, detail: object) -> str:
    return f"{said}: {_short(detail)}" if detail else said


def _ending(outcome: Line) -> str:
    said = f"{outcome['state']} ({outcome['reason']})"
    if outcome["exit_code"] is not None:
        said += f", exit code {outcome['exit_code']}"
    if outcome["signal"]:
        said += f", {outcome['signal']}"
    message = outcome["message"]
    if message in ("", f"exit code {outcome['exit_code']}"):
        return said
    return f"{said}: {message}"


def _plainly(line: Line) -> str:
    place = ("run", "seq", "time", "type", "native_seq")
    members = {key: value for key, value in line.items() if key not in place}
    said = ", ".join(f"{key} {_short(value)}" for key, value in members.items() if value)
    return f"{line['type']}: {said}" if said else str(line["type"])


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_DETAIL else f"{text[:MAX_DETAIL]}…"


class Waiting:
    """Shows on a terminal that nothing has come yet; gives way to the first output."""

    def __init__(self, sink: Sink, text: str) -> None:
        # Imported here: rich takes longer to load than most commands take to run.
        from rich.console import Console

        self._sink = sink
        self._status = Console(stderr=True).status(text)
        self._status.start()

    def event(self, line: Line) -> None:
        """Pass it on."""
        self.stop()
        self._sink.event(line)
        if line["type"] == "RunAssigned":
            self._status.update(f"waits for its start at {printable(line['worker'])}")
            self._status.start()

    def stop(self) -> None:
        """Give way. Repeating it changes nothing."""
        self._status.stop()


@contextmanager
def open_sink(arguments: Namespace, waiting: str | None = None) -> Generator[Sink, None, None]:
    """Where events go, as the command line says. `waiting` is shown until the first comes."""
    out, err = sys.stdout, sys.stderr
    if arguments.json:
        yield JsonSink(out.buffer)
        return
    people = PeopleSink(
        Channel(out.buffer, out.isatty()), Channel(err.buffer, err.isatty()), quiet=arguments.quiet
    )
    if waiting is None or arguments.quiet or not err.isatty():
        yield people
        return
    shown = Waiting(people, waiting)
    try:
        yield shown
    finally:
        shown.stop()
