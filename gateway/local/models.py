"""Runs that a model answers: the adapters `ollama` and `vllm`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from fleetgate.core.commands import Prompt, RunSpec
from fleetgate.core.events import Outcome, Reason, RunState
from fleetgate.gateway.local import ollama, vllm
from fleetgate.gateway.local.choosing import Choice
from fleetgate.gateway.local.model_http import ModelClient, Question
from fleetgate.gateway.local.model_reply import Reply
from fleetgate.gateway.local.model_settings import OllamaSettings, VllmSettings, with_pushed
from fleetgate.gateway.local.work import Declined, Job, Work, WorkFailed

ANSWERED: Final = Outcome(RunState.SUCCEEDED, Reason.EXITED)


class Models:
    """The models of a pool. Open with `open_models`."""

    def __init__(self, client: ModelClient, own: OllamaSettings, other: VllmSettings) -> None:
        self._client = client
        self._ollama = own
        self._vllm = other

    def job(self, choice: Choice, spec: RunSpec) -> Job:
        """The job of a run.

        Raises: `Declined`.
        """
        prompt = spec.input
        if not isinstance(prompt, Prompt):
            raise Declined("unsupported_input", f"{choice.adapter} takes prompts only")
        if choice.adapter == "ollama":
            settings = with_pushed(self._ollama, choice.config)
            model = _model(choice, prompt, settings.model)
            asked = ollama.question(settings, model, prompt)
            return partial(self._ask, asked, ollama.OllamaReply())
        served = with_pushed(self._vllm, choice.config)
        asked = vllm.question(served, _model(choice, prompt, served.model), prompt)
        return partial(self._ask, asked, vllm.VllmReply())

    async def _ask(self, question: Question, reply: Reply, work: Work) -> Outcome:
        work.started()
        async with self._client.ask(question) as lines:
            async for line in lines:
                for event in reply.feed(line):
                    work.tell(event)
                if reply.done:
                    return ANSWERED
                await work.wait_room()
        said = f"the answer of {question.server} ended before its last word"
        raise WorkFailed("stream_broken", said)


def _model(choice: Choice, prompt: Prompt, otherwise: str) -> str:
    model = choice.target or prompt.model or otherwise
    if not model:
        said = f"the run names no model; set its target, or model in the table {choice.adapter}"
        raise Declined("invalid_argument", said)
    return model


@asynccontextmanager
async def open_models(
    ollama_settings: OllamaSettings, vllm_settings: VllmSettings
) -> AsyncGenerator[Models, None]:
    """A pool's models."""
    client = ModelClient()
    try:
        yield Models(client, ollama_settings, vllm_settings)
    finally:
        await client.aclose()
