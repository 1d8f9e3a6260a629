"""Ollama's two streams, as its documents show them."""

from __future__ import annotations

import pytest

from fleetgate.core.commands import Prompt
from fleetgate.core.events import Diagnosed, ReasoningProduced, TextProduced, UsageReported
from fleetgate.gateway.local.model_settings import OllamaSettings
from fleetgate.gateway.local.ollama import OllamaReply, question
from fleetgate.gateway.local.work import WorkFailed

OWN = OllamaSettings("http://h:1/", connect_timeout=3, silence_timeout=4)

CHAT = b"""\
{"model":"m","created_at":"t","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}
{"model":"m","created_at":"t","message":{"role":"assistant","content":"The"},"done":false}
{"model":"m","created_at":"t","message":{"role":"assistant","content":" sky"},"done":false}

{"model":"m","created_at":"t","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":9,"prompt_eval_count":26,"eval_count":2}
"""

GENERATE = b"""\
{"model":"m","created_at":"t","response":"","thinking":"hm","done":false}
{"model":"m","created_at":"t","response":"The","done":false}
{"model":"m","created_at":"t","response":" sky","done":false}
{"model":"m","created_at":"t","response":"","done":true,"done_reason":"stop","context":[1,2],"total_duration":9,"prompt_eval_count":26,"eval_count":2}
"""


@pytest.mark.parametrize("stream", [CHAT, GENERATE])
def test_an_answer(stream: bytes) -> None:
    reply = OllamaReply()
    events = [event for line in stream.splitlines() for event in reply.feed(line)]
    report = {
        "total_duration": 9,
        "prompt_eval_count": 26,
        "eval_count": 2,
        "done_reason": "stop",
    }
    assert events == [
        ReasoningProduced("hm"),
        TextProduced("The"),
        TextProduced(" sky"),
        UsageReported(26, 2, report),
    ]
    assert reply.done


def test_an_answer_that_was_cut_or_called_a_tool_says_so() -> None:
    reply = OllamaReply()
    call = b'{"message":{"content":"","tool_calls":[{"function":{"name":"f"}}]}}'
    (called,) = reply.feed(call)
    usage, short = reply.feed(b'{"done":true,"done_reason":"length"}')
    assert isinstance(called, Diagnosed)
    assert called.code == "model_tool_call"
    assert usage == UsageReported(None, None, {"done_reason": "length"})
    assert isinstance(short, Diagnosed)
    assert short.code == "model_length"


@pytest.mark.parametrize(
    ("line", "code"),
    [(b'{"error":"secret"}', "model_error"), (b"<html>", "bad_stream"), (b'{"a":1', "bad_stream")],
)
def test_what_is_no_answer(line: bytes, code: str) -> None:
    with pytest.raises(WorkFailed) as caught:
        list(OllamaReply().feed(line))
    assert caught.value.code == code
    assert "secret" not in str(caught.value)


def test_a_prompt_alone_is_generated() -> None:
    asked = question(OWN, "m", Prompt("hi", system="s"))
    assert asked.url == "http://h:1/api/generate"
    assert asked.body == {"model": "m", "stream": True, "prompt": "hi", "system": "s"}
    assert (asked.connect_timeout, asked.silence_timeout) == (3, 4)


def test_a_conversation_is_chat() -> None:
    earlier = {"role": "user", "content": "a"}
    asked = question(OWN, "m", Prompt("hi", messages=(earlier,), extra_thinking=False))
    assert asked.url == "http://h:1/api/chat"
    assert asked.body == {
        "model": "m",
        "stream": True,
        "think": False,
        "messages": (earlier, {"role": "user", "content": "hi"}),
    }
