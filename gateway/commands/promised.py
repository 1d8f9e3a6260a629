"""A route's promise: as lines for people, and as a JSON object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from fleetgate.gateway.fidelity.losses import Fates, Losses
from fleetgate.gateway.promise import ORDER, Promise, Showing
from fleetgate.gateway.promise_settings import Setting, figure
from fleetgate.gateway.render import Line, plain
from fleetgate.gateway.route_words import Controllers, RouteWords, sentence

NOT_MEASURED: Final = "not measured for this pair"


def told(words: RouteWords) -> Iterator[str]:
    """What stands below a route's own line."""
    for kind, became in words.inputs.items():
        yield f"     {kind.value}: {became}"
    yield f"     order: {ORDER}"
    yield f"   with workers of {words.route.to}:"
    yield from _sentences(words.promise, words.settings)
    for each in words.controllers:
        yield f"   with controllers of {each.name}:"
        yield from _sentences(each.showing, each.settings)
        yield from _lost(each.losses)


def _sentences(promised: Promise | Showing, settings: Iterable[Setting]) -> Iterator[str]:
    """Each sentence once, under all that it holds for, and the settings that they name."""
    merged: dict[str, str] = {}
    sentences: dict[str, str] = attrs.asdict(promised)
    for name, text in sentences.items():
        merged[text] = f"{merged[text]}, {name}" if text in merged else name
    for text, names in merged.items():
        yield f"     {names.replace('_', ' ')}: {text}"
    values = [f"{each.name} = {_shown(each.value)}" for each in settings]
    if values:
        yield f"     as set: {', '.join(values)}"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return figure(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lost(found: Losses | None) -> Iterator[str]:
    if found is None:
        yield f"     events converted or dropped: {NOT_MEASURED}"
        return
    for what, fates in (("events", found.events), ("orders", found.orders)):
        yield f"     {what} converted: {_kinds(fates.converted)}"
        yield f"     {what} dropped: {_kinds(fates.dropped)}"
    sorts = (found.events, found.orders, found.requests)
    short = sorted(pair for fates in sorts for pair in fates.members().items())
    if short:
        lacking = ", ".join(f"{kind} ({', '.join(names)})" for kind, names in short)
        yield f"     may arrive without: {lacking}"


def _kinds(names: Iterable[str]) -> str:
    return ", ".join(name for name in names if "." not in name) or "none"


def route_line(words: RouteWords) -> Line:
    """The route as JSON."""
    return {
        "from": words.route.from_,
        "to": words.route.to,
        "when": {key: list(values) for key, values in words.route.when.items()},
        "words": sentence(words.route),
        "inputs": {kind.value: became for kind, became in words.inputs.items()},
        "protocol": words.protocol,
        "order": ORDER,
        "promise": attrs.asdict(words.promise),
        "settings": _values(words.settings),
        "controllers": [_controllers(each) for each in words.controllers],
    }


def _controllers(each: Controllers) -> Line:
    return {
        "from": each.name,
        "protocol": each.protocol,
        "promise": attrs.asdict(each.showing),
        "settings": _values(each.settings),
        "losses": None if each.losses is None else _fates(each.losses),
    }


def _values(settings: Iterable[Setting]) -> Line:
    return {each.name: plain(each.value) for each in settings}


def _fates(found: Losses) -> Line:
    parts: dict[str, Fates] = {
        "events": found.events,
        "orders": found.orders,
        "requests": found.requests,
    }
    return {
        name: {what: list(names) for what, names in attrs.asdict(fates).items()}
        for name, fates in parts.items()
    }
