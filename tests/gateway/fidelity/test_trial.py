"""One value through one bridge. The whole corpus on every bridge: `just fidelity-check`."""

from __future__ import annotations

import pytest

from fleetgate.gateway.fidelity.cli import measure
from fleetgate.gateway.fidelity.report import forgetful, table_of
from fleetgate.gateway.fidelity.verdict import Verdict


@pytest.mark.slow
def test_a_bridge_between_two_ends_of_one_protocol_loses_nothing_that_it_can_say() -> None:
    table = table_of({column: measure(column) for column in ("agency", "agency>agency")})
    said = [row for row, verdicts in table.items() if verdicts["agency"] is Verdict.CARRIED]
    assert len(said) > 10
    assert forgetful(table) == []
