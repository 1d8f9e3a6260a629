"""What a run said, as a tool's result."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.protocols.kodelet import transcript as tr
from fleetgate.protocols.kodelet.structs import write
from fleetgate.protocols.testing import START

WORK = tr.Work("echo", {"a": 1}, "/w", START)
OK = Outcome(RunState.SUCCEEDED, Reason.EXITED)


def told(*events: e.Event, limit: int = 1000) -> tr.Transcript:
    made = tr.Transcript(limit)
    for event in events:
        made.tell(event)
    return made


def test_everything_is_said_and_the_answer_is_the_agent_s() -> None:
    made = told(
        e.ReasoningProduced("hm. "),
        e.TextProduced("yes"),
        e.MessageEnded(),
        e.ToolCalled("Bash", {"c": 1}),
        e.ToolProgressed("..."),
        e.ToolReturned("ok"),
        e.GapFound(1, 2, "gone"),
        e.RunStarted(),
    )
    assert made.said == ('hm. yes\n\n[Bash] {"c":1}\n...ok\n\n[events 1 to 2 are missing: gone]\n')
    assert made.answer == "yes\n[events 1 to 2 are missing: gone]\n"


@given(st.text(max_size=20))
def test_fault_2_a_character_cut_in_two_is_whole_again(text: str) -> None:
    data = text.encode()
    pieces = [e.OutputProduced(Stream.STDOUT, data[at : at + 1], at) for at in range(len(data))]
    assert told(*pieces).answer == text


@given(st.lists(st.text(min_size=1, max_size=9), max_size=9), st.integers(1, 40))
def test_i9_what_is_kept_is_bounded_and_only_grows(texts: list[str], limit: int) -> None:
    made = tr.Transcript(limit)
    before = ""
    for text in texts:
        made.tell(e.TextProduced(text))
        assert made.said.startswith(before)
        before = made.said
    whole = "".join(texts)
    if len(whole.encode()) <= limit:
        assert made.said == whole
    else:
        assert made.said.endswith("[output beyond this was dropped]")
        assert len(made.said.encode()) <= limit + 40


@pytest.mark.limit("protocols/kodelet/transcript.DISPLAY_LIMIT")
@given(st.integers(131_000, 131_100), st.sampled_from(["a", "é", "€", "😀"]))
def test_case_63_a_display_is_cut_at_a_character(size: int, character: str) -> None:
    text = character * (size // len(character.encode()) + 1)
    shown = tr.display(text)
    if len(text.encode()) <= tr.DISPLAY_LIMIT:
        assert shown == text
    else:
        assert tr.DISPLAY_LIMIT - 3 <= len(shown.encode()) <= tr.DISPLAY_LIMIT
        assert shown.endswith(tr.MARKER)


def test_a_success() -> None:
    done = tr.conclude(WORK, told(e.TextProduced("x")), OK, START)
    assert write(done) == {
        "input": {"a": 1},
        "result": {
            "assistantFacing": "<result>\nx\n</result>\n",
            "displayOutput": "x",
            "structured": {
                "toolName": "echo",
                "success": True,
                "timestamp": "2023-11-14T22:13:20Z",
            },
        },
    }


def test_silence_is_said() -> None:
    done = tr.conclude(WORK, told(), OK, START)
    assert done.result.assistant_facing == "<result>\n(No output)\n</result>\n"


def test_a_final_answer_stands_for_the_text() -> None:
    outcome = Outcome(RunState.SUCCEEDED, Reason.EXITED, text="final")
    done = tr.conclude(WORK, told(e.TextProduced("x")), outcome, START)
    assert "final" in done.result.assistant_facing
    assert done.result.display_output == "x"


def test_failures_say_how() -> None:
    for outcome, text in (
        (Outcome(RunState.FAILED, Reason.EXITED, exit_code=3), "exit code 3"),
        (Outcome(RunState.FAILED, Reason.TIMED_OUT, "too late"), "too late"),
        (Outcome(RunState.LOST, Reason.LOST), "the run ended as lost"),
    ):
        result = tr.conclude(WORK, told(e.TextProduced("x")), outcome, START).result
        assert result.error == result.structured.error == text
        assert result.assistant_facing == (f"<error>\n{text}\n</error>\n<result>\nx\n</result>\n")


def test_a_shell_s_metadata() -> None:
    work = tr.Work("bash", {"command": "ls"}, "/w", START)
    failed = Outcome(RunState.FAILED, Reason.EXITED, "", exit_code=2)
    result = tr.conclude(work, told(e.TextProduced("x")), failed, START + 5).result
    assert result.display_output == ""
    assert result.structured.metadata == {
        "command": "ls",
        "exitCode": 2,
        "output": "x",
        "executionTime": 5,
        "workingDir": "/w",
    }


def kept(native: Any) -> Any:
    outcome = Outcome(RunState.SUCCEEDED, Reason.EXITED, native={"kodelet": native})
    return tr.conclude(WORK, told(), outcome, START)


def test_another_runner_s_result_goes_on_as_it_is() -> None:
    result = {"assistantFacing": "x", "structured": {"toolName": "other", "success": True}}
    assert kept({"input": {"b": 2}, "result": result}).result.structured.tool_name == "other"
    for native in (None, {}, {"result": 1}, {"result": {"structured": {"timestamp": ""}}}):
        assert kept(native).result.structured.tool_name == "echo"


def test_an_update_shows_the_text_in_both_places() -> None:
    result = tr.snapshot(WORK, "é", START)
    assert result.display_output == "é"
    assert result.assistant_facing == "<result>\né\n</result>\n"


def test_what_started_nothing() -> None:
    refused = tr.refuse("bash", None, "no", START)
    assert (refused.input, refused.result.error) == ({}, "no")
    assert refused.result.structured.metadata is None


def test_an_empty_answer_is_none() -> None:
    outcome = Outcome(RunState.SUCCEEDED, Reason.EXITED, text="")
    result = tr.conclude(WORK, told(e.TextProduced("x")), outcome, START).result
    assert "<result>\nx\n</result>" in result.assistant_facing
