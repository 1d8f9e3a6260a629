"""What came of the requirements: for people, as JSON lines, and as JUnit's XML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from xml.etree import ElementTree

import attrs

from fleetgate.gateway.tck.requirement import Kit, Requirement, Tier
from fleetgate.gateway.tck.runner import Result, Summary, Verdict

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no form for, not even as a reference."""

_WORD: Final = {Verdict.PASS: "pass", Verdict.FAIL: "FAIL", Verdict.SKIP: "skip"}


def listed(kit: Kit, wanted: tuple[Requirement, ...]) -> Iterator[str]:
    """Every requirement in words."""
    yield f"{kit.protocol}: the target is the {kit.side}; {len(wanted)} requirements"
    for each in wanted:
        yield f"{each.id} {each.tier.value:<6} {each.topic} ({each.source})"
        yield f"    given {each.given}"
        yield f"    when {each.when}"
        yield f"    expect {each.expect}"


def text_of(result: Result, *, frames: bool) -> Iterator[str]:
    """A result for people; its frames where it failed, or where `frames` are wanted."""
    each = result.requirement
    yield f"{each.id} {each.tier.value:<6} {_WORD[result.verdict]} {each.expect}"
    if result.verdict is Verdict.FAIL:
        yield f"    given {each.given}"
        yield f"    when {each.when}"
        yield f"    source {each.source}"
    if result.reason:
        yield f"    {result.reason}"
    for note in result.notes:
        yield f"    note: {note}"
    if frames or result.verdict is Verdict.FAIL:
        yield from (f"    {frame.line()}" for frame in result.frames)


def summary_text(summary: Summary) -> str:
    """One line for each tier."""
    lines: list[str] = []
    for tier in Tier:
        counts = [f"{summary.count(tier, verdict)} {verdict.value}" for verdict in Verdict]
        lines.append(f"{tier.value}: {', '.join(counts)}")
    return "\n".join(lines)


def line_of(requirement: Requirement) -> dict[str, Any]:
    """A requirement as a JSON object."""
    words = ("id", "topic", "given", "when", "expect", "source", "ends")
    return {
        "tier": requirement.tier.value,
        **{word: getattr(requirement, word) for word in words},
    }


def result_line(result: Result) -> dict[str, Any]:
    """A result as a JSON object."""
    return {
        "event": "requirement",
        **line_of(result.requirement),
        "verdict": result.verdict.value,
        "reason": result.reason,
        "notes": list(result.notes),
        "seconds": round(result.seconds, 6),
        "frames": [attrs.asdict(frame) for frame in result.frames],
    }


def summary_line(kit: Kit, address: str, summary: Summary, code: int) -> dict[str, Any]:
    """The last JSON object."""
    counts = {
        tier.value: {verdict.value: summary.count(tier, verdict) for verdict in Verdict}
        for tier in Tier
    }
    return {
        "event": "summary",
        "protocol": kit.protocol,
        "side": kit.side,
        "target": address,
        "counts": counts,
        "exit_code": code,
    }


def junit_of(kit: Kit, address: str, summary: Summary) -> str:
    """The results as JUnit's XML. A should or an info that is not met is `skipped`, with a message:
    what reads such files knows no third thing, and would fail a build for it."""
    results = summary.results
    failed = sum(_fails(result) for result in results)
    passed = sum(result.verdict is Verdict.PASS for result in results)
    suite = ElementTree.Element(
        "testsuite",
        name=f"{kit.protocol} {kit.side}",
        hostname=_xml(address),
        tests=str(len(results)),
        failures=str(failed),
        errors="0",
        skipped=str(len(results) - failed - passed),
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    for result in results:
        suite.append(_case(kit, result))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True)
    return written.decode()


def _fails(result: Result) -> bool:
    return result.verdict is Verdict.FAIL and result.requirement.tier is Tier.MUST


def _case(kit: Kit, result: Result) -> ElementTree.Element:
    each = result.requirement
    case = ElementTree.Element(
        "testcase",
        classname=f"{kit.protocol}.{kit.side}.{each.topic}",
        name=f"{each.id} {_xml(each.title)}",
        time=f"{result.seconds:.3f}",
    )
    if _fails(result):
        failure = ElementTree.SubElement(case, "failure", message=_xml(result.reason))
        failure.text = _xml(f"{each.tier.value}, {each.source}")
    elif result.verdict is not Verdict.PASS:
        met = "" if result.verdict is Verdict.SKIP else f"not met, a {each.tier.value}: "
        ElementTree.SubElement(case, "skipped", message=_xml(met + result.reason))
    if result.frames:
        out = ElementTree.SubElement(case, "system-out")
        out.text = _xml("\n".join(frame.line() for frame in result.frames))
    return case


def _xml(text: str) -> str:
    return _NOT_XML.sub("�", text)
