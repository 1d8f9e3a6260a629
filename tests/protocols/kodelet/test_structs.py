"""Go's structs: zero values, strict integers, case-insensitive names."""

from typing import Any

import pytest

from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.go_json import load
from fleetgate.protocols.kodelet.manifest import Config, Manifest, Tool
from fleetgate.protocols.kodelet.structs import names, read, write


def test_absent_null_and_zero_are_the_same() -> None:
    empty = wire.Heartbeat()
    assert read(wire.Heartbeat, None) == read(wire.Heartbeat, {}) == empty
    assert read(wire.Heartbeat, {"runnerId": None, "activeRunIds": None}) == empty


def test_names_in_any_case_and_unknown_members() -> None:
    value = {"RUNNERID": "r", "generation": 2, "future": {"x": 1}}
    assert read(wire.Heartbeat, value) == wire.Heartbeat("r", 2)


def test_null_in_a_list_or_a_map_is_the_zero_value() -> None:
    assert read(wire.Heartbeat, {"activeRunIds": ["r", None]}).active_run_ids == ("r", "")
    assert read(wire.Register, {"protocolVersions": [None, 1]}).protocol_versions == (0, 1)
    config = read(Config, {"systemPromptArgs": {"a": None, "b": "2"}})
    assert config.system_prompt_args == {"a": "", "b": "2"}
    assert read(Manifest, {"tools": [None]}).tools == (Tool(),)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (wire.Heartbeat, {"generation": 1.0}),
        (wire.Heartbeat, {"generation": "1"}),
        (wire.Heartbeat, {"generation": True}),
        (wire.Heartbeat, {"generation": 2**63}),
        (wire.ToolUpdate, {"sequence": -1}),
        (wire.Heartbeat, {"activeRunIds": "a"}),
        (wire.Heartbeat, {"activeRunIds": [1]}),
        (wire.Register, {"host": []}),
        (wire.ToolExecute, {"input": float("inf")}),
        (wire.ToolExecute, {"wantUpdates": 1}),
        (wire.Heartbeat, []),
    ],
)
def test_wrong_types_are_refused_without_their_value(kind: type, value: Any) -> None:
    with pytest.raises(Malformed):
        read(kind, value)


def test_minus_nought_is_an_integer_where_there_is_a_sign() -> None:
    """Go reads it by strconv; in free-form JSON it stays what it is."""
    value = load(b'{"generation":-0,"sequence":-0,"input":-0}')
    assert read(wire.Heartbeat, {"generation": value["generation"]}).generation == 0
    with pytest.raises(Malformed):
        read(wire.ToolUpdate, {"sequence": value["sequence"]})
    assert str(read(wire.ToolExecute, {"input": value["input"]}).input) == "-0.0"


def test_what_is_omitted_and_what_is_not() -> None:
    assert write(wire.Heartbeat("r", 1, "idle")) == {
        "runnerId": "r",
        "generation": 1,
        "state": "idle",
    }
    assert write(wire.RunOpen("r", "c")) == {
        "runId": "r",
        "conversationId": "c",
        "agent": {"provider": "", "model": ""},
        "clientCapabilities": {"interactiveUI": False, "persistentSurfaces": False},
        "reservedToolNames": None,
    }
    assert write(wire.LifecycleResult(tool_input={})) == {"toolInput": {}}


def test_members_in_the_order_of_the_wire() -> None:
    assert list(names(wire.ToolResult).values()) == [
        "assistantFacing",
        "displayOutput",
        "error",
        "structured",
        "contentParts",
    ]
