"""Operations of the front end, good and bad."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.commands import CancelScope, Prompt, RunSpec, ShellCommand, Signal
from fleetgate.core.events import Decision
from fleetgate.gateway.fakes import operations as ops
from fleetgate.gateway.fakes.cli import FAKES
from fleetgate.gateway.fakes.operations import CONTROLLER, WORKER, BadLine, read_operation
from fleetgate.gateway.fakes.seen import EVENTS
from fleetgate.gateway.spec import SPEC_KEYS


def read(**members: object) -> tuple[str | None, ops.Operation]:
    return read_operation(json.dumps(members).encode(), CONTROLLER)


@pytest.mark.parametrize(
    ("members", "operation"),
    [
        ({"op": "workers"}, ops.Workers()),
        (
            {"op": "start", "run": "r", "input": {"prompt": "hi"}},
            ops.Start("r", RunSpec(Prompt("hi"))),
        ),
        (
            {
                "op": "start",
                "run": "r",
                "worker": "w",
                "input": {"line": "ls"},
                "interactive": True,
            },
            ops.Start("r", RunSpec(ShellCommand(line="ls"), interactive=True), "w"),
        ),
        (
            {"op": "send", "run": "r", "text": "x", "newline": True},
            ops.Send("r", "x", newline=True),
        ),
        ({"op": "close_input", "run": "r"}, ops.CloseInput("r")),
        (
            {"op": "signal", "run": "r", "signal": "interrupt"},
            ops.SignalOp("r", Signal.INTERRUPT),
        ),
        ({"op": "cancel", "run": "r"}, ops.Cancel("r")),
        (
            {"op": "cancel", "run": "r", "scope": "session"},
            ops.Cancel("r", CancelScope.SESSION),
        ),
        (
            {"op": "approve", "run": "r", "approval": "a", "decision": "deny"},
            ops.Approve("r", "a", Decision.DENY),
        ),
        ({"op": "follow", "run": "r", "after": 3}, ops.Follow("r", 3)),
        ({"op": "unfollow", "run": "r"}, ops.Unfollow("r")),
        ({"op": "ack", "run": "r", "through": 1 << 64}, ops.Ack("r", 1 << 64)),
        ({"op": "status", "run": "r"}, ops.Status("r")),
        ({"op": "wait", "run": "r", "timeout_ms": 5}, ops.Wait("r", 5)),
        ({"op": "usage"}, ops.Usage()),
        ({"op": "drop"}, ops.Drop()),
        ({"op": "raw", "data_base64": "AA=="}, ops.Raw("AA==")),
        ({"op": "quit"}, ops.Quit()),
    ],
)
def test_an_operation_is_read(members: dict[str, object], operation: ops.Operation) -> None:
    assert read(id="1", **members) == ("1", operation)


@pytest.mark.parametrize(
    ("line", "id", "words"),
    [
        (b"", None, "one JSON object"),
        (b"{bad", None, "one JSON object in a line; at character 2 of this one: expecting prop"),
        (b'{"op":"\xff"}', None, "one JSON object in a line; this one is not UTF-8 at byte 8"),
        (b"[" * 100_000, None, "one JSON object in a line; this one cannot be read"),
        (b'{"id":"1","op":[]}', "1", "no operation has this name; known: "),
        (b'{"id":"1","op":{"a":1}}', "1", "no operation has this name; known: "),
        (b"[1]", None, "a JSON object"),
        (b'{"op":"quit","id":"1","op":"ack"}', None, "op: this key is there twice"),
        (b'{"op":"start","id":"1","input":{"line":"a","line":"b"}}', None, "line: this key"),
        (b'{"op":"start","id":"1","run":"r","input":{"promt":"x"}}', "1", "did you mean prompt?"),
        (b'{"op":"quit"}', None, "id: expected a string"),
        (b'{"op":"quit","id":7}', None, "id: expected a string"),
        (b'{"op":"strat","id":"1"}', "1", "did you mean start?"),
        (b'{"id":"1"}', "1", "op: no operation"),
        (
            b'{"op":"emit","id":"1"}',
            "1",
            "emit is an operation of workers, not of this fake; known",
        ),
        (b'{"op":"follow","id":"1","run":"r","aftre":1}', "1", "did you mean after?"),
        (b'{"op":"follow","id":"1"}', "1", "run: is missing"),
        (b'{"op":"send","id":"1","run":7}', "1", "run: expected a string"),
        (b'{"op":"start","id":"1","run":"r","input":{"lien":"x"}}', "1", "input"),
        (b'{"op":"signal","id":"1","run":"r","signal":"stop"}', "1", "interrupt"),
        (
            b'{"op":"wait","id":"1","run":"r","timeout_ms":-1}',
            "1",
            "timeout_ms: is expected to be 0",
        ),
        (b'{"op":"wait","id":"1","run":"r","timeout_ms":1e3}', "1", "a whole number, got 1000.0"),
        (b'{"op":"wait","id":"1","run":"r","timeout_ms":NaN}', "1", "a whole number, got nan"),
        (
            b'{"op":"wait","id":"1","run":"r","timeout_ms":1%s}' % (b"0" * 400),
            "1",
            "timeout_ms: is expected to be 0 to 1000000000000",
        ),
    ],
)
def test_a_bad_line_is_refused_in_words(line: bytes, id: str | None, words: str) -> None:
    with pytest.raises(BadLine) as refused:
        read_operation(line, CONTROLLER)
    assert refused.value.id == id
    assert words in refused.value.refusal.message


def test_a_worker_takes_other_operations_than_a_controller() -> None:
    assert read_operation(b'{"op":"runs","id":"1"}', WORKER) == ("1", ops.Runs())
    line = b'{"op":"emit","id":"2","run":"r","steps":[{"text":"x"}]}'
    assert read_operation(line, WORKER) == ("2", ops.Emit("r", ({"text": "x"},)))
    with pytest.raises(BadLine):
        read_operation(b'{"op":"start","id":"1","run":"r","input":{"prompt":"x"}}', WORKER)


@given(st.binary())
def test_any_bytes_are_an_operation_or_a_bad_line(line: bytes) -> None:
    with pytest.raises(BadLine):
        read_operation(line, CONTROLLER)


PAGE = Path(__file__).parents[3] / "docs" / "reference" / "fakes.md"


def _described(name: str, kind: type[Any]) -> tuple[str, list[str], list[str]]:
    members = [
        f"{field.name}{'' if field.default is attrs.NOTHING else '?'}"
        for field in attrs.fields(kind)
        if field.name != "spec"
    ]
    sides = {"controller": CONTROLLER, "worker": WORKER}
    return name, members, [side for side, known in sides.items() if name in known]


def _documented() -> list[tuple[str, list[str], list[str]]]:
    table = PAGE.read_text().partition("## Operations\n")[2].partition("\n##")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line[:3] == "| `"]
    return [
        (
            name.strip().strip("`"),
            [name + mark for name, mark in re.findall(r"`(\w+)`(\??)", members)],
            [side.strip() for side in sides.split(",")],
        )
        for name, members, sides, _ in rows
    ]


def test_the_page_has_every_operation_with_its_members_and_side() -> None:
    known = {**CONTROLLER, **WORKER}
    assert sorted(_documented()) == sorted(_described(*each) for each in known.items())


def test_the_page_has_every_fake_and_every_member_of_a_spec() -> None:
    named = set(re.findall(r"`([\w-]+)`", PAGE.read_text()))
    assert set(FAKES) <= named
    assert named >= SPEC_KEYS


def _told() -> dict[str, set[str]]:
    """The members of each event line that the fakes write, by the text of their code."""
    found: dict[str, set[str]] = {}
    for path in sorted((Path(__file__).parents[3] / "gateway" / "fakes").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Dict(keys=[ast.Constant("event"), *keys], values=[ast.Constant(name), *_]):
                    named = {key.value for key in keys if isinstance(key, ast.Constant)}
                    found.setdefault(str(name), set()).update(map(str, named))
                case ast.Call(func=ast.Attribute(attr="_tell"), args=[ast.Constant(name)]):
                    named = {str(keyword.arg) for keyword in node.keywords}
                    found.setdefault(str(name), {"runner"}).update(named)
                case _:
                    continue
    return found


def test_a_test_may_expect_what_is_told() -> None:
    """`lost` is said where nobody reads standard output, which Python has not."""
    assert {"frame", *_told()} - {"lost"} == EVENTS


ONLY_IN_PYTHON = {"update", "ended"}
"""Events that `expect` knows, and that no line is written for."""


def test_the_page_has_every_event_with_its_members() -> None:
    told = _told()
    assert told["link"] == {"state", "reason"}
    assert told["ui"] == {"runner", "run", "method", "owner", "request"}
    rows = {
        names[0]: set(names)
        for line in PAGE.read_text().splitlines()
        if line.startswith("| `") and (names := re.findall(r"`(\w+)`", line))
    }
    assert {"frame", *told} - ONLY_IN_PYTHON <= set(rows)
    for name in set(told) - ONLY_IN_PYTHON:
        assert told[name] <= rows[name], name
