"""What a runner without extensions answers: an echo."""

from typing import Any

import pytest

from fleetgate.protocols.kodelet.errors import RpcError
from fleetgate.protocols.kodelet.lifecycle import dispatch
from fleetgate.protocols.kodelet.structs import read, write
from fleetgate.protocols.kodelet.wire import ZERO_TIME, Lifecycle, LifecycleResult


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
        (
            {"event": "tool.update", "structuredResult": {}},
            {"structuredResult": {"toolName": "", "success": False, "timestamp": ZERO_TIME}},
        ),
        (
            {
                "event": "tool.result",
                "structuredResult": {
                    "toolName": "get_goal",
                    "success": True,
                    "metadataType": "get_goal",
                    "metadata": {"active": True},
                    "timestamp": "2026-08-12T09:00:00.50+00:00",
                    "future": 1,
                },
            },
            {
                "structuredResult": {
                    "toolName": "get_goal",
                    "success": True,
                    "metadataType": "get_goal",
                    "metadata": {"active": True},
                    "timestamp": "2026-08-12T09:00:00.5Z",
                }
            },
        ),
        (
            {"event": "tool.result", "structuredResult": {"metadataType": "x", "metadata": [1]}},
            {
                "structuredResult": {
                    "toolName": "",
                    "success": False,
                    "metadataType": "x",
                    "timestamp": ZERO_TIME,
                }
            },
        ),
    ],
)
def test_every_event(params: Any, result: Any) -> None:
    assert write(dispatch(read(Lifecycle, params))) == result


@pytest.mark.parametrize("event", ["", "x", "tool.update", "tool.result"])
def test_events_that_are_refused(event: str) -> None:
    refused = dispatch(Lifecycle("r", event))
    assert isinstance(refused, RpcError)
    assert refused.code == -32602


def test_w_15_4_a_message_can_be_blocked_and_others_are_not() -> None:
    asked = Lifecycle("r", "user.message", "blockme")
    refused = dispatch(asked, blocked=("blockme",))
    assert refused == RpcError(-32603, "message blocked by extension: no")
    assert dispatch(asked) == LifecycleResult(message="blockme")
