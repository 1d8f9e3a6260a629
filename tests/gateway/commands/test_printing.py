"""What a run produces is on stdout, what there is to know about it on stderr."""

from __future__ import annotations

import io
import json
import typing
from argparse import Namespace
from typing import Any

import pytest
from hypothesis import find, given

from fleetgate.core import events as e
from fleetgate.core.ids import Epoch, RunId, Seq, WorkerId
from fleetgate.core.testing import events, recorded
from fleetgate.gateway.commands.printing import (
    Channel,
    JsonSink,
    PeopleSink,
    Waiting,
    open_sink,
    words_of,
)
from fleetgate.gateway.render import Line, event_line


def _line(event: e.Event) -> Line:
    return event_line(e.Recorded(RunId("admin/r"), Seq(1), 1, event))


class Screen:
    """A sink for people with its two streams."""

    def __init__(self, *, terminal: bool, quiet: bool = False) -> None:
        self._out, self._err = io.BytesIO(), io.BytesIO()
        self.sink = PeopleSink(
            Channel(self._out, terminal), Channel(self._err, terminal), quiet=quiet
        )

    def show(self, *events: e.Event) -> tuple[bytes, bytes]:
        for event in events:
            self.sink.event(_line(event))
        return self._out.getvalue(), self._err.getvalue()


RAW = b"\x1b[31mred\xff\r\n"


def test_into_a_pipe_output_is_as_it_was() -> None:
    screen = Screen(terminal=False)
    out, err = screen.show(
        e.OutputProduced(e.Stream.STDOUT, RAW),
        e.OutputProduced(e.Stream.STDERR, b"\x1bwarn"),
        e.TextProduced("\x1btext"),
    )
    assert out == RAW + b"\x1btext"
    assert err == b"\x1bwarn"


def test_on_a_terminal_no_escape_sequence_acts() -> None:
    screen = Screen(terminal=True)
    out, err = screen.show(
        e.OutputProduced(e.Stream.STDOUT, RAW),
        e.OutputProduced(e.Stream.STDERR, b"\x1b]0;x\x07"),
        e.TextProduced("\x1b[2J"),
        e.Diagnosed("\x1b[1m"),
    )
    assert b"\x1b" not in out + err
    assert out == b"^[[31mred\\xff\n^[[2J\n"
    assert err == b"^[]0;x^G\nnote: ^[[1m\n"


def test_a_character_split_between_chunks_is_whole_on_a_terminal() -> None:
    data = "漢".encode()
    screen = Screen(terminal=True)
    out, _ = screen.show(
        e.OutputProduced(e.Stream.STDOUT, data[:1]), e.OutputProduced(e.Stream.STDOUT, data[1:])
    )
    assert out == data


def test_notes_begin_a_line_of_their_own_on_a_terminal_and_leave_a_pipe_alone() -> None:
    events = (e.TextProduced("a"), e.MessageEnded(), e.TextProduced("b"), e.RunStarted(3))
    assert Screen(terminal=True).show(*events) == (b"a\nb\n", b"started, pid 3\n")
    assert Screen(terminal=False).show(*events) == (b"ab", b"started, pid 3\n")


def test_quiet_shows_only_what_is_produced() -> None:
    out, err = Screen(terminal=False, quiet=True).show(
        e.RunStarted(), e.TextProduced("a"), e.OutputProduced(e.Stream.STDERR, b"e")
    )
    assert (out, err) == (b"a", b"e")


def test_json_is_every_event() -> None:
    out = io.BytesIO()
    sink = JsonSink(out)
    lines = [_line(e.RunStarted()), _line(e.OutputProduced(e.Stream.STDOUT, RAW))]
    for line in lines:
        sink.event(line)
    assert [json.loads(line) for line in out.getvalue().splitlines()] == lines


