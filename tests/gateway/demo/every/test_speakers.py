"""The protocols that the demo of all pairs plays."""

from __future__ import annotations

from fleetgate.gateway.demo.every.speakers import PAIRS, SPEAKERS
from fleetgate.gateway.fakes.cli import FAKES
from fleetgate.gateway.registry import adapters


def test_every_protocol_is_played_at_both_ends_by_fakes() -> None:
    assert {speaker.protocol for speaker in SPEAKERS} == set(adapters(()))
    played = {words[0] for each in SPEAKERS for words in (each.controller, each.worker)}
    assert played == set(FAKES)


def test_every_pair_is_there_once() -> None:
    assert len({pair.name for pair in PAIRS}) == len(PAIRS) == len(SPEAKERS) ** 2


def test_a_word_becomes_each_protocols_own_kind_of_input() -> None:
    for speaker in SPEAKERS:
        assert "quick" in str(speaker.run_of("quick"))
        assert "{word}" not in str(speaker.run_of("quick"))


def test_a_run_outlives_the_gateway_only_where_both_its_protocols_can() -> None:
    resuming = {speaker.protocol for speaker in SPEAKERS if speaker.resumes}
    for pair in PAIRS:
        assert pair.resumes is ({pair.north.protocol, pair.south.protocol} <= resuming)
