"""The protocol's own operations of the control plane: their exact shapes, and bad ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import attrs
import pytest

from fleetgate.core.commands import CancelScope
from fleetgate.gateway.fakes import kodelet_operations as ops
from fleetgate.gateway.fakes.kodelet_operations import KNOWN, OWN
from fleetgate.gateway.fakes.operations import CONTROLLER, BadLine, Workers, read_operation


def read(line: str) -> tuple[str | None, Any]:
    return read_operation(line.encode(), KNOWN)


@pytest.mark.parametrize(
    ("line", "id", "operation"),
    [
        ('{"op":"runners","id":"1"}', "1", ops.Runners()),
        (
            '{"op":"open","id":"2","runner":"runner_…","run":"run_x","conv":"c1",'
            '"reserved":["get_goal"],"caps":{"interactiveUI":true},'
            '"agent":{"provider":"openai","model":"m"}}',
            "2",
            ops.Open(
                "runner_…",
                "run_x",
                "c1",
                ("get_goal",),
                ops.Caps(interactiveUI=True),
                ops.Agent("openai", "m"),
            ),
        ),
        (
            '{"op":"call","id":"3","run":"run_x","method":"command.execute",'
            '"params":{"runId":"run_x","message":"hi"}}',
            "3",
            ops.Call("run_x", "command.execute", {"runId": "run_x", "message": "hi"}),
        ),
        (
            '{"op":"tool","id":"4","run":"run_x","call":"t1","tool":"bash",'
            '"input":{"command":"ls"},"updates":true,"timeoutMs":5000}',
            "4",
            ops.Tool("run_x", "t1", "bash", {"command": "ls"}, True, 5000),
        ),
        (
            '{"op":"cancel","id":"5","run":"run_x","reason":"context canceled"}',
            "5",
            ops.Cancel("run_x", "context canceled"),
        ),
        (
            '{"op":"cancel","id":"5","run":"r","scope":"session"}',
            "5",
            ops.Cancel("r", scope=CancelScope.SESSION),
        ),
        (
            '{"op":"close","id":"6","run":"run_x","status":"succeeded"}',
            "6",
            ops.Close("run_x", "succeeded"),
        ),
        ('{"op":"run","id":"7","run":"run_x"}', "7", ops.Run("run_x")),
        ('{"op":"abort","id":"8","reason":"4"}', "8", ops.Abort("4")),
        ('{"op":"workers","id":"9"}', "9", Workers()),
    ],
)
def test_the_shapes_of_the_page(line: str, id: str, operation: object) -> None:
    assert read(line) == (id, operation)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"op":"opn","id":"1"}', "did you mean open?"),
        ('{"op":"open","id":"1","runner":"r","run":"x"}', "conv: is missing"),
        ('{"op":"open","id":"1","runner":"r","run":"x","convo":"c"}', "did you mean conv?"),
        (
            '{"op":"open","id":"1","runner":"r","run":"x","conv":"c","caps":{"interactiveUi":true}}',
            "caps.interactiveUi: unknown key; did you mean interactiveUI?",
        ),
        (
            '{"op":"open","id":"1","runner":"r","run":"x","conv":"c","agent":{"modle":"m"}}',
            "agent.modle: unknown key; did you mean model?",
        ),
        (
            '{"op":"tool","id":"1","run":"r","call":"c","tool":"t","timeoutMS":5}',
            "did you mean timeoutMs?",
        ),
        ('{"op":"tool","id":"1","run":"r","call":"c","tool":"t","timeoutMs":"5"}', "timeoutMs"),
        ('{"op":"close","id":"1","run":"r","status":"succeded"}', "did you mean succeeded?"),
        ('{"op":"close","id":"1","run":"r","status":"lost"}', "succeeded, failed, canceled"),
        ('{"op":"abort","id":"1","reason":4}', "reason: expected a string"),
    ],
)
def test_bad_ones_are_refused_with_the_nearest_that_there_is(line: str, words: str) -> None:
    with pytest.raises(BadLine) as refused:
        read(line)
    assert refused.value.id == "1"
    assert words in refused.value.refusal.message


@pytest.mark.parametrize("span", ["-1", "1.5", "NaN", "1" + "0" * 400])
def test_a_tool_has_a_time_that_a_clock_can_count(span: str) -> None:
    with pytest.raises(BadLine) as refused:
        read(f'{{"op":"tool","id":"1","run":"r","call":"c","tool":"t","timeoutMs":{span}}}')
    assert "timeoutMs: " in refused.value.refusal.message


def test_nothing_of_what_every_controller_takes_is_gone() -> None:
    assert set(CONTROLLER) <= set(KNOWN)
    for name in set(CONTROLLER) & set(OWN):
        old, new = (set(attrs.fields_dict(known[name])) for known in (CONTROLLER, OWN))
        assert old <= new


PAGE = Path(__file__).parents[3] / "docs" / "reference" / "fakes.md"


def test_the_page_has_each_with_its_members() -> None:
    section = PAGE.read_text().partition("## Operations of `kodelet-control-plane`")[2]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line[:3] == "| `"]
    documented = {
        name.strip().strip("`"): re.findall(r"`(\w+)`(\??)", members)
        for name, members, *_ in rows
        if name.strip().strip("`") in OWN
    }
    assert documented == {
        name: [
            (field.name, "" if field.default is attrs.NOTHING else "?")
            for field in attrs.fields(kind)
        ]
        for name, kind in OWN.items()
    }


def test_the_examples_of_the_page_are_right() -> None:
    section = PAGE.read_text().partition("## Operations of `kodelet-control-plane`")[2]
    block = section.partition("```json\n")[2].partition("```")[0]
    read_ones = [read_operation(line.encode(), KNOWN) for line in block.splitlines() if line]
    assert {type(operation) for _, operation in read_ones} >= set(OWN.values())
    assert [id for id, _ in read_ones] == [json.loads(line)["id"] for line in block.splitlines()]
