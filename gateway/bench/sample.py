"""What one trial measured, and the line in which a load client says it."""

from __future__ import annotations

import json
from typing import Any, Generic, TypeVar

import attrs

_T = TypeVar("_T")
_S = TypeVar("_S")


@attrs.frozen(slots=True)
class Taken(Generic[_T, _S]):
    """What was measured in a trial."""

    trial: _T
    sample: _S


@attrs.frozen(slots=True)
class Sample:
    """`seconds` are from when the first body was due to when the last event was there. `size` is
    bytes of frames as the client got them. `cpu_seconds` is the subject's processor time
    meanwhile, `peak_rss` the most bytes it ever had. `lateness` is nanoseconds from when a body
    was due to when it was there, of each body, where the task has a rate."""

    events: int
    size: int
    seconds: float
    cpu_seconds: float
    peak_rss: int
    lateness: tuple[int, ...] = ()

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds

    @property
    def cpu_micros(self) -> float:
        """The subject's processor time for one event, in microseconds."""
        return self.cpu_seconds / self.events * 1e6

    def line(self) -> str:
        """As one line of JSON."""
        return json.dumps(attrs.asdict(self), separators=(",", ":"))


def read_sample(line: str) -> Sample | None:
    """The sample in a line of a load client's output; None for any other line."""
    if not line.startswith('{"events":'):
        return None
    members: dict[str, Any] = json.loads(line)
    members["lateness"] = tuple(members["lateness"])
    return Sample(**members)
