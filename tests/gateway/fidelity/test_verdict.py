"""What was said and what arrived, judged."""

from __future__ import annotations

import attrs
import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.gateway.fidelity.corpus import Item
from fleetgate.gateway.fidelity.verdict import Finding, Verdict, judge, worst

CALL = e.ToolCalled("tool", {"key": "item0001z"}, "item0001z")


def item(subject, path=(), value=None, label="typical") -> Item:
    return Item("Row", label, subject, path, value, "item0001z", 7_000_001)


def verdict(*args, arrived=()) -> Verdict | None:
    finding = judge(item(*args), arrived)
    return None if finding is None else finding.verdict


@pytest.mark.parametrize(
    ("arrived", "wanted"),
    [
        ([CALL], Verdict.CARRIED),
        ([e.ToolCalled("other")], Verdict.CARRIED),
        ([e.TextProduced("x")], Verdict.CONVERTED),
        ([e.TextProduced(""), e.OutputProduced(e.Stream.STDERR, b"")], Verdict.DROPPED),
        ([], Verdict.DROPPED),
    ],
)
def test_a_kind(arrived, wanted: Verdict) -> None:
    assert verdict(CALL, arrived=arrived) is wanted


@pytest.mark.parametrize(
    ("arrived", "wanted"),
    [
        ([CALL], Verdict.CARRIED),
        ([attrs.evolve(CALL, call="other item0001z")], Verdict.CONVERTED),
        ([e.OutputProduced(e.Stream.STDERR, b"[tool] item0001z")], Verdict.CONVERTED),
        ([e.ToolCalled("tool")], Verdict.DROPPED),
        ([], Verdict.DROPPED),
    ],
)
def test_a_member(arrived, wanted: Verdict) -> None:
    assert verdict(CALL, ("call",), "item0001z", arrived=arrived) is wanted


def test_a_default_is_carried_or_another_value_stands_there_or_nothing_is_to_be_said() -> None:
    plain = e.ToolCalled("tool")
    assert verdict(plain, ("call",), None, "default", arrived=[plain]) is Verdict.CARRIED
    assert verdict(plain, ("call",), None, "default", arrived=[CALL]) is Verdict.SYNTHESISED
    assert verdict(plain, ("call",), None, "default", arrived=[e.TextProduced("x")]) is None


def test_a_body_may_come_in_pieces() -> None:
    whole = e.OutputProduced(e.Stream.STDOUT, b"item0001z and more")
    pieces = [e.OutputProduced(e.Stream.STDOUT, part) for part in (b"item0001z", b" and more")]
    assert verdict(whole, ("data",), whole.data, arrived=pieces) is Verdict.CARRIED


def test_an_input_that_became_another_is_looked_for_in_all_of_the_spec() -> None:
    asked = c.RunSpec(c.Prompt("x", system="item0001z"))
    got = c.RunSpec(c.ShellCommand(argv=("x", "item0001z")))
    found = judge(item(asked, ("input", "system"), "item0001z"), [got])
    assert found is not None
    assert (found.verdict, found.note) == (Verdict.CONVERTED, "as RunSpec")
    lost = c.RunSpec(c.ShellCommand(argv=("x",)))
    assert verdict(asked, ("input", "system"), "item0001z", arrived=[lost]) is Verdict.DROPPED


def test_numbers_and_words_are_recognised_where_they_can_be() -> None:
    gap = e.GapFound(1, 7_000_001, "")
    said = e.Diagnosed("events 1 to 7000001 are lost")
    assert verdict(gap, ("to_seq",), 7_000_001, arrived=[said]) is Verdict.CONVERTED
    assert verdict(gap, ("from_seq",), 1, arrived=[e.Diagnosed("lost")]) is Verdict.DROPPED
    state = e.StateChanged(e.RunState.FINISHING)
    other = e.StateChanged(e.RunState.RUNNING, "finishing")
    assert verdict(state, ("state",), state.state, arrived=[other]) is Verdict.CONVERTED


def test_a_refusal_is_said() -> None:
    found = judge(item(CALL), [], "unsupported_input")
    assert found == Finding("Row", "typical", Verdict.DROPPED, "refused: unsupported_input")


def test_the_worst_value_counts() -> None:
    findings = [Finding("r", str(each), each) for each in Verdict]
    assert worst(findings).verdict is Verdict.DROPPED
    assert worst(findings[:2]).verdict is Verdict.CONVERTED
