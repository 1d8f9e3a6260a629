"""What a program writes becomes the run's events, piece by piece."""

from __future__ import annotations

import pytest
import trio

from fleetgate.core.commands import Prompt, RunSpec
from fleetgate.core.events import MAX_BODY, Diagnosed, OutputProduced, Stream, TextProduced
from fleetgate.core.ids import RunId
from fleetgate.gateway.local import cli_output
from fleetgate.gateway.local.cli_answer import Answer
from fleetgate.gateway.local.cli_profile import CliProfile, CompletionMarker
from fleetgate.gateway.local.work import Work, WorkFailed


def answer_of(told, **members) -> Answer:
    work = Work(RunId("gui/run-1"), RunSpec(Prompt("x")), told)
    return Answer(work, CliProfile("a", **members))


def wrote(data: bytes, stream: Stream = Stream.STDOUT) -> OutputProduced:
    return OutputProduced(stream, data, 7)


def test_output_is_text_and_errors_keep_their_stream_and_place(told) -> None:
    answer = answer_of(told)
    answer.hear(wrote("ü".encode()[:1]))
    answer.hear(wrote(b"e1", Stream.STDERR))
    answer.hear(wrote("ü".encode()[1:]))
    answer.hear(wrote(b"e2", Stream.STDERR))
    answer.finish()
    assert told.events == [
        OutputProduced(Stream.STDERR, b"e1", 0),
        TextProduced("ü"),
        OutputProduced(Stream.STDERR, b"e2", 2),
    ]


def test_what_is_no_text_keeps_its_bytes_between_texts(told) -> None:
    answer = answer_of(told)
    for piece in (b"caf", b"\xe9 ", "é".encode()[:1], "é".encode()[1:] + b"\xff\xfe", b"\xe2\x82"):
        answer.hear(wrote(piece))
    answer.finish()
    assert told.events == [
        TextProduced("caf"),
        OutputProduced(Stream.STDOUT, b"\xe9 ", 0),
        OutputProduced(Stream.STDOUT, "é".encode() + b"\xff\xfe", 2),
        OutputProduced(Stream.STDOUT, b"\xe2\x82", 6),
    ]


async def test_there_is_no_room_before_the_run_began(told, autojump_clock) -> None:
    answer = answer_of(told)
    with trio.move_on_after(1) as waited:
        await answer.wait_room()
    assert waited.cancelled_caught
    answer.begin()
    await answer.wait_room()


def test_long_text_is_split(told) -> None:
    answer = answer_of(told, output_format="json")
    answer.hear(wrote(b"x" * (3 * MAX_BODY)))
    answer.finish()
    assert told.text == "x" * (3 * MAX_BODY)
    assert all(len(event.text) <= MAX_BODY for event in told.of(TextProduced))


def test_after_the_marker_nothing_is_heard(told) -> None:
    marker = CompletionMarker("END")
    answer = answer_of(told, persistent=True, completion_marker=marker)
    answer.hear(wrote(b"a\nEND\n"))
    assert answer.done.is_set()
    answer.hear(wrote(b"late\n"))
    answer.finish()
    assert told.text == "a\n"


def test_objects_that_say_nothing_are_counted(told) -> None:
    answer = answer_of(told, output_format="ndjson")
    answer.hear(wrote(b'{"a":1}\n{"b":2}\n{"text":"t"}'))
    answer.finish()
    assert told.text == "t"
    (said,) = told.of(Diagnosed)
    assert said.message.startswith("2 objects of the output held no text")


def test_a_document_without_an_end_fails_the_run(told, monkeypatch) -> None:
    monkeypatch.setattr(cli_output, "MAX_DOCUMENT", 10)
    answer = answer_of(told, output_format="json")
    answer.hear(wrote(b"x\n" * 10))
    assert answer.done.is_set()
    with pytest.raises(WorkFailed, match="resource_exhausted: the answer is a document"):
        answer.finish()
