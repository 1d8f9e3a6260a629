"""The `[[local]]` tables of a config file: workers that run in the gateway's own care."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, Final, cast, get_args

import attrs

from fleetgate.core.routing import ANY_LINK, OPERATOR
from fleetgate.gateway.config_entries import NAME, NAME_FORMS, read_secret
from fleetgate.gateway.config_reader import Flaw, Flawed, read_sound
from fleetgate.gateway.local.cli_profile import contradictions
from fleetgate.gateway.local.pool import AdapterName, LocalPool
from fleetgate.gateway.places import resolve_path
from fleetgate.gateway.settings import MAX_SECONDS, GatewaySettings, runtime_directory
from fleetgate.gateway.toml_lines import Path

_STAND_INS: Final = {"name": "a", "adapters": list(get_args(AdapterName))}
_PATHS = ("directory", "workspace_root", "state", "script")


def read_local(table: object, path: Path, base: FilePath) -> LocalPool:
    """Read one table; paths in it are relative to `base`.

    Raises: `Flawed`.
    """
    flaws: list[Flaw] = []
    pool = read_sound(LocalPool, table, path, flaws, _STAND_INS)
    flaws += (Flaw((*path, key), said) for key, said in _wrong(pool).items())
    for name, profile in pool.cli.items():
        wrong = contradictions(profile).items()
        flaws += (Flaw((*path, "cli", name, key), said) for key, said in wrong)
    vllm = pool.vllm
    if vllm.token is not None:
        secret = read_secret(vllm.token, (*path, "vllm", "token"), base, flaws)
        vllm = attrs.evolve(vllm, token=secret)
    if flaws:
        raise Flawed(flaws)
    return attrs.evolve(pool, vllm=vllm, **_resolved(pool, base))


def _wrong(pool: LocalPool) -> Mapping[str, str]:
    """What is wrong with values that have the right type, by key."""
    wrong: dict[str, str] = {}
    if not NAME.fullmatch(pool.name) or pool.name in (ANY_LINK, OPERATOR):
        wrong["name"] = NAME_FORMS
    if not pool.adapters:
        wrong["adapters"] = "expected one at least: nothing else would take a run"
    if len(set(pool.adapters)) != len(pool.adapters):
        wrong["adapters"] = "names one twice"
    for key in ("max_running", "max_sessions"):
        if getattr(pool, key) < 1:
            wrong[key] = "expected a number above 0"
    for key in ("cancel_grace", "session_idle"):
        if not 0 <= getattr(pool, key) <= MAX_SECONDS:
            wrong[key] = f"expected seconds, 0 to {MAX_SECONDS}"
    if pool.script and "mock" not in pool.adapters:
        wrong["script"] = "is what mock plays, which is not among the adapters"
    if pool.cli and "cli" not in pool.adapters:
        wrong["cli"] = "are profiles of cli, which is not among the adapters"
    return wrong


def _resolved(pool: LocalPool, base: FilePath) -> dict[str, Any]:
    given = {key: cast(str, getattr(pool, key)) for key in _PATHS}
    return {key: resolve_path(value, base) for key, value in given.items() if value}


def state_of(pool: LocalPool, gateway: GatewaySettings) -> FilePath:
    """The directory of a pool's own state: beside the journal where nothing else is said, and
    with a journal in memory beside the admin socket."""
    if pool.state:
        return FilePath(pool.state)
    if gateway.journal_path is not None:
        return FilePath(f"{gateway.journal_path}.local") / pool.name
    return runtime_directory(gateway) / "local" / pool.name
