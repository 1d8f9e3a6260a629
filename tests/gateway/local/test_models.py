"""Runs that a model answers, from the start to the end, against servers on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import trio

from fleetgate.core.commands import CancelRun, Order, Prompt, RunSpec
from fleetgate.core.events import (
    Outcome,
    Reason,
    RunFinished,
    RunStarted,
    RunState,
    TextProduced,
    UsageReported,
)
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.gateway.local.choosing import choose
from fleetgate.gateway.local.model_settings import OllamaSettings, VllmSettings
from fleetgate.gateway.local.models import ANSWERED, open_models
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.gateway.local.work import Declined, Task, Work

RUN = RunId("gui/run-1")
POOL = LocalPool("here", ("ollama", "vllm"))

OLLAMA = [
    b'{"response":"The","done":false}\n{"respo',
    b'nse":" sky","done":false}\n',
    b'{"response":"","done":true,"prompt_eval_count":3,"eval_count":2}\n',
]
VLLM = [
    b'data: {"choices":[{"delta":{"content":"The"}}]}\n\ndata: {"choices":[{"del',
    b'ta":{"content":" sky"}}]}\r\n\r\n',
    b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n',
    b"data: [DONE]\n\n",
]
STREAMS = {"ollama": OLLAMA, "vllm": VLLM}

MakeTask = Callable[..., Task]


@pytest.fixture
async def make_task(server, told) -> AsyncIterator[MakeTask]:
    ollama, vllm = OllamaSettings(server.url, "own"), VllmSettings(server.url, "own")
    async with open_models(ollama, vllm) as models:

        def make(adapter: str, prompt: Prompt | None = None, **profile: Any) -> Task:
            native = {"profile": {"adapter": adapter, **profile}}
            spec = RunSpec(prompt or Prompt("hi"), native=native)
            job = models.job(choose(spec, POOL), spec)
            return Task(Work(RUN, spec, told), job, adapter)

        yield make


@pytest.mark.parametrize("adapter", ["ollama", "vllm"])
async def test_an_answer_streams(server, told, make_task: MakeTask, adapter: str) -> None:
    server.pieces = STREAMS[adapter]
    await make_task(adapter).run()
    (usage,) = told.of(UsageReported)
    assert (usage.input_tokens, usage.output_tokens) == (3, 2)
    assert told.events == [
        RunStarted(),
        TextProduced("The"),
        TextProduced(" sky"),
        usage,
        RunFinished(ANSWERED),
    ]


@pytest.mark.parametrize("adapter", ["ollama", "vllm"])
async def test_what_comes_is_told_before_the_rest(
    server, told, make_task: MakeTask, adapter: str
) -> None:
    server.pieces, server.holds = STREAMS[adapter][:1], True
    task = make_task(adapter)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(task.run)
        await told.until(TextProduced)
        task.give(Order(RUN, OrderNumber(1), CancelRun(RUN)))
    assert told.text == "The"
    assert told.outcome == Outcome(RunState.CANCELED, Reason.CANCELED, "canceled")
    await server.gone.wait()


@pytest.mark.parametrize("adapter", ["ollama", "vllm"])
async def test_an_answer_is_over_with_its_last_word(
    server, told, make_task: MakeTask, adapter: str
) -> None:
    server.pieces, server.holds = STREAMS[adapter], True
    await make_task(adapter).run()
    assert told.outcome == ANSWERED
    await server.gone.wait()


@pytest.mark.parametrize("adapter", ["ollama", "vllm"])
@pytest.mark.parametrize("cut", [False, True])
async def test_without_its_last_word_it_is_broken(
    server, told, make_task: MakeTask, adapter: str, cut: bool
) -> None:
    server.pieces, server.cut = STREAMS[adapter][:2], cut
    await make_task(adapter).run()
    assert told.text == "The sky"
    assert told.outcome.reason is Reason.ERROR
    assert told.outcome.message.startswith("stream_broken: the answer of http://127.0.0.1")


@pytest.mark.parametrize("adapter", ["ollama", "vllm"])
async def test_a_line_of_something_else_fails_the_run(
    server, told, make_task: MakeTask, adapter: str
) -> None:
    server.pieces = [b"data: <secret>\n\n"]
    await make_task(adapter).run()
    assert told.outcome.message == "bad_stream: a line of the answer is no JSON object"


async def test_a_server_that_refuses(server, told, make_task: MakeTask) -> None:
    server.status = 404
    await make_task("ollama").run()
    assert told.outcome.state is RunState.FAILED
    assert told.outcome.message.startswith("upstream_status: ")


@pytest.mark.parametrize("adapter", ["ollama", "vllm"])
@pytest.mark.parametrize(
    ("prompt", "target", "model"),
    [
        (Prompt("hi"), "", "own"),
        (Prompt("hi", model="asked"), "", "asked"),
        (Prompt("hi", model="asked"), "target", "target"),
    ],
)
async def test_the_model_is_the_target_or_asked_for_or_the_configured(
    server, make_task: MakeTask, adapter, prompt, target, model
) -> None:
    server.pieces = STREAMS[adapter]
    await make_task(adapter, prompt, target=target).run()
    assert server.asked[0].body["model"] == model


async def test_a_pushed_server_is_asked(server, told, make_task: MakeTask) -> None:
    server.pieces = VLLM
    pushed = {"endpoint": f"{server.url}/other"}
    await make_task("vllm", config=pushed).run()
    assert told.outcome == ANSWERED
    assert server.asked[0].path == "/other/v1/chat/completions"


async def test_what_is_declined() -> None:
    async with open_models(OllamaSettings(), VllmSettings()) as models:
        spec = RunSpec(Prompt("hi"))
        with pytest.raises(Declined, match="invalid_argument: the run names no model"):
            models.job(choose(spec, POOL), spec)
