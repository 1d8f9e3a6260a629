"""Each step is read from its table, or refused with its place and what would be right."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from fleetgate.core.events import (
    ApprovalRequested,
    ReasoningProduced,
    Stream,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UsageReported,
)
from fleetgate.gateway.config_reader import Flawed
from fleetgate.gateway.local import script_steps as s


@pytest.mark.parametrize(
    ("table", "step"),
    [
        ({"text": "hi"}, s.Say((TextProduced("hi"),))),
        ({"text": ""}, s.Say(())),
        ({"reasoning": "hm"}, s.Say((ReasoningProduced("hm"),))),
        ({"stdout": "ü\n"}, s.Write(Stream.STDOUT, "ü\n".encode())),
        ({"stderr": "e"}, s.Write(Stream.STDERR, b"e")),
        (
            {"tool_call": {"name": "bash", "input": {"a": [1, None]}}},
            s.Say((ToolCalled("bash", {"a": (1, None)}),)),
        ),
        ({"tool_result": {"output": "", "ok": True}}, s.Say((ToolReturned("", True),))),
        (
            {"tool_result": {"output": "o", "id": "c1"}},
            s.Say((ToolReturned("o", None, "c1"),)),
        ),
        (
            {"approval": {"id": "a", "title": "sure?", "detail": {"x": 1}}},
            s.Ask(ApprovalRequested("a", "sure?", {"x": 1})),
        ),
        ({"approval": {"id": "a"}}, s.Ask(ApprovalRequested("a", "a", None))),
        (
            {"usage": {"input_tokens": 3, "output_tokens": 0}},
            s.Say((UsageReported(3, 0),)),
        ),
        ({"read_input": True}, s.ReadInput()),
        ({"sleep_ms": 1500}, s.Sleep(1.5)),
        (
            {"repeat": 2, "do": [{"text": "a"}, {"repeat": 0, "do": []}]},
            s.Repeat(2, (s.Say((TextProduced("a"),)), s.Repeat(0, ()))),
        ),
        ({"drop": True}, s.Drop()),
        ({"hang": True}, s.Hang()),
        ({"finish": {}}, s.Finish()),
        ({"finish": {"exit": 3, "text": "t"}}, s.Finish(3, "t")),
        ({"fail": "broken"}, s.Fail("broken")),
    ],
)
def test_steps(table: dict[str, Any], step: s.Step) -> None:
    assert s.read_steps([table]) == (step,)


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        ({}, (), "expected an array of steps, got a table"),
        (["text"], (0,), "expected a step as a table, got a string"),
        ([{"txt": "x"}], (0, "txt"), "no step has this name; did you mean text?"),
        ([{"repeet": 2, "do": []}], (0, "do"), "no step has this name"),
        ([{}], (0,), "a step has exactly one key; this one has 0"),
        ([{"text": "a", "fail": "b"}], (0,), "a step has exactly one key; this one has 2"),
        ([{"text": 1}], (0, "text"), "expected a string, got a number"),
        ([{"sleep_ms": -1}], (0, "sleep_ms"), "expected 0 to 86400000"),
        ([{"sleep_ms": 1.5}], (0, "sleep_ms"), "expected a whole number"),
        ([{"repeat": 1}], (0, "do"), "is missing"),
        ([{"repeat": 1, "doo": []}], (0, "doo"), "goes with no repeat; did you mean do?"),
        ([{"repeat": -1, "do": []}], (0, "repeat"), "expected 0 to 1000000000"),
        ([{"repeat": 1, "do": [{"hang": False}]}], (0, "do", 0, "hang"), "expected true"),
        ([{"approval": {"title": "t"}}], (0, "approval", "id"), "is missing"),
        ([{"approval": {"id": ""}}], (0, "approval", "id"), "expected a name"),
        ([{"approval": {"id": "a", "tittle": ""}}], (0, "approval", "tittle"), "mean title?"),
        ([{"finish": {"exit": 256}}], (0, "finish", "exit"), "expected 0 to 255"),
        (
            [{"fail": "x"}, {"text": "y"}, {"text": "z"}],
            (1,),
            "nothing comes behind a step that ends",
        ),
        ([{"repeat": 1, "do": [{"finish": {}}]}, {"text": "y"}], (1,), "nothing comes behind"),
        ([{"usage": {"input_tokens": -1}}], (0, "usage", "input_tokens"), "expected 0 or more"),
        (
            [{"tool_call": {"name": "n", "input": [datetime.date(2020, 1, 1)]}}],
            (0, "tool_call", "input", 0),
            "JSON has no date; write a string",
        ),
    ],
)
def test_flaws(value: object, path: tuple[str | int, ...], words: str) -> None:
    with pytest.raises(Flawed) as caught:
        s.read_steps(value)
    assert caught.value.flaws[0].path == path
    assert words in caught.value.flaws[0].message


def test_all_flaws_of_a_list_are_told_at_once() -> None:
    with pytest.raises(Flawed) as caught:
        s.read_steps([{"text": 1}, {"text": "fine"}, {"fail": 2}], ("do",))
    assert [flaw.path for flaw in caught.value.flaws] == [("do", 0, "text"), ("do", 2, "fail")]


@pytest.mark.limit("gateway/local/script_steps.MAX_NESTED")
def test_repeats_are_not_nested_without_an_end() -> None:
    steps: list[Any] = []
    for _ in range(s.MAX_NESTED):
        steps = [{"repeat": 1, "do": steps}]
    assert s.read_steps(steps)
    with pytest.raises(Flawed, match="nested at most 32 deep"):
        s.read_steps([{"repeat": 1, "do": steps}])


@pytest.mark.limit("gateway/local/script_steps.MAX_REPEAT")
def test_unrolling_repeats_one_step_at_a_time() -> None:
    say = s.say_text("x")
    steps = (s.Repeat(s.MAX_REPEAT, (say, s.Repeat(2, (s.Hang(),)))),)
    endless = s.unrolled(steps)
    seen = [next(endless) for _ in range(6)]
    assert seen == [say, s.Hang(), s.Hang()] * 2
