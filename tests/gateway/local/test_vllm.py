"""The stream of an OpenAI-compatible server, as vLLM's documents show it."""

from __future__ import annotations

import pytest

from fleetgate.core.commands import Prompt
from fleetgate.core.events import Diagnosed, ReasoningProduced, TextProduced, UsageReported
from fleetgate.gateway.config_entries import Secret
from fleetgate.gateway.local.model_http import MAX_LINE
from fleetgate.gateway.local.model_settings import VllmSettings
from fleetgate.gateway.local.vllm import VllmReply, question
from fleetgate.gateway.local.work import Declined, WorkFailed

STREAM = b"""\
: ping

event: message
data: {"id":"c","object":"chat.completion.chunk",
data: "choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}

data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}

data:{"choices":[{"index":0,"delta":{"reasoning":"hm2"}}]}

data: {"choices":[{"index":0,"delta":{"content":"The"}}]}

data: {"choices":[{"index":0,"delta":{"content":" sky"},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":26,"completion_tokens":2,"total_tokens":28}}

data: [DONE]

"""


def fed(stream: bytes):
    reply = VllmReply()
    return reply, [event for line in stream.splitlines() for event in reply.feed(line)]


def test_an_answer() -> None:
    reply, events = fed(STREAM)
    usage = {"prompt_tokens": 26, "completion_tokens": 2, "total_tokens": 28}
    assert events == [
        ReasoningProduced("hm"),
        ReasoningProduced("hm2"),
        TextProduced("The"),
        TextProduced(" sky"),
        UsageReported(26, 2, usage),
    ]
    assert reply.done


def test_without_its_last_word_it_is_not_done() -> None:
    reply, _ = fed(STREAM.replace(b"data: [DONE]\n", b""))
    assert not reply.done


def test_an_answer_that_was_cut_or_called_a_tool_says_so() -> None:
    _, events = fed(
        b'data: {"choices":[{"delta":{"tool_calls":[{}]},"finish_reason":"length"}]}\n\n'
    )
    assert all(isinstance(event, Diagnosed) for event in events)
    assert [event.code for event in events] == ["model_tool_call", "model_length"]


@pytest.mark.parametrize(
    ("stream", "code"),
    [
        (b'data: {"error":{"message":"secret"}}\n\n', "model_error"),
        (b'data: {"object":"error","message":"secret"}\n\n', "model_error"),
        (b"data: <html>\n\n", "bad_stream"),
        (b"data: " + b"x" * 600_000 + b"\ndata: " + b"x" * (MAX_LINE - 599_999), "oversize_line"),
    ],
)
def test_what_is_no_answer(stream: bytes, code: str) -> None:
    with pytest.raises(WorkFailed) as caught:
        fed(stream)
    assert caught.value.code == code
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "data", ["{}", '{"choices":3}', '{"choices":[3]}', '{"choices":"x"}', '{"usage":4}']
)
def test_an_event_that_says_nothing(data: str) -> None:
    assert fed(f"data: {data}\n\n".encode())[1] == []


def test_a_question(monkeypatch) -> None:
    monkeypatch.setenv("T", "key")
    own = VllmSettings("http://h:1", token=Secret(env="T"))
    asked = question(own, "m", Prompt("hi", effort="low", extra_thinking=True))
    assert asked.url == "http://h:1/v1/chat/completions"
    assert asked.headers == {"authorization": "Bearer key"}
    assert asked.body == {
        "model": "m",
        "messages": ({"role": "user", "content": "hi"},),
        "stream": True,
        "stream_options": {"include_usage": True},
        "reasoning_effort": "low",
        "chat_template_kwargs": {"enable_thinking": True},
    }
    assert "key" not in repr(asked)


def test_a_token_that_is_not_there(monkeypatch) -> None:
    monkeypatch.delenv("T", raising=False)
    with pytest.raises(
        Declined, match="unavailable: the token of vllm: the environment variable T"
    ):
        question(VllmSettings(token=Secret(env="T")), "m", Prompt("hi"))
