"""`just fuzz`: what it runs, what it says, and that it fails where something is found."""

from __future__ import annotations

import faulthandler
import importlib
from pathlib import Path
from typing import Any

import pytest
from tool_loading import load_tool

fuzz: Any = load_tool("fuzz")
Target: Any = fuzz.Target
mutate_bytes: Any = importlib.import_module("fuzz_bytes").mutate_bytes

SOUND = Target("a.sound", (b"x",), lambda data: True, mutate_bytes)
OTHER = Target("a.other", (b"x",), lambda data: True, mutate_bytes, share=3)


def _run_bad(data: bytes) -> bool:
    if data == b"x":
        raise AssertionError("it is x")
    return True


BAD = Target("b.bad", (b"x", b"xyz"), _run_bad, mutate_bytes)
DEAF = Target("c.deaf", (b"x",), lambda data: False, mutate_bytes)


@pytest.fixture(autouse=True)
def _targets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = {target.name: target for target in (SOUND, OTHER, BAD, DEAF)}

    def chosen(names: Any) -> list[Any]:
        return [known[name] for name in known if not names or name in names or name[0] in names]

    monkeypatch.setattr(fuzz, "TARGETS", known)
    monkeypatch.setattr(fuzz, "chosen", chosen)
    # pytest has its own watch, which the tool's would replace
    monkeypatch.setattr(faulthandler, "is_enabled", lambda: False)
    monkeypatch.setattr(fuzz, "KEPT", tmp_path / "kept")


def test_a_group_shares_its_inputs_out() -> None:
    assert fuzz.shares([SOUND, OTHER, BAD], 1000) == {"a.sound": 250, "a.other": 750, "b.bad": 1000}
    assert fuzz.shares([SOUND], 1000) == {"a.sound": 1000}


def test_each_round_goes_from_target_to_target() -> None:
    asked = fuzz.chunks([SOUND, BAD], 5000, "s")
    assert [(name, first, count) for name, _, first, count in asked[:4]] == [
        ("a.sound", 0, 625),
        ("b.bad", 0, 625),
        ("a.sound", 625, 625),
        ("b.bad", 625, 625),
    ]
    assert sum(count for *_, count in asked) == 10_000
    assert max(count for *_, count in fuzz.chunks([SOUND], 100_000, "s")) == fuzz.CHUNK


def test_what_is_sound_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["a", "--inputs", "400"]) == 0
    said = capsys.readouterr().out
    assert "a: 400 inputs, 400 taken, 3 watched for memory" in said
    assert "0 findings" in said


def test_what_is_found_is_shown_once_and_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert fuzz.main(["b", "--inputs", "2"]) == 1
    said = capsys.readouterr().out
    assert "b.bad: AssertionError: it is x (" in said
    assert "just fuzz b.bad --seed 0 --at 0" in said
    (kept,) = (tmp_path / "kept").iterdir()
    assert kept.read_text() == "78\n"
    with pytest.raises(AssertionError, match="it is x"):
        fuzz.main(["b.bad", "--hex", str(kept), "--shrink"])
    assert fuzz.main(["b.bad", "--at", "1"]) == 0
    assert "nothing found" in capsys.readouterr().out


def test_a_hang_is_seen_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tries: list[bytes] = []

    def spin(data: bytes) -> bool:
        tries.append(data)
        while len(tries) == 1:
            pass
        raise AssertionError("nothing would have interrupted this")

    monkeypatch.setattr(importlib.import_module("fuzz_engine"), "CPU_SECONDS", 0.05)
    assert fuzz.again(Target("d.deep", (b"x",), spin, mutate_bytes), b"x", shrink=False) == 1
    assert tries == [b"x"]
    assert "Hang: more than 0.05 CPU seconds" in capsys.readouterr().out


def test_what_takes_no_input_at_all_proves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["c", "--inputs", "50"]) == 1
    assert "c.deaf: nothing was taken, which proves nothing" in capsys.readouterr().out


def test_time_that_is_over_ends_the_round(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["a", "--inputs", "8000", "--within", "0"]) == 0
    assert "a: 1000 inputs, 1000 taken" in capsys.readouterr().out


def test_one_input_is_of_one_target(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        fuzz.main(["a", "--at", "0"])
    assert "name one target" in capsys.readouterr().err
