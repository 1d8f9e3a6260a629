"""What `gateway check` says of the certificates that we show."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from fleetgate.gateway.check import check
from fleetgate.gateway.check_certificates import certificate_warnings
from fleetgate.gateway.config import parse
from fleetgate.gateway.registry import adapters

HEAD = '[gateway]\njournal = "sqlite:j.db"\n'
NOW = datetime(2030, 6, 1, tzinfo=UTC)
ENDS = datetime(2031, 1, 1, tzinfo=UTC)


def _entry(address: str, tls: str) -> str:
    way = "listen" if address.startswith("listen ") else "connect"
    protocol = "iop" if "grpcs:" in address else "rvbox"
    facing = "south" if way == "listen" else "north"
    return (
        f'[[{facing}]]\nname = "e"\nprotocol = "{protocol}"\n'
        f'{way} = "{address.partition(" ")[2]}"\ntls = {{ {tls} }}\n'
    )


def _warned(
    place: Path,
    *names: str,
    address: str = "listen wss://0.0.0.0:8443/agent",
    ends: datetime = ENDS,
    begins: datetime | None = None,
    authority: trustme.CA | None = None,
) -> list[str]:
    """What is said of a certificate of these names and times."""
    authority = authority or trustme.CA()
    leaf = authority.issue_cert(*names, common_name="gw", not_after=ends, not_before=begins)
    certificate = place / "c.pem"
    certificate.write_bytes(b"".join(each.bytes() for each in leaf.cert_chain_pems))
    (place / "k.pem").write_bytes(leaf.private_key_pem.bytes())
    (place / "ca.pem").write_bytes(authority.cert_pem.bytes())
    tls = f'certificate = "{place}/c.pem", key = "{place}/k.pem"'
    config = parse(HEAD + _entry(address, tls), "gw.toml", adapters())
    found = list(certificate_warnings(config, NOW.timestamp()))
    assert all(each.key in ("south.e.tls", "north.e.tls") and each.line for each in found)
    return [each.message for each in found]


MEND = "put a renewed one there: the next handshake meets it, without a restart"


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (timedelta(days=15), None),
        (timedelta(days=14), None),
        (timedelta(days=13, hours=23), "expires in 13 days (Jun 14 23:00:00 2030 GMT)"),
        (timedelta(days=1), "expires in 1 day (Jun  2 00:00:00 2030 GMT)"),
        (timedelta(seconds=1), "expires within a day (Jun  1 00:00:01 2030 GMT)"),
        (timedelta(0), "has expired on Jun  1 00:00:00 2030 GMT: no peer trusts it any more"),
        (
            timedelta(days=-400),
            "has expired on Apr 27 00:00:00 2029 GMT: no peer trusts it any more",
        ),
    ],
)
@pytest.mark.parametrize(
    "address",
    [
        "listen wss://0.0.0.0:8443/agent",
        "listen tls://[::]:8443",
        "listen grpcs://0.0.0.0:8443",
        "connect wss://server.example:8443/agent",
        "connect tls://server.example:8443",
        "connect grpcs://server.example:8443",
    ],
)
def test_a_certificate_of_ours_that_ends_is_said_in_time(
    address: str, left: timedelta, said: str | None, tmp_path: Path
) -> None:
    expected = [] if said is None else [f"the certificate {said}; {MEND}"]
    assert _warned(tmp_path, "gw.example", address=address, ends=NOW + left) == expected


def test_one_that_does_not_hold_yet_is_said(tmp_path: Path) -> None:
    assert _warned(tmp_path, "gw.example", begins=NOW + timedelta(hours=1)) == [
        "the certificate is not valid before Jun  1 01:00:00 2030 GMT: until then no peer trusts it"
    ]


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("0.0.0.0", ("gw.example",)),
        ("[::]", ("gw.example",)),
        ("gw.example", ("other.example", "GW.example")),
        ("GW.example", ("gw.example",)),
        ("gw.example", ("*.example",)),
        ("10.0.0.5", ("gw.example", "10.0.0.5")),
        ("[2001:db8::1]", ("2001:db8:0::1",)),
        ("127.0.0.1", ("localhost",)),
        ("localhost", ("127.0.0.1",)),
        ("[::1]", ("localhost",)),
    ],
)
def test_a_certificate_for_who_dials_the_address_is_fine(
    host: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    assert _warned(tmp_path, *names, address=f"listen wss://{host}:8443/agent") == []


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("gw.example", ("other.example",)),
        ("gw.example", ("*.gw.example",)),
        ("a.gw.example", ("*.example",)),
        ("example", ("*.example",)),
        ("10.0.0.5", ("gw.example", "10.0.0.6")),
        ("127.0.0.1", ("gw.example",)),
    ],
)
def test_one_for_somebody_else_is_said(host: str, names: tuple[str, ...], tmp_path: Path) -> None:
    (said,) = _warned(tmp_path, *names, address=f"listen wss://{host}:8443/agent")
    assert said.startswith(f"the certificate is for {', '.join(names)}: a peer that dials {host} ")


def test_a_common_name_is_no_name(tmp_path: Path) -> None:
    assert _warned(tmp_path) == [
        "the certificate holds no name (subjectAltName): no peer trusts it, whatever it dials"
    ]


def test_what_a_dialler_is_called_is_for_its_peer_to_judge(tmp_path: Path) -> None:
    dials = "connect wss://server.example:8443/agent"
    assert _warned(tmp_path, "host-1", address=dials) == []
    assert _warned(tmp_path, address=dials) == []


def test_the_first_of_a_chain_is_the_one_that_counts(tmp_path: Path) -> None:
    parent = trustme.CA()
    assert _warned(tmp_path, "gw.example", authority=parent.create_child_ca()) == []


def test_files_that_are_none_are_told_as_problems_only(tmp_path: Path) -> None:
    (tmp_path / "c.pem").write_text("none")
    tls = f'certificate = "{tmp_path}/c.pem", key = "{tmp_path}/k.pem"'
    for path in (tls, tls.replace("c.pem", "gone.pem"), tls.replace("c.pem", ".")):
        text = HEAD + _entry("listen wss://0.0.0.0:8443/agent", path)
        config = parse(text, "gw.toml", adapters())
        assert list(certificate_warnings(config, time.time())) == []
        assert check(config, adapters()).problems


def test_it_is_a_warning_of_check(tmp_path: Path) -> None:
    """Such a config can be served: a renewed one counts without a restart."""
    _warned(tmp_path, "gw.example", ends=datetime(2001, 1, 1, tzinfo=UTC))
    tls = f'certificate = "{tmp_path}/c.pem", key = "{tmp_path}/k.pem"'
    tls += f', client_ca = "{tmp_path}/ca.pem"'
    text = HEAD.replace("j.db", f"{tmp_path}/j.db")
    config = parse(text + _entry("listen wss://0.0.0.0:8443/agent", tls), "gw.toml", adapters())
    findings = check(config, adapters())
    assert findings.problems == ()
    assert "has expired on Jan  1" in " ".join(each.message for each in findings.warnings)
