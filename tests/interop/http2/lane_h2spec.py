"""h2spec, a suite for servers of HTTP/2, against a gRPC server of ours."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from go_programs import install, version_of
from iop_stage import host_of, start_edge
from peers import fakes

PACKAGE, VERSION = "github.com/summerwind/h2spec/cmd/h2spec", "v2.2.1+incompatible"

NOT_FOR_US = {
    "Sends a WINDOW_UPDATE frame on half-closed (remote) stream",
    "Sends a PRIORITY frame on half-closed (remote) stream",
    "Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded",
}
"""What h2spec cannot see here. It asks with GET and wants a body: it gets 405 and no body. It
opens calls above the bound: each is answered at once, so the bound is never reached."""


@pytest.fixture(scope="session")
def h2spec(cache: Path) -> Path:
    """The program."""
    return install(cache, PACKAGE, VERSION)


def test_what_h2spec_asks(
    h2spec: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Each case of h2spec that can be put to a server of gRPC."""
    record_property("peer", version_of(h2spec))
    report = tmp_path / "report.xml"
    with fakes() as fake:
        _, address = start_edge(fake, control="true")
        host, _, port = host_of(address).rpartition(":")
        words = [h2spec, "-h", host, "-p", port, "-o", "3", "-P", "/iop.EdgeControl/Cancel"]
        subprocess.run([*words, "-j", report], check=False, capture_output=True)
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = {case.get("classname") or case.get("name") for case in cases if len(case)
              and case[0].tag in ("failure", "error")}  # fmt: skip
    assert failed - NOT_FOR_US == set()
    assert len(cases) > 130
    record_property("count", len(cases) - len(NOT_FOR_US))
