"""What a runner without extensions answers: an echo."""

from typing import Any

import pytest

from fleetgate.protocols.kodelet.errors import RpcError
from fleetgate.protocols.kodelet.lifecycle import dispatch
from fleetgate.protocols.kodelet.structs import read, write
from fleetgate.protocols.kodelet.wire import Lifecycle


@pytest.mark.parametrize(
    ("params", "result"),
    [
        ({"event": "user.message", "message": "m"}, {"message": "m"}),
        ({"event": "user.message"}, {}),
        ({"event": "agent.start"}, {}),
        ({"event": "turn.start", "turnNumber": 1}, {}),
        (
            {"event": "agent.init", "systemPrompt": "s", "allowedTools": ["a"]},
            {"systemPrompt": "s", "allowedTools": ["a"]},
        ),
        ({"event": "turn.end", "finalOutput": "x", "turnCount": 2}, {}),
        ({"event": "agent.end", "messages": [{"role": "user", "content": "x"}]}, {}),
        ({"event": "tool.call", "toolInput": {"a": 1}}, {"toolInput": {"a": 1}}),
        ({"event": "tool.call"}, {"toolInput": {}}),
        ({"event": "tool.update", "structuredResult": {}}, {"structuredResult": {}}),
        ({"event": "tool.result", "structuredResult": [1]}, {"structuredResult": [1]}),
    ],
)
def test_every_event(params: Any, result: Any) -> None:
    assert write(dispatch(read(Lifecycle, params))) == result


@pytest.mark.parametrize("event", ["", "x", "tool.update", "tool.result"])
def test_events_that_are_refused(event: str) -> None:
    refused = dispatch(Lifecycle("r", event))
    assert isinstance(refused, RpcError)
    assert refused.code == -32602
