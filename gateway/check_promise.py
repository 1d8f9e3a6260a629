"""Settings that make a promise weaker than it is by default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from fleetgate.gateway.config import Config, Problem
from fleetgate.gateway.promise_settings import Setting, figure
from fleetgate.gateway.route_words import RouteWords
from fleetgate.gateway.settings import GatewaySettings

SHORT: Final = 3600.0
"""Seconds: a worker whose machine is restarted or moved is back within an hour."""


def promise_warnings(config: Config, routes: Iterable[RouteWords]) -> Iterator[Problem]:
    """What holds for less long, or for less, than it would by default, and what that means."""
    for name, said in _about_keeping(config.gateway):
        key = f"gateway.{name}"
        yield Problem(config.line(key), key, said)
    seen: dict[str, Setting] = {}
    for words in routes:
        for setting in words.settings:
            seen.setdefault(setting.key, setting)
        for each in words.controllers:
            for setting in each.settings:
                seen.setdefault(setting.key, setting)
    for key, setting in seen.items():
        if setting.weaker:
            yield Problem(config.line(key), key, _weaker(setting))


def _weaker(setting: Setting) -> str:
    value, default = _plain(setting.value), _plain(setting.default)
    return f"weakens a promise: it is {value}, and {default} by default: {setting.sentence}"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return figure(value) if isinstance(value, float) else str(value)


def _about_keeping(gateway: GatewaySettings) -> Iterator[tuple[str, str]]:
    if gateway.journal_path is None:
        yield (
            "journal",
            "memory: is gone with the process: a restart forgets every run, and nothing that was "
            "accepted is kept; use sqlite:PATH",
        )
    if gateway.lost_after < SHORT:
        default = GatewaySettings("").lost_after
        yield (
            "lost_after",
            f"weakens a promise: runs of a worker that is away for {figure(gateway.lost_after)} s "
            "are lost, and runs that no worker takes expire; by default that is after "
            f"{figure(default)} s",
        )
    yield from _about_forgetting(gateway)


def _about_forgetting(gateway: GatewaySettings) -> Iterator[tuple[str, str]]:
    if gateway.keep_ended:
        yield (
            "keep_ended",
            f"weakens a promise: {figure(gateway.keep_ended)} s after its end a run that was "
            "acknowledged is forgotten; a start that is repeated later is a new run",
        )
    if gateway.keep_unacknowledged:
        yield (
            "keep_unacknowledged",
            f"weakens a promise: {figure(gateway.keep_unacknowledged)} s after its end a run is "
            "forgotten though its controller has not acknowledged it; one that comes back later "
            "does not learn how it ended",
        )
    if gateway.journal_size:
        yield (
            "journal_size",
            f"weakens a promise: above {gateway.journal_size} bytes ended runs are forgotten "
            "before their time, and where none may be, starts are refused",
        )
