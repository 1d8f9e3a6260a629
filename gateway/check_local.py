"""What is wrong with a local pool beyond its text: files and directories that it names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from fleetgate.gateway.config import Config, ConfigError, Problem
from fleetgate.gateway.local.model_http import missing
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.gateway.local.script import load_script


def local_problems(config: Config) -> Iterator[Problem]:
    """What keeps the pools of a config from being served; a script's own problems are told at
    the key that names it."""
    for pool in config.local:
        for key, said in _wrong(pool):
            where = f"local.{pool.name}.{key}"
            yield Problem(config.line(where), where, said)


def _wrong(pool: LocalPool) -> Iterator[tuple[str, str]]:
    for key in ("directory", "workspace_root"):
        path: str = getattr(pool, key)
        if path and not os.path.isdir(path):
            yield key, f"there is no directory {path}"
    models = {"ollama", "vllm"}.intersection(pool.adapters)
    if models and (said := missing()):
        yield "adapters", said
    if pool.script:
        try:
            load_script(pool.script)
        except ConfigError as error:
            yield from (("script", line) for line in error.lines())


def local_warnings(config: Config) -> Iterator[Problem]:
    """What may not be meant: pools that no route leads to, programs that are not there yet."""
    for pool in config.local:
        if not any(route.to == pool.name for route in config.routes):
            where = f"local.{pool.name}"
            yield Problem(config.line(where), where, "no route leads here; it gets no runs")
        for name, profile in pool.cli.items():
            if os.sep not in profile.command and shutil.which(profile.command) is None:
                where = f"local.{pool.name}.cli.{name}.command"
                said = f"no program of the name {profile.command} is on the PATH of this process"
                yield Problem(config.line(where), where, said)
