"""How a control plane shows a runner (W 8.6)."""

import pytest

from fleetgate.protocols.kodelet.liveness import Liveness
from fleetgate.protocols.kodelet.record import RunnerRecord

SILENT = Liveness("r", 1, 0)
READY = Liveness("r", 1, 0, ready=True)
BROKEN = Liveness("r", 1, 0, ready=True, error=True)


@pytest.mark.parametrize(
    ("record", "status"),
    [
        (RunnerRecord("r"), "offline"),
        (RunnerRecord("r", incompatible="no version"), "incompatible"),
        (RunnerRecord("r", SILENT, connected=True), "connecting"),
        (RunnerRecord("r", READY, connected=True), "idle"),
        (RunnerRecord("r", READY, connected=True, runs=("a",)), "busy"),
        (RunnerRecord("r", BROKEN, connected=True, runs=("a",)), "error"),
        (RunnerRecord("r", READY, connected=True, incompatible="an older try"), "idle"),
        (RunnerRecord("r", READY, incompatible="a newer try"), "incompatible"),
        (RunnerRecord("r", BROKEN), "offline"),
    ],
)
def test_the_status_in_the_protocol_s_words(record: RunnerRecord, status: str) -> None:
    assert record.status == status
