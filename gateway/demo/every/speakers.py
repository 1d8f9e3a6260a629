"""The protocols, as the demo plays them: fakes at both ends, entries in the middle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

TOKEN: Final = "FLEETGATE_DEMO_TOKEN"
"""The environment variable with the token, where a protocol wants one."""

SECRET: Final = "demo"


@attrs.frozen(slots=True)
class Speaker:
    """A protocol. In words and tables, `{at}` is the address without its scheme, `{root}` the
    stage's directory and `{name}` the entry's name. `resumes`: its runs outlive the
    gateway's end. `asks`: what makes a run out of a word."""

    protocol: str
    resumes: bool
    controller: tuple[str, ...]
    worker: tuple[str, ...]
    north: str
    south: str
    asks: Mapping[str, Any]
    adapt: str = ""
    sockets: bool = False
    """Whether addresses are paths of sockets, and not ports."""

    def run_of(self, word: str) -> dict[str, Any]:
        """The input of a run that says a word's scene."""
        return {key: _filled(value, word) for key, value in self.asks.items()}


def _filled(value: Any, word: str) -> Any:
    if isinstance(value, str):
        return value.replace("{word}", word)
    return [_filled(each, word) for each in value]


_AS_COMMAND: Final = 'adapt.prompt = { argv = ["say", "{prompt}"] }'

SPEAKERS: Final[Sequence[Speaker]] = (
    Speaker(
        "agency",
        True,
        ("agency-client", "--socket", "{at}"),
        ("agency-daemon", "--socket", "{at}"),
        'listen = "unix:{at}"',
        'connect = "unix:{at}"',
        {"prompt": "{word}", "provider": "claude"},
        'adapt.shell = { prompt = "{line}" }',
        sockets=True,
    ),
    Speaker(
        "iop",
        True,
        ("iop-edge", "--listen", "grpc://{at}", "--token", SECRET),
        ("iop-node", "--connect", "grpc://{at}", "--token", SECRET),
        f'connect = "grpc://{{at}}"\ntoken = {{ env = "{TOKEN}" }}',
        f'listen = "grpc://{{at}}"\ntokens = [{{ token = {{ env = "{TOKEN}" }}, id = "node-1" }}]',
        {"prompt": "{word}"},
    ),
    Speaker(
        "kodelet",
        False,
        ("kodelet-control-plane", "--listen", "{at}"),
        (
            *("kodelet-runner", "--server", "http://{at}"),
            *("--workspace", "{root}", "--state", "{root}/{name}"),
        ),
        'connect = "ws://{at}/api/runner/v1/connect"',
        'listen = "ws://{at}/api/runner/v1/connect"',
        {"line": "{word}"},
        _AS_COMMAND,
    ),
    Speaker(
        "rvbox",
        True,
        ("rvbox-server", "--listen", "ws://{at}/agent"),
        (
            *("rvbox-client", "--connect", "ws://{at}/agent"),
            *("--client-id", "host-1", "--state", "{root}/{name}"),
        ),
        'connect = "ws://{at}/agent"\nclient_id = "{name}"',
        'listen = "ws://{at}/agent"',
        {"argv": ["say", "{word}"]},
        _AS_COMMAND,
    ),
)


@attrs.frozen(slots=True)
class Pair:
    """A controller of `north`, and the workers of `south`."""

    north: Speaker
    south: Speaker

    @property
    def name(self) -> str:
        """What its entry and its controller are called."""
        return f"{self.north.protocol}-{self.south.protocol}"

    @property
    def resumes(self) -> bool:
        """Whether a run of it outlives the gateway's end."""
        return self.north.resumes and self.south.resumes


PAIRS: Final = tuple(Pair(north, south) for north in SPEAKERS for south in SPEAKERS)
