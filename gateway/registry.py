"""Names to things: the protocols and the journals that a config file may name.

What ships with the gateway is listed here, in order; others come by the entry point group
`fleetgate.protocols`, each an `Adapter`. A name that is taken stops the start.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Final

from fleetgate.core.journal.api import Journal, JournalError
from fleetgate.gateway.config_entries import Facing, side_of
from fleetgate.protocols.api import Adapter

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "fleetgate.protocols"


class RegistryError(Exception):
    """Two protocols want one name, or an entry point is no adapter."""


BUILTIN: Final = ("agency", "iop", "kodelet", "rvbox")
"""The protocols that ship with the gateway. Each has a package of its name."""


def builtin() -> tuple[Adapter, ...]:
    """Their adapters."""
    return tuple(map(builtin_adapter, BUILTIN))


def builtin_adapter(name: str) -> Adapter:
    """One of them. The others are not imported."""
    adapter: Adapter = import_module(f"fleetgate.protocols.{name}").ADAPTER
    return adapter


class _Known(Mapping[str, Adapter]):
    """Protocols by name. One that ships with the gateway is imported when it is asked for."""

    def __init__(self, brought: Mapping[str, Adapter]) -> None:
        self._brought = brought

    def __getitem__(self, name: str) -> Adapter:
        return builtin_adapter(name) if name in BUILTIN else self._brought[name]

    def __iter__(self) -> Iterator[str]:
        yield from BUILTIN
        yield from self._brought

    def __len__(self) -> int:
        return len(BUILTIN) + len(self._brought)


def load_side(protocol: str, facing: Facing) -> None:
    """Import all that an entry of this facing says and hears, so that its first peer does not wait
    for that. Protocols of others are loaded as a whole."""
    if protocol in BUILTIN:
        side = side_of(builtin_adapter(protocol), facing)
        side.open(side.settings())  # a value that nobody needs: it imports what it is made of


def adapters(extra: Iterable[EntryPoint] | None = None) -> Mapping[str, Adapter]:
    """All protocols by name; `extra` are entry points in place of the installed ones.

    Raises: `RegistryError`.
    """
    # Imported here: a fake asks for no protocol of others.
    from importlib.metadata import entry_points

    brought: dict[str, Adapter] = {}
    for point in entry_points(group=GROUP) if extra is None else extra:
        try:
            adapter = point.load()
        except Exception as error:  # a package's code runs: it may raise anything
            raise RegistryError(
                f"entry point {point.name} ({point.value}) cannot be loaded: {error!r}; "
                "uninstall or mend its package"
            ) from error
        if not isinstance(adapter, Adapter):
            raise RegistryError(f"entry point {point.name} ({point.value}) is no Adapter")
        if adapter.name in BUILTIN or adapter.name in brought:
            raise RegistryError(
                f"{point.value} brings a protocol named {adapter.name}, which is taken; "
                "uninstall one"
            )
        brought[adapter.name] = adapter
    return _Known(brought)


@asynccontextmanager
async def open_journal(url: str) -> AsyncGenerator[Journal, None]:
    """Open the journal that `url` names: `memory:`, or `sqlite:` and a path.

    Raises: `JournalError`.
    """
    scheme, _, path = url.partition(":")
    if scheme == "memory":
        from fleetgate.core.journal.memory import open_memory_journal

        async with open_memory_journal() as journal:
            yield journal
    elif scheme == "sqlite" and path:
        from fleetgate.core.journal.sqlite import open_sqlite_journal

        async with open_sqlite_journal(path) as journal:
            yield journal
    else:
        raise JournalError(f"no journal is named {url!r}; use sqlite:PATH or memory:")
