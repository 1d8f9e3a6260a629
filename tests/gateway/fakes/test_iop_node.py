"""`gateway fake iop-node`, seen by its edge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fleetgate.gateway.fakes.iop_node import make_parser
from fleetgate.protocols import iop


def test_help_names_every_time_and_limit_of_the_protocol() -> None:
    squeezed = "".join(make_parser().format_help().split())
    for name in iop.ADAPTER.northbound.settings.__annotations__:
        assert f"{name}=" in squeezed


@pytest.fixture
def edge(fakes: Callable[..., Any], request: pytest.FixtureRequest) -> Iterator[Any]:
    """An edge with its node there, which gets the words of the test's parameter."""
    edge = fakes("iop-edge", "--listen", "grpc://127.0.0.1:0", "--token", "t=n1")
    url = edge.until(event="ready")["address"]
    fakes("iop-node", "--connect", url, "--token", "t", *request.param)
    edge.until(event="worker", state="ready")
    return edge


def ended(edge: Any, **given: Any) -> dict[str, Any]:
    edge.tell(op="start", id="1", run="a", **given)
    edge.tell(op="follow", id="2", run="a")
    edge.tell(op="wait", id="3", run="a")
    return edge.until(id="3")


@pytest.mark.parametrize("edge", [()], indirect=True)
def test_a_run_says_its_input(edge: Any) -> None:
    edge.tell(op="start", id="1", run="a", input={"prompt": "say this"})
    edge.tell(op="follow", id="2", run="a")
    assert edge.until(type="TextProduced")["text"] == "say this"
    edge.tell(op="wait", id="3", run="a")
    assert edge.until(id="3")["state"] == "succeeded"


@pytest.mark.parametrize("edge", [("--exec",)], indirect=True)
def test_a_command_is_really_executed(edge: Any) -> None:
    run = ended(edge, input={"argv": ["sh", "-c", "echo done; exit 3"]})
    assert (run["state"], run["outcome"]["exit_code"]) == ("failed", 3)


@pytest.mark.parametrize("edge", [("--exec",)], indirect=True)
def test_a_tool_is_refused_in_words_of_a_fake(edge: Any) -> None:
    run = ended(edge, input={"tool": "bash", "arguments": {"command": "ls"}})
    assert run["state"] == "failed"
    assert run["outcome"]["message"] == (
        "unsupported_input: expected prompt or shell input, which is what this iop-node takes; tool"
        " input came; send it the former, or start it without --exec: then it plays whatever comes"
    )


SCRIPT = """
[[when]]
match = "may I"
do = [{ approval = { id = "a", title = "May I?" } }, { text = "no" }]

[[when]]
match = "read"
do = [{ read_input = true }]

[[when]]
match = "wait"
do = [{ hang = true }]
"""


@pytest.fixture
def scripted(fakes: Callable[..., Any], tmp_path: Path) -> Any:
    """An edge whose node plays `SCRIPT`."""
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    edge = fakes("iop-edge", "--listen", "grpc://127.0.0.1:0", "--token", "t=n1")
    url = edge.until(event="ready")["address"]
    fakes("iop-node", "--connect", url, "--token", "t", "--script", str(script))
    edge.until(event="worker", state="ready")
    return edge


def test_an_approval_is_shown_and_denied_at_once(scripted: Any) -> None:
    scripted.tell(op="start", id="1", run="a", input={"prompt": "may I"}, approvals=True)
    scripted.tell(op="follow", id="2", run="a")
    assert scripted.until(type="ApprovalRequested")["title"] == "May I?"
    assert scripted.until(type="ApprovalResolved")["decision"] == "deny"
    assert scripted.until(type="TextProduced")["text"] == "no"
    assert scripted.until(type="RunFinished")["outcome"]["state"] == "succeeded"


def test_a_script_that_reads_input_fails(scripted: Any) -> None:
    run = ended(scripted, input={"prompt": "read"}, interactive=True)
    assert run["state"] == "failed"
    assert "unsupported_input" in run["outcome"]["message"]


@pytest.mark.parametrize(
    ("op", "given"),
    [
        ("send", {"text": "x"}),
        ("close_input", {}),
        ("approve", {"approval": "a", "decision": "deny"}),
        ("signal", {"signal": "interrupt"}),
    ],
)
def test_what_iop_has_no_message_for_is_refused(
    scripted: Any, op: str, given: dict[str, Any]
) -> None:
    scripted.tell(op="start", id="1", run="a", input={"prompt": "wait"}, interactive=True)
    scripted.tell(op=op, id="2", run="a", **given)
    assert scripted.until(id="2")["error"]["code"] == "unsupported_input"


def test_a_wrong_token_is_final(fakes: Callable[..., Any]) -> None:
    edge = fakes("iop-edge", "--listen", "grpc://127.0.0.1:0", "--token", "t")
    url = edge.until(event="ready")["address"]
    node = fakes("iop-node", "--connect", url, "--token", "wrong")
    node.process.wait(timeout=120)
    code, said = node.end()
    assert code == 3
    assert "refused it for good" in said
