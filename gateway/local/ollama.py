"""Ollama: `/api/chat` and `/api/generate`, a JSON object a line."""

from __future__ import annotations

from collections.abc import Iterator

from fleetgate.core.commands import Prompt
from fleetgate.core.events import Event, UsageReported
from fleetgate.core.json import Json
from fleetgate.gateway.local.model_http import Question
from fleetgate.gateway.local.model_reply import (
    chat_messages,
    count,
    cut_short,
    member,
    object_of,
    reasoning_events,
    text_events,
    tools_left_out,
)
from fleetgate.gateway.local.model_settings import OllamaSettings
from fleetgate.gateway.local.work import WorkFailed

_REPORT = (
    "total_duration",
    "load_duration",
    "prompt_eval_count",
    "prompt_eval_duration",
    "eval_count",
    "eval_duration",
    "done_reason",
)
"""What of the last line is a report: durations are nanoseconds."""


def question(settings: OllamaSettings, model: str, prompt: Prompt) -> Question:
    """A prompt alone goes to `/api/generate`, a conversation to `/api/chat`."""
    body: dict[str, Json] = {"model": model, "stream": True}
    if prompt.extra_thinking is not None:
        body["think"] = prompt.extra_thinking
    if prompt.messages:
        path = "/api/chat"
        body["messages"] = chat_messages(prompt)
    else:
        path = "/api/generate"
        body["prompt"] = prompt.text
        if prompt.system is not None:
            body["system"] = prompt.system
    return Question(settings.url + path, body, settings.connect_timeout, settings.silence_timeout)


class OllamaReply:
    """An answer as it comes, of either kind."""

    def __init__(self) -> None:
        self.done = False

    def feed(self, line: bytes) -> Iterator[Event]:
        """What a line says. The last one, which has `done`, reports the usage.

        Raises: `WorkFailed`.
        """
        if not line.strip():
            return
        value = object_of(line)
        if "error" in value:
            raise WorkFailed("model_error", "the server reports an error; its log says more")
        message = member(value, "message")
        yield from reasoning_events(message.get("thinking") or value.get("thinking"))
        yield from text_events(message.get("content") or value.get("response"))
        yield from tools_left_out(message.get("tool_calls"))
        if value.get("done") is True:
            self.done = True
            report = {key: value[key] for key in _REPORT if key in value}
            yield UsageReported(
                count(value, "prompt_eval_count"), count(value, "eval_count"), report
            )
            yield from cut_short(value.get("done_reason"))
