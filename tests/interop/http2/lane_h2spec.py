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

WITHIN = 20
"""Seconds that h2spec waits for what a case wants. Only what it cannot see here takes as long."""

UNSEEN = {
    "Sends a WINDOW_UPDATE frame on half-closed (remote) stream",
    "Sends a PRIORITY frame on half-closed (remote) stream",
    "Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded",
}
"""What h2spec cannot see here. It asks with GET and wants a body: it gets 405 and no body. It
opens calls above the bound: each is answered at once, so the bound is never reached."""

OTHER_LENGTH = (
    'Sends a HEADERS frame with the "content-length" header field which does not equal the'
)

BY_CHANCE = {
    f"{OTHER_LENGTH} DATA frame payload length",
    f"{OTHER_LENGTH} sum of the multiple DATA frames payload length",
}
"""What h2spec sees where head and body come in one read. Its GET is answered as soon as its head is
there, and a body that comes behind that answer is not looked at any more."""

LEFT_OUT = {
    "Sends multiple values of SETTINGS_INITIAL_WINDOW_SIZE",
    "Sends SETTINGS frame to set the initial window size to 1 and sends HEADERS frame",
    "Changes SETTINGS_INITIAL_WINDOW_SIZE after sending HEADERS frame",
    "Sends a SETTINGS frame for window size to be negative",
}
"""What h2spec itself leaves out, as the answer to its GET has no body. These and the others above
are in tests/transports/test_http2_cases.py, with a call that has one."""


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
        words = [h2spec, "-S", "-h", host, "-p", port, "-o", str(WITHIN), "-j", report]
        asked = [*words, "-P", "/iop.EdgeControl/Cancel"]
        subprocess.run(asked, check=False, capture_output=True)
    cases = list(ElementTree.parse(report).iter("testcase"))
    assert marked(cases, "failure", "error") - BY_CHANCE == UNSEEN
    assert marked(cases, "skipped") == LEFT_OUT
    passed = [case for case in cases if not len(case)]
    assert len(passed) > 130
    record_property("count", len(passed))


def marked(cases: list[ElementTree.Element], *marks: str) -> set[str]:
    """The names of the cases with one of these marks."""
    return {case.get("classname", "") for case in cases if len(case) and case[0].tag in marks}
