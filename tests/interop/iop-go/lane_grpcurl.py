"""grpcurl, which knows no schema of ours but what reflection tells it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from go_programs import install, run, version_of
from iop_stage import TOKEN, host_of, start_edge, start_node
from peers import Start
from staging import Papers

PATIENT = ["-connect-timeout", "120"]
PACKAGE, VERSION = "github.com/fullstorydev/grpcurl/cmd/grpcurl", "v1.9.4"


@pytest.fixture(scope="session")
def grpcurl(cache: Path) -> Path:
    """The program."""
    return install(cache, PACKAGE, VERSION)


def test_reflection(
    fake: Start, grpcurl: Path, record_property: Callable[[str, object], None]
) -> None:
    """Lists and describes what is served, and calls it by what it was told of it."""
    record_property("peer", version_of(grpcurl))
    edge, address = start_edge(fake, controllers="*", control="true")
    start_node(fake, address)
    edge.until(event="worker", worker="n1", state="ready")
    at = [host_of(address)]
    call = [grpcurl, *PATIENT, "-plaintext", "-H", f"authorization: Bearer {TOKEN}"]
    served = set(run([*call, *at, "list"]).split())
    assert served == {"iop.NodeLink", "iop.EdgeControl"}
    assert set(run([*call, *at, "list", "iop.EdgeControl"]).split()) == {
        f"iop.EdgeControl.{name}" for name in ("Attach", "Cancel", "Command", "Run", "WatchNodes")
    }
    assert "rpc Connect ( stream .iop.NodeMessage )" in run(
        [*call, *at, "describe", "iop.NodeLink"]
    )
    assert "google.protobuf.Struct input = 6;" in run([*call, *at, "describe", "iop.RunRequest"])
    asked = {"run_id": "r1", "adapter": "mock", "input": {"prompt": "by reflection"}}
    said = run([*call, "-d", json.dumps(asked), *at, "iop.EdgeControl/Run"])
    assert '"delta": "by reflection"' in said
    assert '"type": "complete"' in said


def test_reflection_over_tls(
    fake: Start, grpcurl: Path, papers: Papers, record_property: Callable[[str, object], None]
) -> None:
    """The same behind a certificate that a client must show."""
    record_property("peer", version_of(grpcurl))
    own = ["--tls-cert", papers.server[0], "--tls-key", papers.server[1], "--tls-ca", papers.ca]
    _, address = start_edge(fake, *own, secure=True)
    proof = ["-cacert", papers.ca, "-cert", papers.client[0], "-key", papers.client[1]]
    assert "iop.NodeLink" in run([grpcurl, *PATIENT, *proof, host_of(address), "list"])
    strange = ["-cert", papers.stranger[0], "-key", papers.stranger[1]]
    for wrong, why in (([], "certificate required"), (strange, "unknown certificate authority")):
        words = [grpcurl, *PATIENT, "-cacert", papers.ca, *wrong, host_of(address), "list"]
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        assert done.returncode != 0
        assert why in done.stderr
