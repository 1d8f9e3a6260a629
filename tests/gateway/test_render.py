"""One JSON vocabulary for core values."""

from __future__ import annotations

import base64
import json
import typing
from types import MappingProxyType

import attrs
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import events as e
from fleetgate.core.commands import Origin, Prompt, RunSpec
from fleetgate.core.ids import Epoch, RunId, Seq, WorkerId
from fleetgate.core.run import Run
from fleetgate.core.testing import recorded
from fleetgate.core.worker import InputKind, Liveness, ProviderReport, WorkerInfo, WorkerStatus
from fleetgate.gateway.printable import printable
from fleetgate.gateway.render import encode, event_line, plain, run_line, worker_line

EVENTS = typing.get_args(e.Event)


def _record(event: e.Event, source: e.Source | None = None) -> e.Recorded:
    return e.Recorded(RunId("gui/run-1"), Seq(7), 1_700_000_000_000_000_001, event, source)


def test_an_event_line() -> None:
    line = event_line(_record(e.TextProduced("hi"), e.Source(Epoch(1), 3)))
    assert line == {
        "run": "gui/run-1",
        "seq": 7,
        "time": 1_700_000_000_000_000_001,
        "type": "TextProduced",
        "native_seq": 3,
        "text": "hi",
    }


def test_native_seq_only_where_the_worker_numbers() -> None:
    assert "native_seq" not in event_line(_record(e.MessageEnded()))
    assert "native_seq" not in event_line(_record(e.MessageEnded(), e.Source(Epoch(1), None)))


@given(st.binary())
def test_bytes_are_base64_with_text_beside_it_only_where_they_are_utf8(data: bytes) -> None:
    line = event_line(_record(e.OutputProduced(e.Stream.STDERR, data, 5)))
    assert base64.b64decode(line["data_base64"]) == data
    assert line["stream"] == "stderr"
    assert line["offset"] == 5
    try:
        assert line["text"] == data.decode()
    except KeyError:
        assert data.decode(errors="replace").encode() != data


@given(recorded())
def test_every_event_has_a_line_that_is_one_line_of_json(event: e.Recorded) -> None:
    line = event_line(event)
    text = encode(line)
    assert text.count(b"\n") == 1
    assert json.loads(text) == line
    names = {field.name for field in attrs.fields(type(event.event))} - {"data"}
    assert names <= set(line)
    assert line["type"] == type(event.event).__name__


def test_numbers_that_json_does_not_have_become_words() -> None:
    line = event_line(_record(e.RateLimited({"a": (float("nan"), float("-inf"), 1.5)})))
    assert line["detail"] == {"a": ["nan", "-inf", 1.5]}


def test_no_member_of_an_event_hides_a_member_of_the_line() -> None:
    own = {"run", "seq", "time", "type", "native_seq", "event", "id"}
    for kind in EVENTS:
        assert not own & set(attrs.fields_dict(kind)), kind


def test_half_a_surrogate_pair_survives() -> None:
    line = event_line(_record(e.TextProduced("a\ud800b")))
    assert json.loads(encode(line))["text"] == "a\ud800b"


def test_on_a_terminal_nothing_in_a_line_acts() -> None:
    """JSON itself escapes C0 only, and U+009B begins an escape sequence as ESC [ does."""
    text = "\x1b[2J\x7f\x9b2J\u202eltr\u2028\u2066 ä 漢"
    line = encode(event_line(_record(e.TextProduced(text))))
    assert printable(line.decode()) == line.decode()
    assert json.loads(line)["text"] == text
    assert "ä 漢" in line.decode()


def test_plain_turns_views_and_tuples_into_dicts_and_lists() -> None:
    value = MappingProxyType({"a": (1, MappingProxyType({"b": b"x"})), "s": e.Stream.STDOUT})
    assert plain(value) == {"a": [1, {"b": "eA=="}], "s": "stdout"}


def test_a_run_line_holds_how_it_stands_and_not_what_it_was_given() -> None:
    spec = RunSpec(Prompt("the-secret-prompt"), environment={"K": "the-secret"}, labels={"a": "b"})
    outcome = e.Outcome(e.RunState.FAILED, e.Reason.EXITED, "bad", exit_code=3)
    run = Run(
        RunId("gui/r"),
        spec,
        Origin("gui", "r"),
        created=5,
        state=e.RunState.FAILED,
        worker=WorkerId("hosts/h"),
        outcome=outcome,
        ended=9,
        usage=e.UsageReported(1, 2),
        approvals=("a1",),
    )
    line = run_line(run)
    assert "secret" not in encode(line).decode()
    assert line["run"] == "gui/r"
    assert (line["link"], line["native_run"]) == ("gui", "r")
    assert (line["state"], line["input"], line["worker"]) == ("failed", "prompt", "hosts/h")
    assert line["labels"] == {"a": "b"}
    assert line["ended"] == 9
    assert line["approvals"] == ["a1"]
    assert line["usage"] == {"input_tokens": 1, "output_tokens": 2, "detail": None}
    assert line["outcome"] == {
        "state": "failed",
        "reason": "exited",
        "message": "bad",
        "exit_code": 3,
        "signal": None,
        "text": None,
        "native": None,
    }


def test_a_run_that_has_not_ended_has_no_end() -> None:
    run = Run(RunId("gui/r"), RunSpec(Prompt("x")), Origin("gui", "r"), created=5)
    line = run_line(run)
    assert (line["ended"], line["outcome"], line["worker"]) == (None, None, None)


def test_a_worker_line() -> None:
    info = WorkerInfo(
        WorkerId("hosts/h"),
        "hosts",
        frozenset({InputKind.TOOL, InputKind.SHELL}),
        providers=(ProviderReport("claude", True),),
        detail={"os": "linux"},
    )
    line = worker_line(WorkerStatus(info, Liveness.READY, Epoch(2), None, 1, 99))
    assert json.loads(encode(line)) == line
    assert line["worker"] == "hosts/h"
    assert line["inputs"] == ["shell", "tool"]
    assert (line["liveness"], line["epoch"], line["free"], line["runs"]) == ("ready", 2, None, 1)
    assert line["providers"][0]["provider"] == "claude"
    assert line["detail"] == {"os": "linux"}
