"""The config of the demo of all pairs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fleetgate.gateway.config import load
from fleetgate.gateway.demo.every.speakers import PAIRS, SECRET, SPEAKERS, TOKEN
from fleetgate.gateway.demo.every.stage import EveryStage, set_every_stage
from fleetgate.gateway.local.script import load_script
from fleetgate.gateway.registry import adapters


@pytest.fixture
def stage() -> Iterator[EveryStage]:
    made = set_every_stage()
    yield made
    made.remove()
    assert not made.root.exists()


def test_the_config_has_every_pair_and_the_script_can_be_read(
    stage: EveryStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN, SECRET)
    config = load(stage.config, adapters(()))
    assert {entry.name for entry in config.north} == {pair.name for pair in PAIRS}
    assert {entry.name for entry in config.south} == {each.protocol for each in SPEAKERS}
    assert {(r.from_, r.to) for r in config.routes} == {
        (pair.name, pair.south.protocol) for pair in PAIRS
    }
    assert load_script(stage.script).rules


def test_both_ends_of_a_link_have_one_address(stage: EveryStage) -> None:
    text = stage.config.read_text()
    assert len(set(stage.places.values())) == len(stage.places)
    for pair in PAIRS:
        place = stage.places[pair.name]
        assert any(place in word for word in stage.controller(pair))
        assert place in text
    for speaker in SPEAKERS:
        words = stage.worker(speaker)
        assert words[-2:] == ["--script", str(stage.script)]
        assert not any("{" in word for word in words)
