from types import MappingProxyType

from hypothesis import given

from fleetgate.core import events as e
from fleetgate.core.events import MAX_BODY, Stream
from fleetgate.core.testing import events
from fleetgate.protocols.rvbox.lines import line_of


@given(events())
def test_every_event_becomes_bytes_within_a_chunk(event: e.Event) -> None:
    stream, data = line_of(event)
    assert stream in Stream
    assert len(data) <= MAX_BODY


def test_what_the_agent_says_is_on_stdout_and_the_rest_on_stderr() -> None:
    assert line_of(e.TextProduced("hi ä")) == (Stream.STDOUT, "hi ä".encode())
    assert line_of(e.ReasoningProduced("hm")) == (Stream.STDERR, b"hm")
    called = e.ToolCalled("bash", {"command": "ls"})
    assert line_of(called) == (Stream.STDERR, b'[tool] bash {"command": "ls"}\n')
    assert line_of(e.ToolReturned("done", ok=False)) == (Stream.STDERR, b"[tool failed] done\n")
    asked = e.ApprovalRequested("a1", "Run ls?")
    assert line_of(asked) == (Stream.STDERR, b"[approval a1] Run ls?\n")
    assert line_of(e.Diagnosed("low", "disk")) == (Stream.STDERR, b"[disk] low\n")
    gap = e.GapFound(3, 5, "restart")
    assert line_of(gap)[1] == b"[gap] the worker's events 3 to 5 are gone: restart\n"


def test_usage_and_the_like_keep_their_number_and_show_nothing() -> None:
    silent = [e.UsageReported(1, 2), e.RateLimited(), e.HistoryCompacted(), e.CommandsListed()]
    assert {line_of(event) for event in [*silent, e.MessageEnded()]} == {(Stream.STDERR, b"")}


def test_a_long_line_is_cut_and_says_so() -> None:
    data = line_of(e.ToolReturned("x" * MAX_BODY))[1]
    assert len(data) == MAX_BODY
    assert data.endswith("…\n".encode())


def test_a_value_too_deep_for_the_encoder_is_said_to_be() -> None:
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    assert b"too deeply nested" in line_of(e.ToolCalled("t", deep))[1]  # type: ignore[arg-type]


def test_a_lone_surrogate_does_no_harm() -> None:
    assert line_of(e.TextProduced("a\ud800b"))[1] == b"a?b"


def test_values_of_other_classes_are_shown_as_objects_and_arrays() -> None:
    given_ = MappingProxyType({"args": ("a", MappingProxyType({"b": 1}))})
    assert line_of(e.ToolCalled("t", given_))[1] == b'[tool] t {"args": ["a", {"b": 1}]}\n'
