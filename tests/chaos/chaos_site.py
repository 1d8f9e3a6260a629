"""Where the kill loop lies: a directory with one config for all sixteen bridges, and the configs of
the peers at both ends: controllers, which are in this process, and workers, which are not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from fleetgate.gateway.config import Config
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.demo.every.speakers import PAIRS, SPEAKERS, TOKEN, Speaker
from fleetgate.gateway.demo.every.stage import EveryStage, places_in
from fleetgate.gateway.demo.stage import set_root
from fleetgate.gateway.fidelity.bridge import TOKEN as SHOWN
from fleetgate.gateway.fidelity.bridge import configs_of

GRACE = 12.0
"""Seconds that runs wait for an iop node, and as long again for its word: a few times what the
peers here take to come back, which dial twice a second."""
BRISK: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("iop", "south"): {"reconnect_grace": GRACE},
    ("kodelet", "north"): {"retry_first": 0.2, "retry_cap": 0.5},
}
"""Settings of entries, at the gateway and at its peers, by protocol and facing."""


@attrs.frozen
class Site:
    """Addresses, files, and who is at the other ends."""

    stage: EveryStage

    @property
    def environment(self) -> dict[str, str]:
        """What the gateway's config reads from there."""
        return {TOKEN: SHOWN.text}

    def controllers(self) -> dict[str, Config]:
        """The controller of each pair."""
        return {
            pair.name: _brisk(
                configs_of(
                    pair.north.protocol,
                    pair.north.protocol,
                    (self._address(pair.north, pair.north.north, pair.name), "memory:nowhere"),
                )[0]
            )
            for pair in PAIRS
        }

    def hosts(self) -> dict[str, Config]:
        """The worker of each protocol."""
        return {
            speaker.protocol: _brisk(
                configs_of(
                    speaker.protocol,
                    speaker.protocol,
                    ("memory:nowhere", self._address(speaker, speaker.south, speaker.protocol)),
                )[2]
            )
            for speaker in SPEAKERS
        }

    def _address(self, speaker: Speaker, words: str, name: str) -> str:
        found = re.search(r'"((?:unix|grpc|ws):[^"]*)"', words)
        assert found is not None, words
        return found[1].replace("{at}", self.stage.places[name])


def _brisk(config: Config) -> Config:
    return attrs.evolve(
        config,
        south=tuple(map(_brisk_entry, config.south)),
        north=tuple(map(_brisk_entry, config.north)),
    )


def _brisk_entry(entry: Entry) -> Entry:
    more = BRISK.get((entry.protocol, entry.facing), {})
    return attrs.evolve(entry, settings=attrs.evolve(entry.settings, **more))


EAGER = 0.05
"""What peers draw for the wait between two dials: of one second to half a minute, so much."""

_PLACES = "places.json"


def load_site(root: Path) -> Site:
    """The one that is in a directory."""
    return Site(EveryStage(root, json.loads((root / _PLACES).read_text())))


def set_site() -> Site:
    """Make the directory, with the config in it."""
    root = set_root()
    places = places_in(root)
    stage = EveryStage(root, places)
    stage.write()
    (root / _PLACES).write_text(json.dumps(places))
    lines: list[str] = []
    facing = ""
    for line in stage.config.read_text().splitlines():
        lines.append(line)
        if line.startswith("[["):
            facing = line.strip("[]")
        elif found := re.fullmatch(r'protocol = "(\w+)"', line):
            more = BRISK.get((found[1], facing), {})
            lines += [f"{name} = {value}" for name, value in more.items()]
    stage.config.write_text("\n".join(lines) + "\n")
    return Site(stage)
