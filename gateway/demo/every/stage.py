"""The directory of the demo of all pairs: config, script, sockets, ports."""

from __future__ import annotations

import shutil
from pathlib import Path

import attrs

from fleetgate.gateway.demo.every.scenes import script
from fleetgate.gateway.demo.every.speakers import PAIRS, SPEAKERS, Pair, Speaker
from fleetgate.gateway.demo.stage import free_ports, set_root


@attrs.frozen(slots=True)
class EveryStage:
    """Where everything lies. `places` are addresses by the names of entries."""

    root: Path
    places: dict[str, str]

    @property
    def config(self) -> Path:
        """The gateway's config file."""
        return self.root / "gateway.toml"

    @property
    def script(self) -> Path:
        """What all workers play."""
        return self.root / "script.toml"

    def controller(self, pair: Pair) -> list[str]:
        """The words that start a pair's controller."""
        return self._filled(pair.north.controller, pair.name)

    def worker(self, speaker: Speaker) -> list[str]:
        """The words that start a protocol's worker."""
        words = self._filled(speaker.worker, speaker.protocol)
        return [*words, "--script", str(self.script)]

    def _filled(self, words: tuple[str, ...], name: str) -> list[str]:
        return [self._at(word, name) for word in words]

    def _at(self, text: str, name: str) -> str:
        given = {"{at}": self.places[name], "{root}": str(self.root), "{name}": name}
        for mark, value in given.items():
            text = text.replace(mark, value)
        return text

    def remove(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self.root, ignore_errors=True)

    def write(self) -> None:
        """Write the config and the script."""
        tables = [_HEAD]
        for speaker in SPEAKERS:
            entry = self._at(speaker.south, speaker.protocol)
            tables.append(_table("south", speaker.protocol, speaker.protocol, entry))
        for pair in PAIRS:
            entry = self._at(pair.north.north, pair.name)
            tables.append(_table("north", pair.name, pair.north.protocol, entry))
            route = f'from = "{pair.name}"\nto = "{pair.south.protocol}"\n{pair.south.adapt}'
            tables.append(f"[[route]]\n{route}\n")
        self.config.write_text("\n".join(tables))
        self.script.write_text(script())


_HEAD = """\
# Written by `gateway demo --all`: every kind of controller over every kind of worker.
[gateway]
name = "demo"
journal = "sqlite:journal.db"
admin = "unix:admin/socket"
"""


def _table(kind: str, name: str, protocol: str, entry: str) -> str:
    return f'[[{kind}]]\nname = "{name}"\nprotocol = "{protocol}"\n{entry}\n'


def set_every_stage() -> EveryStage:
    """Make the directory, with what has to be in it."""
    root = set_root()
    stage = EveryStage(root, places_in(root))
    stage.write()
    return stage


def places_in(root: Path) -> dict[str, str]:
    """Where the two sides of each link meet, by the names of entries."""
    ends = {speaker.protocol: speaker for speaker in SPEAKERS}
    ends |= {pair.name: pair.north for pair in PAIRS}
    ports = iter(free_ports(sum(not speaker.sockets for speaker in ends.values())))
    return {
        name: str(root / name / "s") if speaker.sockets else f"127.0.0.1:{next(ports)}"
        for name, speaker in ends.items()
    }
