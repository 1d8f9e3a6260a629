"""Workers that are there and do nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import trio

from fleetgate.gateway.bench import idle
from fleetgate.gateway.bench.idle import WARM, Workers, entries_of, stand
from fleetgate.gateway.bench.pairs.places import PROTOCOLS, places_of
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.fidelity.bridge import LISTENING_WORKERS


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_worker_can_be_told_from_the_others(protocol: str) -> None:
    entries = entries_of(protocol, "unix:/s", 5)
    assert len(entries) == (5 if protocol in LISTENING_WORKERS else 1)
    assert len({entry.name for entry in entries}) == len(entries)
    tokens = [grant.token.read() for grant in entries[0].tokens]
    assert len(set(tokens)) == len(tokens)


@pytest.mark.parametrize("kind", [Kind.RELAY, Kind.BRIDGE])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_all_of_them_come_and_what_they_add_is_said(
    protocol: str, kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    warm, ready = trio.Event(), trio.Event()

    def write(line: str) -> None:
        said.append(line)
        {"ready": ready, "warm": warm}.get(line, trio.Event()).set()

    monkeypatch.setattr(idle, "_write", write)
    monkeypatch.setattr(idle, "settle", lambda: None)  # this process is pytest's
    monkeypatch.setattr(idle, "REST", 0.01)
    address = places_of(protocol, protocol, tmp_path)[1]
    workers = Workers(protocol, address, plain=kind is not Kind.BRIDGE)
    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            if protocol in LISTENING_WORKERS:
                await nursery.start(workers.come, WARM + 2, warm)

            async def be() -> None:
                await stand(kind, protocol, WARM + 2, address, str(tmp_path / "journal.db"))
                nursery.cancel_scope.cancel()

            nursery.start_soon(be)
            await ready.wait()
            if protocol not in LISTENING_WORKERS:
                await nursery.start(workers.come, WARM + 2, warm)
    assert said[:2] == ["ready", "warm"]
    assert abs(int(said[2])) < sys.maxsize
