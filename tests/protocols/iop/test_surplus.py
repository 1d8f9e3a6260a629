"""What no field of a request holds reaches another gateway, and nobody else minds it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import attrs
import pytest
from hypothesis import given

from fleetgate.core import commands as c
from fleetgate.core.testing import specs
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.errors import Refused
from fleetgate.protocols.iop.names import BODY
from fleetgate.protocols.iop.translate import Defaults, from_spec, to_spec

DEFAULTS = Defaults("cli", "")


def there(spec: c.RunSpec) -> c.RunSpec:
    """The run as another gateway reads it off the wire."""
    request = from_spec("r", spec, DEFAULTS)
    read = codec.decode_edge(codec.encode_edge(request))
    assert isinstance(read, w.RunRequest)
    return to_spec(read)


@given(specs())
def test_a_run_that_a_gateway_asks_of_another_is_the_same_run(spec: c.RunSpec) -> None:
    try:
        read = there(spec)
    except Refused:
        return
    assert read.environment == spec.environment
    assert spec.labels.items() - read.labels.items() <= {
        (key, value) for key, value in spec.labels.items() if key == "gateway.node" or not value
    }
    assert read.workspace == spec.workspace or "" in spec.workspace
    assert read.timeout == (spec.timeout or None)
    given, came = spec.input, read.input
    if isinstance(given, c.Prompt) and isinstance(came, c.Prompt):
        names = ("text", "system", "provider", "model", "extra_thinking")
        for name in () if given.messages else names:
            assert getattr(came, name) == getattr(given, name)
    elif isinstance(given, c.ShellCommand) and given.script is None:
        assert came == given


def test_a_script_is_one_again() -> None:
    data = b"echo \xc3\xa9\n"
    script = c.Script(len(data), hashlib.sha256(data).digest(), ("a b", ""), data)
    given = c.ShellCommand(script=script, shell="bash", stdin=b"\xff", merge_stderr=True)
    assert there(c.RunSpec(given)).input == given


def test_what_came_goes_on_as_it_came_over_a_second_hop() -> None:
    """The keys of the input that nobody reads, too."""
    given = c.ShellCommand(line="ls", stdin=b"in")
    first = from_spec("r", c.RunSpec(given, environment={"A": "b"}), DEFAULTS)
    assert first.input is not None
    asked = attrs.evolve(first, input={**first.input, "own": 1})
    second = from_spec("r", to_spec(asked), DEFAULTS)
    assert second == asked


def test_a_route_s_own_say_counts_over_what_came() -> None:
    first = from_spec("r", c.RunSpec(c.Prompt("hi", model="big")), DEFAULTS)
    routed = attrs.evolve(to_spec(first), input=c.Prompt("hi", model="small"))
    assert there(routed).input == c.Prompt("hi", model="small")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[",
        "[1]",
        {"environment": []},
        {"environment": {"A": 1}},
        {"labels": {"a": None}},
        {"input": "x"},
        {"input": {"model": 5}},
        {"input": {"merge_stderr": 1}},
        {"input": {"stdin_base64": "!"}},
        {"input": {"script_args": ["x"]}},
        {"input": {"script_args": [5]}},
    ],
)
def test_a_body_that_is_none_is_refused(body: Any) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    request = w.RunRequest("r", input={"command": ["ls"]}, metadata={BODY: text})
    with pytest.raises(Refused, match=r"metadata gateway.body of a request must be") as refused:
        to_spec(request)
    assert refused.value.code == "invalid_argument"


def test_labels_that_are_fields_are_not_taken_from_it() -> None:
    body = {"labels": {"adapter": "x", "gateway.node": "n", "zone": "eu"}, "timeout": -1}
    request = w.RunRequest("r", "cli", metadata={BODY: json.dumps(body)})
    spec = to_spec(request)
    assert (spec.labels, spec.timeout) == ({"adapter": "cli", "zone": "eu"}, None)
    assert BODY not in spec.metadata
