"""Updates by the short way: the same as by the long one, whatever comes."""

import json
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given as given_that
from hypothesis import strategies as st

from fleetgate.core import events as e
from fleetgate.core.commands import RunSpec, ShellCommand
from fleetgate.core.ids import RunId
from fleetgate.protocols.api import Record
from fleetgate.protocols.bulk import Bulk, Heard
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.southbound import ControlPlaneConnection
from fleetgate.protocols.kodelet.testing import beat, yes
from fleetgate.protocols.kodelet.updates import _NEAR, TRIES
from fleetgate.protocols.testing import Playbook, outcome

SHELL, TOOL = "gui/r1", "gui/r2"
RUNS = (SHELL, TOOL)


@contextmanager
def at_work(**settings: Any) -> Generator[tuple[Playbook, ControlPlaneConnection, dict[str, str]]]:
    """A control plane with both runs, and the wire ids of their calls."""
    with t.ready(t.play_control_plane(**settings)) as play:
        calls = {
            SHELL: t.running(play, SHELL, RunSpec(ShellCommand("ls"))),
            TOOL: t.running(play, TOOL),
        }
        assert isinstance(play.connection, ControlPlaneConnection)
        yield play, play.connection, calls


def update(call: str, sequence: int, text: str, run: str = SHELL, **result: Any) -> Any:
    """As a genuine runner shows what `bash` has said."""
    metadata = {"command": "ls", "exitCode": 0, "output": text, "executionTime": 3_000_000}
    structured = {"toolName": "bash", "success": True, "metadataType": "bash"}
    shown = {
        "assistantFacing": f"<result>\n{text or '(No output)'}\n</result>\n",
        "structured": {**structured, "metadata": metadata, "timestamp": "2026-08-12T09:00:01Z"},
    }
    named = {"runId": t.wire_id(run), "toolCallId": "call_1", "requestId": call}
    return {**named, "sequence": sequence, "result": {**shown, **result}}


def as_go(params: Any) -> bytes:
    """As Go writes it."""
    message = {"jsonrpc": "2.0", "method": "tool.update", "params": params}
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").encode()


def spaced(params: Any) -> bytes:
    return t.tell("tool.update", params)


def backwards(params: Any) -> bytes:
    """Members in another order, and the sequence behind the text."""
    message = {"params": params, "method": "tool.update", "jsonrpc": "2.0"}
    return json.dumps(message, sort_keys=True, indent=1, ensure_ascii=False).encode() + b"\n"


def out(data: str, offset: int = 0) -> e.Event:
    return e.OutputProduced(e.Stream.STDOUT, data.encode(), offset)


@pytest.mark.parametrize("write", [as_go, spaced, backwards])
def test_updates_behind_the_first_one_are_taken_together(write: Callable[[Any], bytes]) -> None:
    with at_work() as (_, connection, calls):
        frames = [
            write(update(calls[SHELL], n, text))
            for n, text in ((1, "a\n"), (2, "a\nb\n"), (5, "c\n"), (6, 'c\nd"e\n'))
        ]
        assert connection.receive_bulk(frames, 1) is None, "none was read yet"
        connection.receive(frames[0], 1)
        taken = connection.receive_bulk([*frames[1:], beat("running", t.wire_id(SHELL))], 1)
        said = (out("b\n", 2), out("c\n", 4), out('d"e\n', 6))
        assert taken == Bulk(3, {RunId(SHELL): ((said, None, None),)})
        assert connection.receive_bulk(frames, 1) is None, "none of them is newer"
        other = write(update(calls[TOOL], 1, "x", TOOL))
        assert connection.receive_bulk([other], 1) is None, "each run has its own"
        connection.receive(other, 1)
        later = write(update(calls[TOOL], 2, "xy", TOOL))
        newest = write(update(calls[SHELL], 7, "z", SHELL))
        taken = connection.receive_bulk([later, newest], 1)
        news: dict[RunId, Sequence[Heard]] = {
            RunId(TOOL): (((e.TextProduced("y"),), None, None),),
            RunId(SHELL): (((out("z", 10),), None, None),),
        }
        assert taken == Bulk(2, news)


def test_what_is_shown_without_metadata_is_taken_as_well() -> None:
    structured = {"toolName": "x", "success": True, "timestamp": "2026-08-12T09:00:01.5+02:00"}
    with at_work() as (_, connection, calls):
        facing = [
            as_go(update(calls[TOOL], n, text, TOOL, structured=structured))
            for n, text in ((1, ""), (2, "ä\n"), (3, "ä\nb"))
        ]
        connection.receive(facing[0], 1)
        taken = connection.receive_bulk(facing[1:], 1)
        assert taken is not None
        assert [event for events, *_ in taken.heard[RunId(TOOL)] for event in events] == [
            e.TextProduced("ä\n"),
            e.TextProduced("b"),
        ]
        display = [
            as_go(update(calls[TOOL], n, "x", TOOL, displayOutput=text, structured=structured))
            for n, text in ((4, "ä\nbc"), (5, "ä\nbcd"), (6, ""))
        ]
        assert connection.receive_bulk(display, 1) is None
        connection.receive(display[0], 1)
        taken = connection.receive_bulk(display[1:], 1)
        assert taken == Bulk(1, {RunId(TOOL): (((e.TextProduced("d"),), None, None),)})


