"""What a fake has seen: bounded, in order, and looked through for what is expected."""

from __future__ import annotations

import re
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core.commands import Origin, Prompt, RunSpec
from fleetgate.core.events import Recorded, TextProduced
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import Append, ForgetRun, PutNote, PutRun
from fleetgate.core.run import Run
from fleetgate.gateway.fakes import seen as module
from fleetgate.gateway.fakes.seen import NotSeen, Seen, describe, fits, frame_of


def a_frame(number: int, **members: Any) -> dict[str, Any]:
    line = {
        "event": "frame",
        "dir": "in",
        "link": 1,
        "number": number,
        "time": number,
        "size": 2,
        "name": "hello",
        "message": {"a": number},
        "raw": "e30=",
    }
    return line | members


def test_a_frame_has_its_bytes_and_one_that_cannot_be_read_has_none() -> None:
    frame = frame_of(a_frame(1))
    assert (frame.raw, frame.rule, frame.name, frame.message) == (b"{}", "", "hello", {"a": 1})
    bad = frame_of(a_frame(2, raw=None, message=None, name="", rule="no JSON"))
    assert (bad.raw, bad.rule) == (None, "no JSON")


def test_the_oldest_go_first_by_number_and_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ITEMS", 3)
    seen = Seen()
    for number in range(1, 6):
        seen.put(a_frame(number))
        seen.put({"event": "link", "state": "up", "reason": str(number)})
    assert [frame.number for frame in seen.frames()] == [3, 4, 5]
    assert [line["reason"] for line in seen.events()] == ["3", "4", "5"]
    assert seen.shown(0)[0] == "(2 older frames were left out)"
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    seen.put(a_frame(6, message="x" * 2000))
    assert [frame.number for frame in seen.frames()] == [6]


def test_runs_are_as_they_were_last_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RUNS", 2)
    seen = Seen()
    runs = [Run(RunId(name), RunSpec(Prompt("x")), Origin("l", name), 1) for name in "abc"]
    seen.written([PutNote("s", "k", b"v"), *map(PutRun, runs)])
    assert [run["run"] for run in seen.runs()] == ["b", "c"]
    event = Recorded(RunId("b"), Seq(1), 2, TextProduced("hi"))
    seen.written([Append(RunId("b"), (event,), 0), Append(RunId("gone"), (), 0)])
    assert seen.runs()[0]["last_seq"] == 1
    assert seen.events()[0]["text"] == "hi"
    seen.written([ForgetRun(RunId("b"))])
    assert [run["run"] for run in seen.runs()] == ["c"]


async def test_what_comes_later_wakes_whoever_expects_it(autojump_clock: MockClock) -> None:
    seen = Seen()
    seen.open()
    found: list[dict[str, Any]] = []

    async def expect() -> None:
        found.append(await seen.expect("frame", 5, None, {"name": "late"}))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(expect)
        await wait_all_tasks_blocked()
        seen.put(a_frame(1))
        await wait_all_tasks_blocked()
        assert found == []
        seen.put(a_frame(2, name="late"))
    assert found[0]["number"] == 2
    with pytest.raises(NotSeen, match=r"frame lines that came: 2"):
        await seen.expect("frame", 5, None, {"name": "late"})


async def test_nobody_uses_up_what_an_expectation_that_was_cancelled_waited_for() -> None:
    seen = Seen()
    with trio.move_on_after(0):
        await seen.expect("link", 5, None, {})
    seen.put({"event": "link", "state": "up", "reason": ""})
    assert (await seen.expect("link", 0, None, {}))["state"] == "up"


@given(st.dictionaries(st.text(), st.integers() | st.text()), st.integers())
def test_what_has_all_members_fits_and_what_lacks_one_does_not(
    members: dict[str, int | str], extra: int
) -> None:
    assert fits(members, {**members, "\0extra": extra})
    assert not fits({**members, "\0extra": extra}, members)


def test_members_are_looked_for_in_depth_and_patterns_searched() -> None:
    value = {"a": {"b": "some text", "c": [1, {"d": 2}]}}
    assert fits({"a": {"b": re.compile("me te")}}, value)
    assert fits({"a": {"c": [1, {"d": 2}]}}, value)
    assert not fits({"a": {"b": re.compile("^text")}}, value)
    assert not fits({"a": {"b": {"c": 1}}}, value)
    assert not fits({"a": {"c": re.compile("1")}}, value)


def test_a_line_for_people_has_no_control_characters_and_an_end() -> None:
    bad = a_frame(1, name="", rule="no JSON", message={"x": "\x1b[2J" + "y" * 500})
    said = describe(bad)
    assert said.startswith("in  cannot be read  refused: no JSON  {")
    assert "\x1b" not in said
    assert len(said) < 300


def test_a_frame_is_shown_whole_where_that_is_wanted() -> None:
    seen = Seen()
    seen.put(a_frame(1, time=1, message={"text": "x" * 1000}))
    assert len(seen.shown(0)[0]) < 300
    assert "x" * 1000 in seen.shown(0, whole=True)[0]


def test_what_is_shown_is_in_order_and_counts_from_its_beginning() -> None:
    seen = Seen()
    second = 1_000_000_000
    seen.put(a_frame(1, time=1))
    seen.put(a_frame(2, time=5 * second))
    seen.put({"event": "link", "state": "down", "reason": "gone", "time": 6 * second})
    seen.put({"event": "worker", "worker": "w", "state": "away", "time": 6 * second})
    shown = seen.shown(4 * second)
    assert [line.split()[:3] for line in shown] == [
        ["+1.000", "s", "in"],
        ["+2.000", "s", "link"],
    ]
    assert shown[1].endswith('{"state": "down", "reason": "gone"}')
