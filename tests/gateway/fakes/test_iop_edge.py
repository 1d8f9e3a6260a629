"""`gateway fake iop-edge`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from fleetgate.gateway.fakes.cli import run
from fleetgate.gateway.fakes.iop_edge import make_parser, nodes_of
from fleetgate.gateway.fakes.options import BadOption
from fleetgate.schemas.iop import runtime_pb2


def test_help_names_its_times_and_no_table_of_the_settings() -> None:
    squeezed = "".join(make_parser().format_help().split())
    assert "reconnect_grace=" in squeezed
    assert "config=" not in squeezed
    assert "nodes=" not in squeezed


def test_a_token_names_its_node_or_its_digest_does() -> None:
    (named,), (unnamed,) = nodes_of(["secret=node-1"]), nodes_of(["secret"])
    assert (named.id, named.token.read()) == ("node-1", "secret")
    assert unnamed.id == "node-2bb80d537b1d"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a=n", "b=n"], "two tokens have the node id n"),
        (["=n"], "got no token"),
        (["t=a", "t=b"], "given to a and to b"),
    ],
)
def test_tokens_that_make_no_sense(words: list[str], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        nodes_of(words)


def test_a_node_configuration_that_cannot_be_used_is_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["iop-edge", "--listen", "grpc://127.0.0.1:0", "--token", "t", "--node-config"]
    for name, text in (("a.json", "{"), ("b.toml", "x ="), ("c.toml", "nothing = 1")):
        (tmp_path / name).write_text(text)
        assert run([*words, str(tmp_path / name)]) == 2
    assert run([*words, str(tmp_path / "missing")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert all("fake iop-edge: --node-config: " in line for line in said), said


def test_a_node_is_sent_its_configuration_and_runs_what_it_names(
    fakes: Callable[..., Any], tmp_path: Path
) -> None:
    config = tmp_path / "node.toml"
    config.write_text(
        '[[adapters]]\ntype = "cli"\nenabled = true\n\n[adapters.cli.profiles.shout]\n'
        'command = "tr"\nargs = ["a-z", "A-Z"]\n'
    )
    words = ("--token", "t=n1", "--node-config", str(config))
    edge = fakes("iop-edge", "--listen", "grpc://127.0.0.1:0", *words)
    url = edge.until(event="ready")["address"]
    fakes("iop-node", "--connect", url, "--token", "t", "--exec")
    assert edge.until(event="worker", state="ready")["worker"] == "n1"
    labels = {"adapter": "cli", "target": "shout"}
    edge.tell(op="start", id="1", run="a", input={"prompt": "aloud"}, labels=labels)
    edge.tell(op="follow", id="2", run="a")
    assert edge.until(type="TextProduced")["text"] == "ALOUD\n"
    edge.tell(op="wait", id="3", run="a")
    assert edge.until(id="3")["state"] == "succeeded"


def test_whoever_shows_a_token_may_control(fakes: Callable[..., Any]) -> None:
    edge = fakes("iop-edge", "--listen", "grpc://127.0.0.1:0", "--token", "t=n1")
    host = edge.until(event="ready")["address"].removeprefix("grpc://")
    with grpc.insecure_channel(host) as channel:
        run = channel.unary_stream("/iop.EdgeControl/Run", lambda each: each.SerializeToString())
        for token, code in (
            ("t", grpc.StatusCode.UNAVAILABLE),  # that is: no node is there
            ("wrong", grpc.StatusCode.UNAUTHENTICATED),
        ):
            metadata = (("authorization", f"Bearer {token}"),)
            call = run(runtime_pb2.RunRequest(run_id="r"), metadata=metadata, timeout=120)
            with pytest.raises(grpc.RpcError) as caught:
                next(call)
            assert caught.value.code() is code
