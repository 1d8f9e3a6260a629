"""The generator of message code: what is committed is what it makes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tool_loading import ROOT, load_tool

proto = load_tool("proto")


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    return tmp_path / "schemas"


def test_what_is_committed_is_current() -> None:
    assert proto.main(["--check"]) == 0


def test_a_check_names_what_differs_and_changes_nothing(
    schemas: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = schemas / "iop" / "link.proto"
    source.write_text(source.read_text().replace("bool  accepted = 1;", "bool taken = 1;"))
    (schemas / "journal" / "v1" / "event_pb2.pyi").unlink()
    (schemas / "iop" / "gone_pb2.py").write_text("")
    before = {path: path.read_bytes() for path in schemas.rglob("*_pb2.py*")}
    assert proto.main(["--check"], schemas) == 1
    said = capsys.readouterr().err
    assert [line.split()[0] for line in said.splitlines()] == [
        "schemas/iop/gone_pb2.py",
        "schemas/iop/link_pb2.py",
        "schemas/iop/link_pb2.pyi",
        "schemas/journal/v1/event_pb2.pyi",
    ]
    assert {path: path.read_bytes() for path in schemas.rglob("*_pb2.py*")} == before


def test_it_writes_what_differs_and_removes_what_has_no_source(schemas: Path) -> None:
    kept = (schemas / "iop" / "link_pb2.py").read_bytes()
    (schemas / "iop" / "link_pb2.py").write_text("")
    (schemas / "iop" / "gone_pb2.py").write_text("")
    assert proto.main([], schemas) == 0
    assert (schemas / "iop" / "link_pb2.py").read_bytes() == kept
    assert not (schemas / "iop" / "gone_pb2.py").exists()
    assert proto.main(["--check"], schemas) == 0


def test_a_file_that_protoc_refuses_is_said(
    schemas: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (schemas / "iop" / "bad.proto").write_text("message {")
    with pytest.raises(SystemExit, match="protoc refused"):
        proto.main([], schemas)
    assert "iop/bad.proto:1" in capfd.readouterr().err


def test_files_keep_their_published_paths_and_ours_have_a_prefix() -> None:
    paths = {source.proto_path for source in proto.sources(ROOT / "schemas")}
    assert paths == {
        "iop/link.proto",
        "iop/runtime.proto",
        "rvbox/v1/agent.proto",
        "rvbox/v1/common.proto",
        "fleetgate/journal/v1/event.proto",
        "fleetgate/journal/v1/run.proto",
    }