def test_an_update_that_shows_nothing_new_is_no_record() -> None:
    with at_work() as (play, connection, calls):
        frames = [as_go(update(calls[SHELL], n, "a\n")) for n in (1, 2, 3)]
        connection.receive(frames[0], 1)
        assert connection.receive_bulk(frames[1:], 1) is None
        play.receive(frames[1]).expect()
        assert connection.receive_bulk(frames[2:], 1) is None


def test_a_run_that_ends_takes_what_its_updates_were_read_with_along() -> None:
    with at_work() as (play, connection, calls):
        first, second = (as_go(update(calls[SHELL], n, f"{n}\n")) for n in (1, 2))
        connection.receive(first, 1)
        play.receive(yes(calls[SHELL], t.executed())).take()
        assert connection.receive_bulk([second], 1) is None
        play.receive(second).expect()


def test_updates_that_name_no_call_are_none_of_the_one_that_comes_later() -> None:
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order(SHELL, RunSpec(ShellCommand("ls"))))
        (opening,) = t.said(play.take())
        first, second = (as_go(update("", n, f"{n}\n")) for n in (1, 2))
        play.receive(first).expect()
        play.receive(yes(opening["id"], t.manifest(SHELL))).take()
        assert isinstance(play.connection, ControlPlaneConnection)
        assert play.connection.receive_bulk([second], 1) is None
        play.receive(second).expect()


def test_a_message_that_is_too_long_ends_the_link_by_the_short_way_too() -> None:
    with at_work(message_limit=2000) as (_, connection, calls):
        first = as_go(update(calls[SHELL], 1, "a"))
        connection.receive(first, 1)
        long = as_go(update(calls[SHELL], 2, "a" * 2000))
        assert connection.receive_bulk([long], 1) is None
        failed, _ = outcome(connection, [long], 1, bulk=True)
        assert failed is not None
        assert "the limit is 2000" in failed


@pytest.mark.limit("protocols/kodelet/updates._NEAR")
def test_a_run_that_is_named_late_is_read_whole() -> None:
    for near, taken in ((_NEAR - 200, True), (_NEAR, False)):
        with at_work() as (_, connection, calls):
            frames = [
                as_go({"own": "." * near, **update(calls[SHELL], n, f"{n}\n")}) for n in (1, 2)
            ]
            connection.receive(frames[0], 1)
            assert (connection.receive_bulk(frames[1:], 1) is not None) is taken


@pytest.mark.limit("protocols/kodelet/updates.TRIES")
def test_a_runner_whose_updates_are_never_alike_is_read_whole_from_some_time_on() -> None:
    def exited(n: int) -> bytes:
        params = update(calls[SHELL], n, f"{n}\n")
        params["result"]["structured"]["metadata"]["exitCode"] = n // 2
        return as_go(params)

    with at_work() as (_, connection, calls):
        for n in range(2, 2 * TRIES + 2, 2):
            assert connection.receive_bulk([exited(n)], 1) is None
            connection.receive(exited(n), 1)
        assert connection.receive_bulk([exited(n + 1)], 1) is not None, "the last is alike"
        for n in range(2 * TRIES + 2, 4 * TRIES + 4, 2):
            assert connection.receive_bulk([exited(n)], 1) is None
            connection.receive(exited(n), 1)
        assert connection.receive_bulk([exited(n + 1)], 1) is None


# --- both ways


def _put(pattern: str, by: str) -> Callable[[bytes], bytes]:
    return lambda frame: re.sub(pattern.encode(), lambda _: by.encode(), frame, count=1)


def _bent(at: float, byte: int) -> Callable[[bytes], bytes]:
    def bend(frame: bytes) -> bytes:
        where = int(at * len(frame))
        return frame[:where] + bytes([byte]) + frame[where + 1 :]

    return bend


