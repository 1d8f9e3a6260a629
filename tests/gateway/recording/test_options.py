"""What both commands have in common."""

from __future__ import annotations

import argparse

import pytest

from fleetgate.gateway.recording.options import BAD, add_tls, run_work, tls_of
from fleetgate.gateway.recording.reading import Unusable
from fleetgate.gateway.recording.recorder import CannotRecord
from fleetgate.transports.api import AddressError, DialFailed, ListenFailed, TlsFiles


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unusable("no recording"), BAD),
        (AddressError("no address"), BAD),
        (DialFailed("nobody"), 7),
        (ListenFailed("taken"), 7),
        (CannotRecord("full"), 7),
    ],
)
@pytest.mark.parametrize("grouped", [True, False])
def test_what_stops_a_command_is_said_and_has_a_code(
    error: Exception, code: int, grouped: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work() -> int:
        raise ExceptionGroup("", [error]) if grouped else error

    assert run_work("replay", work, 7) == code
    assert capsys.readouterr().err == f"gateway replay: {error}\n"


def test_a_fault_of_ours_is_not_hidden() -> None:
    async def work() -> int:
        raise ExceptionGroup("", [KeyError("x")])

    with pytest.raises(ExceptionGroup):
        run_work("replay", work, 7)


def test_certificates_count_where_the_address_is_encrypted() -> None:
    parser = argparse.ArgumentParser()
    add_tls(parser)
    arguments = parser.parse_args(["--tls-ca", "ca.pem"])
    assert tls_of(arguments, "wss://h/x") == TlsFiles(ca="ca.pem")
    assert tls_of(arguments, "ws://h/x") is None
    assert tls_of(parser.parse_args([]), "grpcs://h:1") is None
