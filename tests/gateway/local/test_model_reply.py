"""What the dialects share."""

from __future__ import annotations

import pytest

from fleetgate.core.commands import Prompt
from fleetgate.core.events import MAX_BODY, ReasoningProduced
from fleetgate.gateway.local import model_reply as m
from fleetgate.gateway.local.work import WorkFailed


@pytest.mark.parametrize(
    ("prompt", "messages"),
    [
        (Prompt("hi"), [("user", "hi")]),
        (Prompt("hi", system="be kind"), [("system", "be kind"), ("user", "hi")]),
        (
            Prompt("hi", messages=({"role": "assistant", "content": "a"},)),
            [("assistant", "a"), ("user", "hi")],
        ),
        (Prompt("", messages=({"role": "user", "content": "a"},)), [("user", "a")]),
        (Prompt(""), [("user", "")]),
    ],
)
def test_a_conversation(prompt: Prompt, messages: list[tuple[str, str]]) -> None:
    made = [{"role": role, "content": content} for role, content in messages]
    assert list(m.chat_messages(prompt)) == made


@pytest.mark.parametrize("text", [b"", b"[1]", b"null", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_object(text: bytes) -> None:
    with pytest.raises(WorkFailed, match="bad_stream: a line of the answer is no JSON object"):
        m.object_of(text)


def test_long_thoughts_are_split() -> None:
    events = list(m.reasoning_events("x" * (2 * MAX_BODY)))
    assert all(isinstance(event, ReasoningProduced) for event in events)
    assert len(events) > 1
    assert list(m.text_events(None)) == list(m.text_events(["x"])) == []


def test_counts_are_whole_numbers() -> None:
    assert m.count({"n": 3}, "n") == 3
    for odd in (None, True, "3", 1.5):
        assert m.count({"n": odd}, "n") is None