@pytest.mark.limit("gateway/commands/printing.MAX_DETAIL")
@pytest.mark.parametrize(
    ("event", "words"),
    [
        (e.RunAssigned(WorkerId("hosts/h"), Epoch(1)), "given to hosts/h"),
        (e.RunStarted(), "started"),
        (e.ReasoningProduced("hm"), "hm"),
        (e.ToolCalled("Bash", {"command": "ls"}), 'calls the tool Bash {"command": "ls"}'),
        (e.ToolReturned("x" * 300), "the tool returned " + "x" * 200 + "…"),
        (
            e.ApprovalRequested("a1", "Bash"),
            "waits for an approval: Bash (answer with: gateway approve admin/r a1)",
        ),
        (
            e.ApprovalRequested("--all; rm -rf ~", "Bash"),
            "waits for an approval: Bash "
            "(answer with: gateway approve -- admin/r '--all; rm -rf ~')",
        ),
        (e.Diagnosed("odd"), "note: odd"),
        (e.GapFound(3, 5, "pruned"), "events 3 to 5 are gone: pruned"),
        (
            e.RunFinished(e.Outcome(e.RunState.SUCCEEDED, e.Reason.EXITED, exit_code=0)),
            "succeeded (exited), exit code 0",
        ),
        (
            e.RunFinished(
                e.Outcome(e.RunState.FAILED, e.Reason.TIMED_OUT, "late", signal="SIGKILL")
            ),
            "failed (timed_out), SIGKILL: late",
        ),
        (
            e.RunFinished(
                e.Outcome(e.RunState.FAILED, e.Reason.EXITED, "exit code 3", exit_code=3)
            ),
            "failed (exited), exit code 3",
        ),
        (e.InputAccepted(4), "took its input up to number 4"),
        (
            e.ApprovalResolved("a1", e.Decision.ALLOW_ONCE),
            "approval a1 was answered: allow_once",
        ),
        (e.StateChanged(e.RunState.STARTING, "accepted"), "starting: accepted"),
        (e.StateChanged(e.RunState.QUEUED, "queued"), "queued"),
        (e.StateChanged(e.RunState.RUNNING), "running"),
        (e.SessionOpened("s1", "opus"), "its session is s1, model opus"),
        (e.SessionOpened("s1"), "its session is s1"),
        (e.UsageReported(3, 5), "used 3 input tokens and 5 output tokens"),
        (e.UsageReported(None, 5, {"cost": 1}), 'used 5 output tokens: {"cost": 1}'),
        (e.UsageReported(), "told its usage"),
        (e.RateLimited(), "held up by a rate limit"),
        (e.HistoryCompacted({"by": "half"}), 'its history was compacted: {"by": "half"}'),
        (e.CommandsListed(), "has named its commands"),
        (e.ToolProgressed("half way"), "the tool says: half way"),
    ],
)
def test_words(event: e.Event, words: str) -> None:
    assert words_of(_line(event)) == words


def test_what_a_newer_gateway_says_is_shown_as_it_comes() -> None:
    line = {"run": "r", "seq": 1, "time": 1, "type": "LidOpened", "by": "ada", "why": None}
    assert words_of(line) == "LidOpened: by ada"


@pytest.mark.parametrize("kind", typing.get_args(e.Event))
def test_no_event_is_shown_by_its_internal_name(kind: type[e.Event]) -> None:
    produced = (e.TextProduced, e.OutputProduced, e.MessageEnded)
    if kind not in produced:
        line = _line(find(events(kind), lambda _: True))
        assert not words_of(line).startswith(kind.__name__)


def test_a_state_that_is_repeated_is_one_line() -> None:
    queued = e.StateChanged(e.RunState.STARTING, "queued")
    _, err = Screen(terminal=False).show(queued, queued, e.RunStarted(3), queued)
    assert err == b"starting: queued\nstarted, pid 3\nstarting: queued\n"


@given(recorded())
def test_every_event_can_be_shown(event: e.Recorded) -> None:
    screen = Screen(terminal=True)
    screen.sink.event(event_line(event))
    out, err = screen.show()
    assert b"\x1b" not in out + err


def test_every_kind_of_event_was_drawn() -> None:
    kinds = set(typing.get_args(e.Event))
    assert e.RunFinished in kinds
    assert len(kinds) == 21


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def _terminal() -> tuple[_Terminal, io.BytesIO]:
    raw = io.BytesIO()
    return _Terminal(raw, encoding="utf-8", write_through=True), raw


def test_waiting_gives_way_to_the_first_output(monkeypatch: pytest.MonkeyPatch) -> None:
    err, raw = _terminal()
    out, product = _terminal()
    monkeypatch.setattr("sys.stderr", err)
    monkeypatch.setattr("sys.stdout", out)
    arguments = Namespace(json=False, quiet=False)
    with open_sink(arguments, waiting="waits for a worker") as sink:
        assert isinstance(sink, Waiting)
        sink.event(_line(e.RunAssigned(WorkerId("hosts/h"), Epoch(1))))
        sink.event(_line(e.TextProduced("hello")))
        sink.stop()
    assert b"given to hosts/h\n" in raw.getvalue()
    assert raw.getvalue().endswith(b"\x1b[2K")  # the spinner's line is wiped
    assert product.getvalue() == b"hello"


@pytest.mark.parametrize(("json_wanted", "kind"), [(True, JsonSink), (False, PeopleSink)])
def test_into_a_pipe_there_is_no_waiting(
    json_wanted: bool, kind: type[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with open_sink(Namespace(json=json_wanted, quiet=False), waiting="waits") as sink:
        assert isinstance(sink, kind)
    assert capsys.readouterr().err == ""
