"""`gateway fidelity`."""

from __future__ import annotations

import json

import pytest

from fleetgate.gateway.fidelity.cli import all_columns, run
from fleetgate.gateway.registry import adapters


def test_all_is_every_protocol_by_itself_and_every_pair() -> None:
    known = adapters(())
    columns = all_columns()
    assert len(columns) == len(known) + len(known) ** 2 == len(set(columns))


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["agency"], "name two protocols"),
        (["agency", "rvbix"], "did you mean rvbox?"),
        (["--json", "--markdown"], "not allowed with"),
    ],
)
def test_a_command_line_that_makes_no_sense(argv, words: str, capsys) -> None:
    assert run(argv) == 2
    assert words in capsys.readouterr().err


def test_one_pair_as_lines(capsys) -> None:
    assert run(["rvbox", "rvbox", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["bridge"] for line in lines} == {"rvbox>rvbox"}
    output = [line for line in lines if line["row"] == "OutputProduced.data"]
    assert [line["verdict"] for line in output] == ["carried", "carried"]