numbers = st.sampled_from(
    [
        "0",
        "-0",
        "01",
        "-1",
        "1.0",
        "1e1",
        "true",
        "null",
        '"1"',
        "999",
        "9" * 18,
        "9" * 19,
        "9" * 30,
    ]
)
times = st.sampled_from(
    [
        '"2026-02-28T23:59:59Z"',
        '"2026-02-30T00:00:00Z"',
        '"2026-1-1T0:0:0Z"',
        "",
        '""',
        "null",
        "7",
        '"2026-08-12T9:00:01,5-24:00"',
        '"2026-08-12T09:00:01Z "',
        '"2026\\u002d08-12T09:00:01Z"',
    ]
)
strings = st.sampled_from(
    [
        '"a"',
        '"\\ud800"',
        '"\\ud83d\\ude00"',
        '"\\/\\b\\f\\t\\u0000"',
        '"\\x"',
        '"a\tb"',
        '"',
        "null",
        '"ä€\\u2028"',
        '"a","b":"c"',
        '"a\\","executionTime":5,"x":"b"',
        '[{"a":"b"}]',
        "5",
        '"a" ',
    ]
)
changes = st.one_of(
    st.builds(lambda by: _put(r'(?<="sequence":)\s*\d+', by), numbers),
    st.builds(lambda by: _put(r'(?<="executionTime":)\s*\d+', by), numbers),
    st.builds(lambda by: _put(r'(?<="exitCode":)\s*\d+', by), numbers),
    st.builds(lambda by: _put(r'"20[^"]*"', by), times),
    st.builds(lambda by: _put(r'(?<="output":)\s*"(?:[^"\\]|\\.)*"', by), strings),
    st.builds(lambda by: _put(r'(?<="assistantFacing":)\s*"(?:[^"\\]|\\.)*"', by), strings),
    st.builds(
        _put,
        st.sampled_from(['"output"', '"executionTime"', '"timestamp"', '"sequence"', '"metadata"']),
        st.sampled_from(
            [
                '"Output"',
                '"output":"x","output"',
                '"OUTPUT":"x","output"',
                '"outp\\u0075t"',
                '"x"',
                '"executionTime":7,"executionTime"',
                '"Metadata"',
                '"displayOutput"',
                '"ſequence"',
            ]
        ),
    ),
    st.builds(
        _put,
        st.sampled_from(['"assistantFacing"', '"structured"', '"params"', '"runId"']),
        st.sampled_from(
            [
                '"displayOutput":"d","structured"',
                '"displayOutput":"","assistantFacing"',
                '"DisplayOutput":"D","assistantFacing"',
                '"id":null,"params"',
                '"id":"x","params"',
                '"runId":"other","runId"',
                '"error":null,"params"',
                '"Method":"x","params"',
            ]
        ),
    ),
    st.builds(_bent, st.floats(0, 1, exclude_max=True), st.integers(0, 255)),
    st.sampled_from(
        [
            lambda f: f + b" ",
            lambda f: f + b"}",
            lambda f: f[:-1],
            lambda f: b"\xef\xbb\xbf" + f,
            lambda f: f.replace(b"call_1", b"call_2"),
            lambda f: f.replace(b"server:", b"server:9"),
            lambda f: f.replace(b"a", b"\xff"),
            lambda f: f.replace(b"true", b"false"),
            lambda f: f.replace(b'"bash","metadata"', b'"other","metadata"'),
        ]
    ),
)
shapes = st.sampled_from([as_go, as_go, as_go, spaced, backwards])
texts = st.sampled_from(["a\n", "a\nb\n", "a\nb\nc\n", "c", "ä€\n", "", 'q"\\\n', "x" * 20_000])
frames = st.tuples(
    st.sampled_from([SHELL, SHELL, TOOL]),
    st.sampled_from([1, 1, 1, 1, 2, 0, -1]),
    texts,
    st.lists(changes, max_size=2),
)
others = st.sampled_from(["beat", "end", "goodbye"])


@given_that(st.lists(frames | frames | frames | others, max_size=14), shapes, st.booleans())
def test_updates_come_to_the_same_by_the_short_way_as_by_the_long_one(
    script: list[tuple[str, int, str, list[Callable[[bytes], bytes]]] | str],
    write: Callable[[Any], bytes],
    warm: bool,
) -> None:
    with at_work() as (_, short, calls), at_work() as (_, long, same_calls):
        assert calls == same_calls
        came: list[bytes] = []
        last = dict.fromkeys(RUNS, 0)
        for run in RUNS if warm else ():  # so that its next ones are read in the shortest way
            came += (write(update(calls[run], n, f"warm {n}\n", run)) for n in (1, 2, 3))
            last[run] = 3
        for each in script:
            match each:
                case "beat":
                    came.append(beat("running", *map(t.wire_id, RUNS)))
                case "end":
                    came.append(yes(calls[SHELL], t.executed("ended")))
                case str():
                    came.append(t.tell("runner.goodbye"))
                case run, step, text, bends:
                    last[run] += step
                    frame = write(update(calls[run], max(0, last[run]), text, run))
                    for bend in bends:
                        frame = bend(frame)
                    came.append(frame)
        for run in RUNS:  # what each side knows of a run is shown by what it makes of these
            for sequence, text in ((1, "a\nb\n"), (4, "a\nb\nc\n"), (8, "c"), (99, "ä€\n")):
                came.append(write(update(calls[run], sequence, text, run)))
        # Nearly all of the frames come by themselves, so that what one does is not hidden.
        for at in range(0, len(came), 3):
            some = came[at : at + 3]
            assert outcome(short, some, 1, bulk=True) == outcome(long, some, 1, bulk=False)
        assert short.record() == long.record()
        ends = [yes(calls[run], t.executed("the end")) for run in RUNS]
        assert outcome(short, ends, 2, bulk=True) == outcome(long, ends, 2, bulk=False)
        ended = [s for s in short.closed("gone", 3) if isinstance(s, Record)]
        assert ended == [s for s in long.closed("gone", 3) if isinstance(s, Record)]
