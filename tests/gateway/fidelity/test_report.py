"""The tables, written and read."""

from __future__ import annotations

from fleetgate.gateway.fidelity.report import (
    forgetful,
    read_markdown,
    table_of,
    to_lines,
    to_markdown,
    to_text,
    worse,
)
from fleetgate.gateway.fidelity.verdict import Finding, Verdict

C, K, S, D = Verdict
FOUND = {
    "one": [Finding("Text", "typical", C), Finding("Text.text", "extreme", C)],
    "one>one": [Finding("Text", "typical", C), Finding("Text.text", "extreme", K, "as Output")],
    "one>two": [
        Finding("Text", "typical", K),
        Finding("Text.text", "typical", C),
        Finding("Text.text", "extreme", D, "refused: too_long"),
        Finding("Start (unsaid)", "", S),
    ],
}


def test_a_page_says_what_was_found_and_is_read_again() -> None:
    page = to_markdown(FOUND)
    table = read_markdown(page)
    assert table == table_of(FOUND)
    assert table["Text.text"] == {"one": C, "one>one": K, "one>two": D}
    assert "## Controllers of one" in page
    assert "| `Text.text` | `=` | `~` | `·` |" in page


def test_only_what_got_worse_is_named() -> None:
    before = table_of(FOUND)
    assert worse(before, before) == []
    better = {**FOUND, "one>two": [Finding("Text", "", C), *FOUND["one>one"]]}
    assert worse(before, table_of({"one>two": better["one>two"]})) == [
        "one>two: Start (unsaid) was synthesised and is nothing"
    ]
    after = table_of({"one": [Finding("Text", "typical", D)]})
    assert worse(before, after) == [
        "one: Text was carried and is dropped",
        "one: Text.text was carried and is nothing",
    ]


def test_a_bridge_of_one_protocol_is_measured_by_what_the_protocol_says_alone() -> None:
    assert forgetful(table_of({"one": FOUND["one"]})) == []
    assert forgetful(table_of(FOUND)) == [
        "one>one: Text.text is converted, and one alone carries it"
    ]


def test_lines_and_text_name_every_value() -> None:
    assert len(to_lines(FOUND)) == 8
    assert to_lines(FOUND)[3] == {
        "bridge": "one>one",
        "row": "Text.text",
        "value": "extreme",
        "verdict": "converted",
        "note": "as Output",
    }
    text = to_text(FOUND)
    assert "one>two: 4 values, 1 carried, 1 converted, 1 synthesised, 1 dropped" in text
    assert "  Text.text extreme: dropped (refused: too_long)" in text
    assert "Text typical: carried" not in text
