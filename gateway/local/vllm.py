"""vLLM's OpenAI-compatible server: `/v1/chat/completions`, server-sent events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fleetgate.core.commands import Prompt
from fleetgate.core.events import Event, UsageReported
from fleetgate.core.json import NOTHING, Json
from fleetgate.gateway.config_entries import SecretUnreadable
from fleetgate.gateway.local.model_http import MAX_LINE, Question
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
from fleetgate.gateway.local.model_settings import VllmSettings
from fleetgate.gateway.local.work import Declined, WorkFailed


def question(settings: VllmSettings, model: str, prompt: Prompt) -> Question:
    """A prompt, or a conversation. The token is read anew each time.

    Raises: `Declined` where the token cannot be read.
    """
    body: dict[str, Json] = {
        "model": model,
        "messages": chat_messages(prompt),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if prompt.effort:
        body["reasoning_effort"] = prompt.effort
    if prompt.extra_thinking is not None:
        body["chat_template_kwargs"] = {"enable_thinking": prompt.extra_thinking}
    return Question(
        f"{settings.url}/chat/completions",
        body,
        settings.connect_timeout,
        settings.silence_timeout,
        _headers(settings),
    )


def _headers(settings: VllmSettings) -> Mapping[str, str]:
    if settings.token is None:
        return NOTHING
    try:
        return {"authorization": f"Bearer {settings.token.read()}"}
    except SecretUnreadable as error:
        raise Declined("unavailable", f"the token of vllm: {error}") from None


class VllmReply:
    """An answer as it comes: events of `data:` lines, an empty line behind each, `[DONE]` at the
    end."""

    def __init__(self) -> None:
        self.done = False
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, line: bytes) -> Iterator[Event]:
        """What a line says: an event's data count once its empty line has come. Comments, which
        keep a connection alive, and other fields say nothing.

        Raises: `WorkFailed`.
        """
        name, _, value = line.partition(b":")
        if name == b"data":
            self._add(value.removeprefix(b" "))
        elif not line and self._data:
            data = b"\n".join(self._data)
            self._data, self._size = [], 0
            yield from self._event(data)

    def _add(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > MAX_LINE:
            said = f"an event of the answer has more than {MAX_LINE} bytes"
            raise WorkFailed("oversize_line", said)
        self._data.append(data)

    def _event(self, data: bytes) -> Iterator[Event]:
        if data == b"[DONE]":
            self.done = True
            return
        value = object_of(data)
        if "error" in value or value.get("object") == "error":
            raise WorkFailed("model_error", "the server reports an error; its log says more")
        choices = value.get("choices")
        if isinstance(choices, Sequence) and not isinstance(choices, str):
            for choice in choices[:1]:
                if isinstance(choice, Mapping):
                    yield from self._choice(choice)
        if usage := member(value, "usage"):
            yield UsageReported(
                count(usage, "prompt_tokens"), count(usage, "completion_tokens"), usage
            )

    def _choice(self, choice: Mapping[str, Json]) -> Iterator[Event]:
        delta = member(choice, "delta")
        yield from reasoning_events(delta.get("reasoning_content") or delta.get("reasoning"))
        yield from text_events(delta.get("content"))
        yield from tools_left_out(delta.get("tool_calls"))
        yield from cut_short(choice.get("finish_reason"))
