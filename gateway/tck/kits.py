"""Which kits there are: one folder here for each protocol, with a `KITS` by side."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from fleetgate.gateway import tck
from fleetgate.gateway.config_reader import nearest
from fleetgate.gateway.tck.requirement import Kit


class NoSuchKit(Exception):
    """No kit has this name; the text says which there are."""


def protocols() -> tuple[str, ...]:
    """The protocols with kits."""
    return tuple(sorted(found.name for found in iter_modules(tck.__path__) if found.ispkg))


def kits_of(protocol: str) -> Mapping[str, Kit]:
    """The kits of a protocol, by the side that the target plays.

    Raises: `NoSuchKit`.
    """
    if protocol not in protocols():
        raise NoSuchKit(f"no protocol is named {protocol}; {nearest(protocol, protocols())}")
    found: Mapping[str, Kit] = import_module(f"fleetgate.gateway.tck.{protocol}").KITS
    return found


def kit_of(protocol: str, side: str) -> Kit:
    """One kit.

    Raises: `NoSuchKit`.
    """
    kits = kits_of(protocol)
    if side not in kits:
        sides = " or ".join(kits)
        raise NoSuchKit(f"a target of {protocol} is a {sides}, not {side!r}")
    return kits[side]


def all_kits() -> tuple[Kit, ...]:
    """Every kit."""
    return tuple(kit for protocol in protocols() for kit in kits_of(protocol).values())
