"""What becomes of an order on its way through an execution is tested with real processes in
`test_worker`; here are the small pieces."""

import signal

import pytest

from fleetgate.gateway.local.execution import signal_name


@pytest.mark.parametrize(
    ("number", "name"),
    [(signal.SIGTERM, "SIGTERM"), (signal.SIGKILL, "SIGKILL"), (signal.SIGRTMIN + 3, "SIG37")],
)
def test_signals_by_name(number: int, name: str) -> None:
    assert signal_name(number) == name
