"""Names to things: the protocols and the journals that a config file may name.

What ships with the gateway is listed here, in order; others come by the entry point group
`fleetgate.protocols`, each an `Adapter`. A name that is taken stops the start.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from fleetgate.core.journal.api import Journal, JournalError
from fleetgate.protocols.api import Adapter

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


def adapters(extra: Iterable[EntryPoint] | None = None) -> Mapping[str, Adapter]:
    """All protocols by name; `extra` are entry points in place of the installed ones.

    Raises: `RegistryError`.
    """
    known: dict[str, Adapter] = {}
    for adapter in builtin():
        _add(known, adapter, "fleetgate")
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
        _add(known, adapter, point.value)
    return known


def _add(known: dict[str, Adapter], adapter: Adapter, source: str) -> None:
    if adapter.name in known:
        raise RegistryError(
            f"{source} brings a protocol named {adapter.name}, which is taken; uninstall one"
        )
    known[adapter.name] = adapter


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
