"""What a pool takes follows from its adapters."""

import pytest

from fleetgate.core.worker import InputKind
from fleetgate.gateway.local.pool import AdapterName, LocalPool

P, S, T = InputKind.PROMPT, InputKind.SHELL, InputKind.TOOL


@pytest.mark.parametrize(
    ("adapters", "inputs"),
    [
        (("mock",), {P, S, T}),
        (("cli",), {P, S}),
        (("shell",), {S}),
        (("ollama", "vllm"), {P}),
        (("ollama", "shell"), {P, S}),
    ],
)
def test_inputs(adapters: tuple[AdapterName, ...], inputs: set[InputKind]) -> None:
    assert LocalPool("here", adapters).inputs == inputs
