"""A connection's deadlines by name, over the one `Wake` that the driver keeps for it."""

from __future__ import annotations

from fleetgate.protocols.api import Wake


class Deadlines:
    """Deadlines by name, Unix nanoseconds."""

    __slots__ = ("_at", "_changed", "_told")

    def __init__(self) -> None:
        self._at: dict[str, int] = {}
        self._told: int | None = None
        self._changed = False

    def set(self, name: str, at: int) -> None:
        """Put `name` at this time, wherever it was."""
        self._at[name] = at
        self._changed = True

    def put(self, name: str, at: int | None) -> None:
        """Put `name` at this time, or forget it where there is none."""
        if at is None:
            self.clear(name)
        else:
            self.set(name, at)

    def clear(self, name: str) -> None:
        """Forget it."""
        self._at.pop(name, None)
        self._changed = True

    def __contains__(self, name: str) -> bool:
        return name in self._at

    def due(self, now: int) -> list[str]:
        """The names whose time has come, earliest first; they are forgotten. Called from
        `tick`, so the driver's wake is spent."""
        self._told = None
        self._changed = True
        names = sorted((at, name) for name, at in self._at.items() if at <= now)
        for _, name in names:
            del self._at[name]
        return [name for _, name in names]

    def wake(self) -> tuple[Wake, ...]:
        """The step that the driver needs so as to call at the earliest of them; none if it will
        anyway."""
        if not self._changed:
            return ()
        self._changed = False
        first = min(self._at.values(), default=None)
        if first is None or self._told == first:
            return ()
        self._told = first
        return (Wake(first),)
