"""The relay of two transports, as it is joined."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from fleetgate.gateway.bench.pairs.places import places_of
from fleetgate.gateway.bench.pairs.subject import have_link, relay
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.fidelity.bridge import configs_of
from fleetgate.transports.api import Link


@pytest.mark.parametrize("kind", [Kind.RELAY, Kind.PLAIN])
async def test_frames_go_up_as_they_are_once_the_upper_end_has_spoken(
    kind: Kind, tmp_path: Path
) -> None:
    at = places_of("agency", "agency", tmp_path)
    controller, _, host = configs_of("agency", "agency", at)
    came: list[bytes] = []

    async def lower(link: Link) -> None:
        came.append(await link.receive())
        await link.send_some([b"\x00one", b"\x00two"])
        await trio.sleep_forever()

    async def upper(link: Link) -> None:
        await link.send(b"\x00first")
        while len(came) < 3:
            came.extend(await link.receive_some())
        nursery.cancel_scope.cancel()

    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            await nursery.start(have_link, host.north[0], lower)
            nursery.start_soon(relay, kind, "agency", "agency", at)
            nursery.start_soon(have_link, controller.south[0], upper)
    assert came == [b"\x00first", b"\x00one", b"\x00two"]
