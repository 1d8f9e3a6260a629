"""Reports: for people, as JSON, as XML that is well-formed whatever came."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.report import (
    junit_of,
    listed,
    result_line,
    summary_line,
    summary_text,
    text_of,
)
from fleetgate.gateway.tck.requirement import Requirement, Tier
from fleetgate.gateway.tck.runner import Result, Summary, Verdict
from fleetgate.gateway.tck.seen import SeenFrame

KIT = kit_of("agency", "daemon")


async def play(kit: Any) -> None: ...


def result(id: str, tier: Tier, verdict: Verdict, reason: str = "") -> Result:
    requirement = Requirement(id, tier, "a <thing>", 'it "moves"', "a & b", "section 1", play, "t")
    frame = SeenFrame(0.25, 1, True, "\x00\ud800<>&\x1b")
    return Result(requirement, verdict, reason, 0.5, (frame,), ("a note",))


SUMMARY = Summary(
    (
        result("X-1", Tier.MUST, Verdict.PASS),
        result("X-2", Tier.MUST, Verdict.FAIL, "came \x00 and ü"),
        result("X-3", Tier.SHOULD, Verdict.FAIL, "not so"),
        result("X-4", Tier.MUST, Verdict.SKIP, "no --start"),
    )
)


def test_xml_is_well_formed_and_counts() -> None:
    suite = ElementTree.fromstring(junit_of(KIT, "unix:/\x01", SUMMARY))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "2")
    cases = list(suite)
    assert [[child.tag for child in case] for case in cases] == [
        ["system-out"],
        ["failure", "system-out"],
        ["skipped", "system-out"],
        ["skipped", "system-out"],
    ]
    assert cases[2][0].get("message") == "not met, a should: not so"
    assert cases[1][0].get("message") == "came � and ü"
    assert "->" in (cases[0][0].text or "")


def test_a_failure_is_told_with_its_frames_and_a_pass_in_a_line() -> None:
    passed, failed = SUMMARY.results[:2]
    assert len(list(text_of(passed, frames=False))) == 2
    assert len(list(text_of(passed, frames=True))) == 3
    text = "\n".join(text_of(failed, frames=False))
    assert "X-2 must   FAIL a & b" in text
    assert "section 1" in text
    assert "0.250 1 ->" in text


def test_json_holds_all_of_it() -> None:
    line = json.loads(json.dumps(result_line(SUMMARY.results[1])))
    assert line["verdict"] == "fail"
    assert line["frames"][0]["link"] == 1
    assert {"given", "when", "expect", "source", "tier", "notes"} <= set(line)
    end = summary_line(KIT, "unix:/x", SUMMARY, 1)
    assert end["counts"]["must"] == {"pass": 1, "fail": 1, "skip": 1}


def test_a_summary_has_a_line_for_each_tier() -> None:
    assert summary_text(SUMMARY).splitlines()[0] == "must: 1 pass, 1 fail, 1 skip"


def test_a_list_says_what_is_required_in_words() -> None:
    lines = list(listed(KIT, KIT.requirements))
    assert lines[0].startswith("agency: the target is the daemon")
    assert len(lines) == 1 + 4 * len(KIT.requirements)
