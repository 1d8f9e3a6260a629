"""What a model's dialect has to say: how it is asked, and how its lines become events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Protocol, cast

from fleetgate.core.commands import Prompt
from fleetgate.core.events import Diagnosed, Event, ReasoningProduced, TextProduced
from fleetgate.core.json import Json
from fleetgate.gateway.local.bodies import split_text
from fleetgate.gateway.local.work import WorkFailed


class Reply(Protocol):
    """An answer as it comes. `done`: it is complete."""

    done: bool

    def feed(self, line: bytes) -> Iterator[Event]:
        """What a line says.

        Raises: `WorkFailed`: `bad_stream` (it is none of the dialect), `model_error` (the server
        reports one).
        """
        ...


def chat_messages(prompt: Prompt) -> tuple[Json, ...]:
    """The conversation so far, with the prompt behind it."""
    system: tuple[Json, ...] = ()
    if prompt.system is not None:
        system = ({"role": "system", "content": prompt.system},)
    user: tuple[Json, ...] = ()
    if prompt.text or not prompt.messages:
        user = ({"role": "user", "content": prompt.text},)
    return (*system, *prompt.messages, *user)


def object_of(text: bytes) -> Mapping[str, Json]:
    """A JSON object.

    Raises: `WorkFailed`.
    """
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise WorkFailed("bad_stream", "a line of the answer is no JSON object")
    return cast(Mapping[str, Json], value)


def member(value: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    """A member that is an object; of anything else, nothing."""
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def text_events(value: Json) -> Iterator[Event]:
    """What the model said."""
    if isinstance(value, str):
        yield from map(TextProduced, split_text(value))


def reasoning_events(value: Json) -> Iterator[Event]:
    """What the model thought."""
    if isinstance(value, str):
        yield from map(ReasoningProduced, split_text(value))


def count(value: Mapping[str, Json], name: str) -> int | None:
    """A number of tokens."""
    found = value.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def cut_short(reason: Json) -> Iterator[Event]:
    """The model came to its limit before its end."""
    if reason == "length":
        yield Diagnosed("the answer was cut at the model's length limit", "model_length")


def tools_left_out(calls: Json) -> Iterator[Event]:
    """The model called tools, of which it was offered none."""
    if calls:
        yield Diagnosed("the model called a tool, which nobody here answers", "model_tool_call")
