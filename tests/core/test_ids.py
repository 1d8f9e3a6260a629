"""The identifiers are distinct to a checker and plain at run time."""

import itertools

import pytest
from mypy import api

from fleetgate.core import ids

RAW = {
    "RunId": "gui/run-1",
    "SessionId": "chat-1",
    "WorkerId": "hosts/a",
    "Seq": 1,
    "Epoch": 2,
    "OrderNumber": 3,
}


@pytest.mark.parametrize("name", RAW)
def test_an_id_is_its_builtin_at_run_time(name: str) -> None:
    assert getattr(ids, name)(RAW[name]) is RAW[name]


def test_a_checker_refuses_one_id_in_place_of_another() -> None:
    """Every pair in one run of the checker, a line each; a line with the right one passes."""
    program = ["import fleetgate.core.ids as i"]
    wrong: set[int] = set()
    for wanted, given in itertools.product(RAW, RAW):
        program.append(f"x{len(program)}: i.{wanted} = i.{given}({RAW[given]!r})")
        if wanted != given:
            wrong.add(len(program))
    checker = ["--strict", "--config-file=", "--cache-dir=/dev/null", "--no-pretty"]
    report, trouble, _ = api.run([*checker, "-c", "\n".join(program)])
    refused = {int(line.split(":")[1]) for line in report.splitlines() if "[assignment]" in line}
    assert refused == wrong, report + trouble
