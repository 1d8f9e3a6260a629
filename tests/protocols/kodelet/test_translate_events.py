"""Results as events and outcomes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import events as e
from fleetgate.core.events import MAX_BODY, Reason, RunState, Stream
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import translate_events as te
from fleetgate.protocols.kodelet.errors import RpcError, with_reason
from fleetgate.protocols.kodelet.structs import write
from fleetgate.protocols.kodelet.wire import Structured, ToolExecuted, ToolResult


def result(text: str, **members: Any) -> ToolResult:
    return ToolResult(display_output=text, **members)


@given(st.text(max_size=50), st.lists(st.integers(0, 50)))
def test_snapshots_that_grow_are_shown_once(text: str, cuts: list[int]) -> None:
    shown = te.Shown(shell=False)
    news: list[e.Event] = []
    for cut in sorted(cuts):
        news += shown.news(result(text[:cut]))
    news += shown.news(result(text))
    assert "".join(each.text for each in news if isinstance(each, e.TextProduced)) == text


@given(st.text(max_size=50), st.integers(0, 50))
def test_output_of_a_shell_counts_its_bytes(text: str, cut: int) -> None:
    shown = te.Shown(shell=True)
    news = [*shown.news(result(text[:cut])), *shown.news(result(text))]
    data = b""
    for event in news:
        assert isinstance(event, e.OutputProduced)
        assert (event.stream, event.offset) == (Stream.STDOUT, len(data))
        data += event.data
    assert data == text.encode()


def test_long_news_come_in_pieces() -> None:
    text = "€" * MAX_BODY
    news = te.Shown(shell=False).news(result(text))
    assert all(len(each.text.encode()) <= MAX_BODY for each in news)  # type: ignore[union-attr]
    assert "".join(each.text for each in news) == text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given_", "text"),
    [
        (ToolResult("<result>\nx\n</result>\n"), "x"),
        (ToolResult("<error>\nbad\n</error>\n"), "bad"),
        (ToolResult("<result>\n(No output)\n</result>\n"), ""),
        (ToolResult("plain"), "plain"),
        (ToolResult("a", "b"), "b"),
        (ToolResult("a", "b", structured=Structured(metadata_type="x", metadata={})), "b"),
        (
            ToolResult(
                "a", "", structured=Structured(metadata_type="bash", metadata={"output": "c"})
            ),
            "c",
        ),
        (
            ToolResult(
                "a", structured=Structured(metadata_type="bash", metadata={"OUTPUT": "c", "x": 1})
            ),
            "c",
        ),
        (
            ToolResult(
                "a",
                structured=Structured(
                    metadata_type="bash", metadata={"output": "c", "Output": "d"}
                ),
            ),
            "d",
        ),
    ],
)
def test_what_a_result_says(given_: ToolResult, text: str) -> None:
    assert te.text_of(given_) == text


@pytest.mark.parametrize("value", [None, {}, {"result": None}, {"result": {"structured": {}}}])
def test_an_empty_result_is_accepted_and_is_no_success(value: Any) -> None:
    outcome, said = te.to_outcome(te.read_executed(value), shell=False)
    assert (outcome.state, outcome.reason, said) == (RunState.FAILED, Reason.ERROR, ())


@pytest.mark.parametrize(
    "structured",
    [
        {"timestamp": ""},
        {"timestamp": "yesterday"},
        {"timestamp": "2026-08-12 09:00:00Z"},
        {"timestamp": "2026-13-01T00:00:00Z"},
        {"timestamp": "2026-02-30T00:00:00Z"},
        {"timestamp": "2026-02-00T00:00:00Z"},
        {"timestamp": "2026-06-30T23:59:60Z"},
        {"timestamp": "2026-06-30T24:00:00Z"},
        {"timestamp": "2026-06-30t23:59:59Z"},
        {"timestamp": "2026-06-30T23:59:59z"},
        {"timestamp": "2026-06-30T23:59:59+0200"},
        {"success": "yes"},
        {"metadataType": "bash", "metadata": {"exitCode": "0"}},
        {"metadataType": "bash", "metadata": []},
        {"metadataType": "file_read", "metadata": {"lines": "x"}},
    ],
)
def test_what_cannot_be_read(structured: Any) -> None:
    with pytest.raises(Malformed):
        te.read_executed({"result": {"structured": structured}})
    with pytest.raises(Malformed):
        te.read_update({"result": {"structured": structured}})


@pytest.mark.parametrize("parts", ["x", [5], [{"text": 1}], [{"image_url": {}}]])
def test_parts_that_cannot_be_read(parts: Any) -> None:
    with pytest.raises(Malformed, match="contentParts"):
        te.read_executed({"result": {"contentParts": parts}})


def test_parts_are_kept_as_go_writes_them() -> None:
    part = {"type": "image", "image_url": "data:", "mime_type": "image/png"}
    read = te.read_executed({"result": {"contentParts": [{**part, "detail": "", "future": 1}]}})
    assert write(read)["result"]["contentParts"] == [part]


@pytest.mark.parametrize(
    "stamp",
    [
        "0001-01-01T00:00:00Z",
        "0000-02-29T00:00:00Z",
        "2026-08-12T09:00:00.123456789+02:00",
        "2024-02-29T3:00:00,5-23:59",
    ],
)
def test_times(stamp: str) -> None:
    value = {"result": {"structured": {"success": True, "timestamp": stamp}}}
    assert te.to_outcome(te.read_executed(value), shell=False)[0].state is RunState.SUCCEEDED


@pytest.mark.parametrize(
    ("error", "success", "state"),
    [
        ("", True, RunState.SUCCEEDED),
        ("x", True, RunState.FAILED),
        ("", False, RunState.FAILED),
    ],
)
def test_either_word_makes_a_failure(error: str, success: bool, state: RunState) -> None:
    executed = ToolExecuted({}, ToolResult("a", error=error, structured=Structured("t", success)))
    assert te.to_outcome(executed, shell=False)[0].state is state


@pytest.mark.limit("protocols/kodelet/translate_events.MAX_NATIVE")
def test_a_large_result_is_not_kept_and_that_is_said() -> None:
    executed = ToolExecuted({}, ToolResult("x" * te.MAX_NATIVE, structured=Structured("t", True)))
    outcome, (said,) = te.to_outcome(executed, shell=False)
    assert outcome.native is None
    assert isinstance(said, e.Diagnosed)
    assert said.code == "result_not_kept"


def test_rpc_errors_are_failures_with_their_code() -> None:
    assert "-32603: boom" in te.from_error(RpcError(-32603, "boom")).message
    too_large = te.from_error(with_reason(-32000, "big", "result_too_large"))
    assert "result_too_large: big" in too_large.message


@pytest.mark.parametrize(
    ("value", "state", "text"),
    [
        ({"matched": True, "action": "respond"}, RunState.SUCCEEDED, ""),
        ({"matched": False}, RunState.FAILED, "no such command"),
        (None, RunState.FAILED, "no such command"),
        ({"matched": True, "action": "run_agent"}, RunState.FAILED, "a runner has no model"),
    ],
)
def test_commands(value: Any, state: RunState, text: str) -> None:
    outcome, said = te.to_command_outcome(value)
    assert outcome.state is state
    assert text in outcome.message
    assert said == ()


@pytest.mark.limit("protocols/kodelet/translate_events._PIECE")
@pytest.mark.parametrize("size", [1, 16_384, 16_385, 200_000])
def test_what_a_command_responds_is_said_in_pieces(size: int) -> None:
    text = "é" * size
    value = {"matched": True, "action": "respond", "response": text}
    outcome, said = te.to_command_outcome(value)
    assert all(isinstance(each, e.TextProduced) for each in said)
    assert "".join(each.text for each in said if isinstance(each, e.TextProduced)) == text
    assert outcome.text is not None
    assert max(len(each.encode()) for each in (outcome.text, *_texts(said))) <= e.MAX_BODY


def _texts(said: tuple[e.Event, ...]) -> list[str]:
    return [each.text for each in said if isinstance(each, e.TextProduced)]


@pytest.mark.parametrize("name", ["exitCode", "EXITCODE"])
@pytest.mark.parametrize(("error", "message"), [("exit code 3", ""), ("boom", "boom"), ("", "")])
def test_a_command_that_failed_keeps_what_says_more_than_its_exit_code(
    error: str, message: str, name: str
) -> None:
    metadata = {name: 3, "output": ""}
    structured = Structured("bash", False, metadata_type="bash", metadata=metadata)
    executed = ToolExecuted({}, ToolResult("", error=error, structured=structured))
    outcome, _ = te.to_outcome(executed, shell=True)
    assert (outcome.exit_code, outcome.message) == (3, message)
