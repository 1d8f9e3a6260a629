"""All targets by name."""

from __future__ import annotations

from collections.abc import Iterable

import fuzz_adapters
import fuzz_agency
import fuzz_explain
import fuzz_files
import fuzz_http2
import fuzz_iop
import fuzz_kodelet
import fuzz_rvbox
import fuzz_websocket
import fuzz_whole
from fuzz_engine import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for module in (
        fuzz_agency,
        fuzz_rvbox,
        fuzz_kodelet,
        fuzz_iop,
        fuzz_explain,
        fuzz_adapters,
        fuzz_http2,
        fuzz_websocket,
        fuzz_files,
        fuzz_whole,
    )
    for target in module.TARGETS
}


def chosen(names: Iterable[str]) -> list[Target]:
    """The targets, and those of the groups, of these names; all, without a name.

    Raises: `KeyError`.
    """
    wanted = list(names)
    for name in wanted:
        if not any(name in (each.name, each.group) for each in TARGETS.values()):
            raise KeyError(name)
    return [t for t in TARGETS.values() if not wanted or t.name in wanted or t.group in wanted]
