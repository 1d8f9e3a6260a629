"""The kill loop's config is one that the gateway takes, and its peers meet it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chaos_site import GRACE, Site, load_site, set_site

from fleetgate.gateway.check import load_usable
from fleetgate.gateway.demo.every.speakers import PAIRS
from fleetgate.gateway.registry import adapters


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = set_site()
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    yield made
    made.stage.remove()


def test_the_gateway_takes_it_and_it_has_every_pair(site: Site) -> None:
    config = load_usable(str(site.stage.config), adapters(()))
    assert {entry.name for entry in config.north} == {pair.name for pair in PAIRS}
    settings = {entry.name: entry.settings for entry in (*config.south, *config.north)}
    assert settings["iop"].reconnect_grace == GRACE
    assert settings["kodelet-iop"].retry_cap == 0.5
    assert config.gateway.journal == f"sqlite:{site.stage.root / 'journal.db'}"


def test_another_process_finds_it_by_its_directory(site: Site) -> None:
    assert load_site(site.stage.root) == site


def test_each_of_its_entries_has_a_peer_at_the_same_address(site: Site) -> None:
    config = load_usable(str(site.stage.config), adapters(()))
    peers = {name: each.south[0] for name, each in site.controllers().items()}
    peers |= {name: each.north[0] for name, each in site.hosts().items()}
    for entry in (*config.north, *config.south):
        peer = peers.pop(entry.name)
        assert (peer.protocol, peer.address) == (entry.protocol, entry.address)
        assert peer.listens is not entry.listens
    assert not peers
