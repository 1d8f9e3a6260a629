"""The engine can be believed: an input is the same one everywhere, and what is wrong is found."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import attrs
import pytest
from fuzz_bytes import mutate_bytes
from fuzz_engine import (
    AT_REST,
    TRACED_EVERY,
    Broken,
    Finding,
    Tally,
    Target,
    demand,
    input_of,
    play,
    shrunk,
    try_input,
)
from fuzz_json import mutate_json, text_of, tree_of
from fuzz_wire import split, varint, wired

from fleetgate.schemas.rvbox.v1 import agent_pb2

HERE = Path(__file__).parent
SEEDS = (b'{"a":1}', b'{"b":[2,"x"]}')
PLAIN = Target("test.plain", SEEDS, lambda data: data in SEEDS, mutate_bytes)
DIGESTS = """
import sys
sys.path.insert(0, sys.argv[1])
from test_fuzz_engine import digest_of
for name in sys.argv[2:]:
    print(name, digest_of(name))
"""


def digest_of(name: str) -> str:
    """Of some inputs of a target."""
    module = importlib.import_module(f"fuzz_{name.partition('.')[0]}")
    (target,) = (each for each in module.TARGETS if each.name == name)
    inputs = b"|".join(input_of(target, "s", number) for number in range(60))
    return hashlib.sha256(inputs).hexdigest()


def test_the_first_inputs_are_the_seeds_and_the_others_are_not() -> None:
    assert [input_of(PLAIN, "s", number) for number in range(2)] == [*SEEDS]
    others = {input_of(PLAIN, "s", number) for number in range(2, 200)}
    assert len(others) > 150
    assert others != {input_of(PLAIN, "another", number) for number in range(2, 200)}


def test_an_input_is_the_same_in_every_process() -> None:
    names = ["agency.server", "rvbox.envelope"]
    done = subprocess.run(
        [sys.executable, "-P", "-c", DIGESTS, str(HERE), *names],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert done.splitlines() == [f"{name} {digest_of(name)}" for name in names]


def test_an_input_is_no_longer_than_its_target_allows() -> None:
    short = attrs.evolve(PLAIN, most=10)
    assert max(len(input_of(short, "s", number)) for number in range(2, 100)) == 10


def test_a_planted_fault_is_found_with_its_number_and_shortened() -> None:
    def run(data: bytes) -> bool:
        demand(b"[[" not in data, "two brackets")
        return True

    planted = attrs.evolve(PLAIN, name="test.planted", run=run)
    tally = play(planted, "s", range(4000))
    assert tally.inputs == 4000
    assert tally.findings
    first = tally.findings[0]
    assert first.what.startswith("Broken: two brackets (")
    assert input_of(planted, "s", first.number) == first.data
    assert first.again == f"just fuzz test.planted --seed s --at {first.number}"
    assert shrunk(planted, first.data, first.what) == b"[["


def test_whatever_is_raised_is_a_finding_and_names_its_line() -> None:
    def run(data: bytes) -> bool:
        raise ExceptionGroup("two", [KeyError("k"), ValueError("v")])

    what, taken = try_input(attrs.evolve(PLAIN, run=run), b"x")
    assert not taken
    assert what.startswith("ExceptionGroup: two (2 sub-exceptions) (")
    assert "KeyError: 'k'" in what
    assert Path(__file__).name in what


def test_a_hang_ends_and_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz_engine.CPU_SECONDS", 0.05)

    def run(data: bytes) -> bool:
        while data == SEEDS[1]:
            try:
                sum(range(1000))
            except Exception:
                continue
        return True

    tally = play(attrs.evolve(PLAIN, run=run), "s", range(2))
    (hang,) = tally.findings
    assert (tally.inputs, hang.number) == (2, 1)
    assert hang.what.startswith("Hang: more than 0.05 CPU seconds (")


def test_memory_beyond_what_the_input_is_worth_is_a_finding() -> None:
    def run(data: bytes) -> bool:
        return len(bytes(2 * AT_REST)) > 0

    tally = play(attrs.evolve(PLAIN, run=run), "s", [0, 1, 3, TRACED_EVERY])
    assert [finding.number for finding in tally.findings] == [0, TRACED_EVERY]
    assert "of memory; " in tally.findings[0].what
    assert tally.traced == 2


def test_what_comes_of_several_rounds_is_added_up() -> None:
    found = Finding("t", "s", 1, b"", "what")
    total = Tally(1, 1, 0, 5)
    total.add(Tally(2, 0, 1, 3, [found]))
    assert total == Tally(3, 1, 1, 5, [found])


def test_demand() -> None:
    demand(1, "one")
    with pytest.raises(Broken, match="nothing"):
        demand("", "nothing")


# --- mutations


def test_a_tree_that_nobody_bends_is_the_same_document() -> None:
    text = b'{"a":[1,-0.0,1e400,"\xc3\xa9"],"a":{"b":null,"c":true}}'
    assert text_of(tree_of(text)).encode() == text
    assert tree_of(b"no json") == "no json"


def test_json_is_bent_into_documents_and_into_what_is_none() -> None:
    made = [mutate_json(Random(number), SEEDS[number % 2], SEEDS) for number in range(600)]
    whole = sum(map(_is_json, made))
    assert 200 < whole < 590
    assert any(len(data) > 3000 for data in made)
    assert any(data.count(b'"a"') > 1 for data in made)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def test_messages_are_bent_into_messages_and_into_what_is_none() -> None:
    envelope = agent_pb2.AgentEnvelope(session_id="s", session_generation=7)
    envelope.stdin_write.issue_uuid = "u"
    seed = envelope.SerializeToString()
    mutate = wired(agent_pb2.AgentEnvelope.DESCRIPTOR)
    made = [mutate(Random(number), seed, (seed,)) for number in range(600)]
    whole = sum(split(data) is not None for data in made)
    assert 200 < whole < 595
    assert len(set(made)) > 400


def test_a_number_may_take_more_bytes_than_it_needs() -> None:
    assert varint(300) == b"\xac\x02"
    assert varint(1, 3) == b"\x81\x80\x00"
    fields = split(b"\x08" + varint(1, 3))
    assert fields is not None
    assert fields[0].written() == b"\x08\x81\x80\x00"
    assert split(b"\x0a\x05a") is None
