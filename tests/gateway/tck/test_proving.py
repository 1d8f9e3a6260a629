"""The checks of kits can fail themselves."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.agency.daemon_hello import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import Bend


async def test_a_mutant_that_breaks_nothing_is_found(
    daemon: Runner, autojump_clock: MockClock
) -> None:
    with pytest.raises(AssertionError, match="AGENCY-D-020 is pass"):
        await check_fails(daemon, "AGENCY-D-020", Bend())


def test_a_requirement_that_nobody_breaks_is_found() -> None:
    with pytest.raises(AssertionError, match="AGENCY-D-020"):
        check_mutants(TOPIC, ())
