"""The page docs/reference/requirements.md, as the kits are."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from fleetgate.gateway.tck.kits import all_kits
from fleetgate.gateway.tck.requirement import Kit, Requirement

HEAD = """\
# Requirements

What `gateway tck` requires of peers, kit by kit: [how to run it](../how-to/conformance.md). This
page is generated: `gateway tck --markdown` writes it.

A **must** is what peers that go by the protocol fail without; a **should** makes something worse
where it is broken; an **info** is good to know. *ends*: trying it ends the target, so it is tried
only with `--start`. Sources are sections of the protocols' pages, and conformance cases.
"""


def to_markdown() -> str:
    """The whole page."""
    return HEAD + "".join(map(_section, all_kits()))


def _section(kit: Kit) -> str:
    return "\n".join(["", *_lines(kit), ""])


def _lines(kit: Kit) -> Iterator[str]:
    musts = sum(each.tier.value == "must" for each in kit.requirements)
    yield f"## {kit.protocol}: a {kit.side}"
    yield ""
    how = "The kit dials it." if kit.listens else "It dials the kit."
    yield f"{how} {len(kit.requirements)} requirements, {musts} of them musts."
    yield ""
    yield "| option | default | what the kit must know |"
    yield "|---|---|---|"
    for field in attrs.fields(kit.given):
        name, words = field.name.replace("_", "-"), field.metadata["words"]
        default = f"`{_cell(str(field.default))}`" if field.default else ""
        yield f"| `--{name}` | {default} | {words} |"
    yield ""
    yield "| id | tier | topic | given | when | expect | source |"
    yield "|---|---|---|---|---|---|---|"
    yield from map(_row, kit.requirements)


def _row(each: Requirement) -> str:
    tier = f"{each.tier.value}, *ends*" if each.ends else each.tier.value
    words = (each.topic, each.given, each.when, each.expect, each.source)
    return f"| {each.id} | {tier} | {' | '.join(map(_cell, words))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")
