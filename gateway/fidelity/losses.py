"""What does not arrive as it was said on a way through the gateway, out of the measured table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, get_args

import attrs

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.gateway.fidelity.report import Table
from fleetgate.gateway.fidelity.verdict import Verdict

_EVENTS: Final = frozenset(kind.__name__ for kind in get_args(e.Event))
_ORDERS: Final = frozenset(kind.__name__ for kind in get_args(c.RunCommand))
_UNSAID: Final = " (unsaid)"


@attrs.frozen(slots=True)
class Fates:
    """What became of things of one sort, by name: of whole kinds, and of members of those kinds
    that arrive, as `Kind.member`. `synthesised`: something arrives that nobody said."""

    converted: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    synthesised: tuple[str, ...] = ()

    def members(self) -> Mapping[str, Sequence[str]]:
        """The members that are dropped, by their kind."""
        found: dict[str, list[str]] = {}
        for name in self.dropped:
            kind, dot, member = name.partition(".")
            if dot:
                found.setdefault(kind, []).append(member)
        return found


@attrs.frozen(slots=True)
class Losses:
    """What a controller sees of a worker's `events`, and what a worker gets of a run's request
    (`requests`) and of the `orders` that follow it."""

    events: Fates
    orders: Fates
    requests: Fates


def losses(table: Table, north: str, south: str) -> Losses | None:
    """What was measured for controllers of `north` and workers of `south`; None: it was not."""
    column = f"{north}>{south}"
    found = {name: row[column] for name, row in table.items() if column in row}
    if not found:
        return None
    told = {name: found[name] for name in found if _kind(name) in _EVENTS}
    orders = {name: found[name] for name in found if _kind(name) in _ORDERS}
    rest = {name: found[name] for name in found if name not in told and name not in orders}
    return Losses(_fates(told), _fates(orders), _fates(rest))


def _kind(name: str) -> str:
    return name.removesuffix(_UNSAID).partition(".")[0]


def _fates(found: Mapping[str, Verdict]) -> Fates:
    return Fates(
        *(
            tuple(_named(found, verdict))
            for verdict in (Verdict.CONVERTED, Verdict.DROPPED, Verdict.SYNTHESISED)
        )
    )


def _named(found: Mapping[str, Verdict], verdict: Verdict) -> Iterator[str]:
    """The names with a verdict. What is dropped or converted as a whole says it for its members."""
    for name in sorted(found):
        whole = found.get(_kind(name), Verdict.CARRIED)
        if found[name] is verdict and (name == _kind(name) or whole is Verdict.CARRIED):
            yield name
