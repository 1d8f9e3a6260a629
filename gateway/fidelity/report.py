"""What was found, as tables: for people, for programs, and for the page that is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from fleetgate.gateway.fidelity.verdict import Finding, Verdict, worst

Findings: TypeAlias = Mapping[str, Sequence[Finding]]
"""By column: a pair as `north>south`, or a protocol by itself."""

SIGNS: Final = {
    Verdict.CARRIED: "=",
    Verdict.CONVERTED: "~",
    Verdict.SYNTHESISED: "+",
    Verdict.DROPPED: "·",
}
_VERDICTS: Final = {sign: verdict for verdict, sign in SIGNS.items()}

Table: TypeAlias = dict[str, dict[str, Verdict]]
"""Rows, and in each its columns' verdicts. What has none is left out."""

_PREAMBLE: Final = """\
# What each bridge makes of each thing

Made by `gateway fidelity --markdown`. `gateway fidelity --check` compares it with what bridges do
now, and fails where one got worse.

Everything that a worker can report, and that a controller can ask for, was sent through each
bridge at its default, at a typical and at an extreme value, with real frames on links in memory.
A cell says what the worst of these values came to at the other end:

| sign | | |
|---|---|---|
| `=` | carried | it arrived as what it was |
| `~` | converted | it arrived as something else, in which it can be found |
| `+` | synthesised | something arrived in its place that nobody had said |
| `·` | dropped | it did not arrive; `gateway fidelity NORTH SOUTH` says if it was refused |

A row without a dot is a kind itself. Each table is one protocol of controllers, and its columns
are the protocols of workers. The column *alone* has no gateway: it is what the protocol itself
carries between a controller and a worker of its own, both ours. A row that ends in `(unsaid)` is
a kind that arrives in a run whose worker said only its start and its end.
"""


def table_of(findings: Findings) -> Table:
    """The worst verdict of each row and column, in the order in which rows are tried."""
    table: Table = {}
    for column, found in findings.items():
        rows: dict[str, list[Finding]] = {}
        for each in found:
            rows.setdefault(each.row, []).append(each)
        for row, all_of_it in rows.items():
            table.setdefault(row, {})[column] = worst(all_of_it).verdict
    return table


def to_markdown(findings: Findings) -> str:
    """The page: a table for each protocol of controllers."""
    table = table_of(findings)
    norths = list(dict.fromkeys(name.partition(">")[0] for name in findings))
    return "\n".join([_PREAMBLE, *(_section(north, findings, table) for north in norths)])


def _section(north: str, findings: Findings, table: Table) -> str:
    souths = [name.partition(">")[2] for name in findings if name.startswith(f"{north}>")]
    columns = ([north] if north in findings else []) + [f"{north}>{south}" for south in souths]
    heads = (["alone"] if north in findings else []) + souths
    lines = [f"## Controllers of {north}", "", _row(["", *heads]), _row(["---"] * (len(heads) + 1))]
    for row in _ordered(table):
        signs = [_sign(table[row].get(column)) for column in columns]
        if any(signs):
            lines.append(_row([f"`{row}`", *signs]))
    return "\n".join([*lines, ""])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _sign(verdict: Verdict | None) -> str:
    return "" if verdict is None else f"`{SIGNS[verdict]}`"


def _ordered(table: Table) -> list[str]:
    """Members behind their kinds, kinds by name: an order that no measurement changes."""
    return sorted(table, key=lambda row: (row.partition(".")[0], row))


_HEAD: Final = re.compile(r"^## Controllers of (\w+)$", re.MULTILINE)


def read_markdown(page: str) -> Table:
    """The table of a page that `to_markdown` has made."""
    table: Table = {}
    _, *parts = _HEAD.split(page)
    for north, body in zip(parts[::2], parts[1::2], strict=True):
        rows = [_cells(line) for line in body.splitlines() if line.startswith("|")]
        heads, _, *lines = rows
        columns = [north if head == "alone" else f"{north}>{head}" for head in heads[1:]]
        for row, *signs in lines:
            for column, sign in zip(columns, signs, strict=True):
                if sign:
                    table.setdefault(row.strip("`"), {})[column] = _VERDICTS[sign.strip("`")]
    return table


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def worse(before: Table, after: Table) -> list[str]:
    """What got worse in the columns of `after`, a line for each; what is new is no worse, and
    what nobody says any more is not better."""
    lines: list[str] = []
    columns = {column for row in after.values() for column in row}
    for row, verdicts in before.items():
        for column, old in verdicts.items():
            new = after.get(row, {}).get(column)
            if column in columns and (new is None or new.rank > old.rank):
                found = "nothing" if new is None else new.value
                lines.append(f"{column}: {row} was {old.value} and is {found}")
    return lines


def forgetful(table: Table) -> list[str]:
    """What a bridge between two ends of one protocol lost though the protocol can say it."""
    alone = {column for row in table.values() for column in row if ">" not in column}
    return [
        f"{name}>{name}: {row} is {bridged.value}, and {name} alone carries it"
        for row, verdicts in table.items()
        for name in sorted(alone)
        if verdicts.get(name) is Verdict.CARRIED
        and (bridged := verdicts.get(f"{name}>{name}", Verdict.CARRIED)) is not Verdict.CARRIED
    ]


def to_lines(findings: Findings) -> list[dict[str, Any]]:
    """One object for each value that was tried."""
    return [
        {
            "bridge": column,
            "row": each.row,
            "value": each.label,
            "verdict": each.verdict.value,
            "note": each.note,
        }
        for column, found in findings.items()
        for each in found
    ]


def to_text(findings: Findings) -> str:
    """For people: what is not simply carried, with how it fared, and the sums."""
    lines: list[str] = []
    for column, found in findings.items():
        sums = ", ".join(
            f"{sum(each.verdict is verdict for each in found)} {verdict.value}"
            for verdict in Verdict
        )
        lines.append(f"{column}: {len(found)} values, {sums}")
        for each in found:
            if each.verdict is not Verdict.CARRIED:
                note = f" ({each.note})" if each.note else ""
                lines.append(f"  {each.row} {each.label}: {each.verdict.value}{note}")
    return "\n".join(lines)
