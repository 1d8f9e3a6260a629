"""A user's own generated code for the same protocols loads beside ours, in either order."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fleetgate.schemas

SCHEMAS = Path(fleetgate.schemas.__file__).parent

OURS = """
from fleetgate.schemas.iop import link_pb2, runtime_pb2
from fleetgate.schemas.rvbox.v1 import agent_pb2, common_pb2
from fleetgate.schemas.journal.v1 import event_pb2, run_pb2
"""
THEIRS = """
import iop.link_pb2, iop.runtime_pb2
import rvbox.v1.agent_pb2, rvbox.v1.common_pb2
"""
USE = """
ours = agent_pb2.ClientHello(client_id="h", supported_shells=[common_pb2.SHELL_TYPE_BASH])
ours.sent_at.FromNanoseconds(5)
theirs = rvbox.v1.agent_pb2.ClientHello(client_id="h")
theirs.sent_at.FromNanoseconds(5)
assert "SHELL_TYPE_FISH" not in common_pb2.ShellType.keys()
assert "SHELL_TYPE_FISH" in rvbox.v1.common_pb2.ShellType.keys()
assert agent_pb2.ClientHello.FromString(theirs.SerializeToString()).sent_at.ToNanoseconds() == 5
assert type(ours) is not type(theirs)
said = runtime_pb2.RunRequest(run_id="r", input={"prompt": "p"})
assert iop.runtime_pb2.RunRequest.FromString(said.SerializeToString()).input["prompt"] == "p"
assert iop.link_pb2.NodeMessage(heartbeat={}).WhichOneof("payload") == "heartbeat"
assert link_pb2.NodeMessage(heartbeat={}).WhichOneof("payload") == "heartbeat"
assert event_pb2.Recorded(text_produced={"text": "x"}).WhichOneof("event") == "text_produced"
print("beside")
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What protoc makes of the same files for a user, in whose `rvbox/v1/common.proto` there
    is one more shell."""
    folder = tmp_path_factory.mktemp("theirs")
    paths = ["iop/link.proto", "iop/runtime.proto", "rvbox/v1/agent.proto", "rvbox/v1/common.proto"]
    for path in paths:
        text = (SCHEMAS / path).read_text()
        if path.endswith("common.proto"):
            changed = text.replace(
                "SHELL_TYPE_CMD         = 7;", "SHELL_TYPE_CMD = 7; SHELL_TYPE_FISH = 8;"
            )
            assert changed != text
            text = changed
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", f"--python_out={folder}"]
    subprocess.run([*protoc, *paths], check=True)
    return folder


@pytest.mark.parametrize("runtime", ["upb", "python"])
@pytest.mark.parametrize(
    "order", [OURS + THEIRS, THEIRS + OURS], ids=["ours first", "theirs first"]
)
def test_both_load_and_work(theirs: Path, order: str, runtime: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", order + USE],
        env={
            **os.environ,
            "PYTHONPATH": str(theirs),
            "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": runtime,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("beside\n", "")
