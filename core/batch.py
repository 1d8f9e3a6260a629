"""Events of a run that several followers are given at once, and what those make in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar, cast

from fleetgate.core.events import Recorded

T = TypeVar("T")


class _Shared:
    """What several have in hand."""

    def __init__(self, iterable: Iterable[object] = (), /) -> None:
        # The tuple beside this class has taken the items in `__new__`.
        self._made: dict[Hashable, object] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes of it: made for the first who asks with this key, and the same for
        all others. The key names the maker, and all that `make` depends on beside this; what it
        makes must be nothing that anybody changes."""
        if key not in self._made:
            self._made[key] = make()
        return cast("T", self._made[key])


class Batch(_Shared, tuple[Recorded, ...]):
    """What followers with the same cursor are given, as long as nothing newer is there."""


class Frames(_Shared, tuple[bytes, ...]):
    """The frames that connections make of a batch, where they are the same for several."""


def part(batch: Sequence[Recorded], start: int, stop: int) -> Sequence[Recorded]:
    """Some events of a batch that stand together: the same for all followers who have these of
    it in hand."""
    if start == 0 and stop >= len(batch):
        return batch
    return once(batch, (part, start, stop), lambda: Batch(batch[start:stop]))


def once(batch: Sequence[Recorded], key: Hashable, make: Callable[[], T]) -> T:
    """As `Batch.once`, of any batch: what is no `Batch` is given to one follower only."""
    return batch.once(key, make) if isinstance(batch, Batch) else make()
