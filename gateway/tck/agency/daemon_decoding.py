"""What JSON a daemon takes, and what ends the connection: section 2."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fleetgate.gateway.tck.agency.daemon import DaemonAttempt
from fleetgate.gateway.tck.agency.talk import dumped, expect_members
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("decoding")

_GREETED: Final = "a connection on which hello was answered"
_END: Final = "the end, without a frame"

DEEPEST: Final = 127
"""Containers within each other, over the whole document."""


async def _refuse(kit: DaemonAttempt, texts: Iterable[str]) -> None:
    """Each of the texts must end a connection, without an answer."""
    for text in texts:
        client = await kit.greeted()
        await client.say(text)
        try:
            await client.expect_end()
        except Unmet as unmet:
            raise Unmet(f"{_END}, for {text[:200]}", str(unmet)) from None


async def _take(kit: DaemonAttempt, texts: Iterable[str]) -> None:
    """Each of the texts must be a list_runs with the number 2."""
    for text in texts:
        client = await kit.greeted()
        await client.say(text)
        answer = await client.answer(2, f"the runs, for {text[:200]}")
        expect_members(answer, "the answer", type="runs")


@TOPIC.must(
    "AGENCY-D-030",
    given=_GREETED,
    when='requestId is null, "1", 1.0, 1e0, -1, -0, 01, 18446744073709551616 or true',
    expect=_END,
    source="agency 2.4; case C21",
)
async def request_ids(kit: DaemonAttempt) -> None:
    wrong = ("null", '"1"', "1.0", "1e0", "-1", "-0", "01", "18446744073709551616", "true")
    await _refuse(kit, (f'{{"requestId":{each},"type":"list_runs"}}' for each in wrong))


@TOPIC.must(
    "AGENCY-D-031",
    given=_GREETED,
    when="attach_run lacks after_sequence, has it as null, text, fraction or below 0, or spells "
    "its keys in camelCase",
    expect=_END,
    source="agency 2.1, 2.3; case C23",
)
async def attaching(kit: DaemonAttempt) -> None:
    wrong = (
        '"run_id":"r"',
        '"run_id":"r","after_sequence":null',
        '"run_id":"r","after_sequence":"1"',
        '"run_id":"r","after_sequence":1.0',
        '"run_id":"r","after_sequence":-1',
        '"runId":"r","afterSequence":0',
        '"run_id":7,"after_sequence":0',
        '"run_id":["r"],"after_sequence":0',
    )
    await _refuse(kit, (f'{{"requestId":2,"type":"attach_run",{each}}}' for each in wrong))


@TOPIC.must(
    "AGENCY-D-032",
    given=_GREETED,
    when="a run's request lacks a member it must have, or has one of the wrong type",
    expect=_END,
    source="agency 2.3; case C25",
)
async def requests(kit: DaemonAttempt) -> None:
    good = dict(kit.request())
    missing = (
        {name: value for name, value in good.items() if name != left_out}
        for left_out in ("approvals", "interactive", "workspaceRoots")
    )
    wrong = (
        {"model": None},
        {"isCommand": None},
        {"environment": None},
        {"environment": {"A": 1}},
        {"approvals": 1},
        {"extraThinking": "yes"},
    )
    bad = (*missing, *(good | each for each in wrong))
    frames = (
        {
            "requestId": 2,
            "type": "start_run",
            "run_id": kit.name(),
            "request": request,
            "idempotency_key": "k",
        }
        for request in bad
    )
    await _refuse(kit, map(dumped, frames))


@TOPIC.must(
    "AGENCY-D-033",
    given=_GREETED,
    when="a request's type is unknown, or missing",
    expect=_END,
    source="agency 2.3, 1.1 table",
)
async def unknown_type(kit: DaemonAttempt) -> None:
    await _refuse(kit, ('{"requestId":2,"type":"fly"}', '{"requestId":2}', "[]", '"list_runs"'))


@TOPIC.must(
    "AGENCY-D-034",
    given=_GREETED,
    when="a key that means something comes twice",
    expect=_END,
    source="agency 2.3",
)
async def repeated(kit: DaemonAttempt) -> None:
    await _refuse(
        kit,
        (
            '{"requestId":2,"requestId":2,"type":"list_runs"}',
            '{"requestId":2,"type":"list_runs","type":"list_runs"}',
            '{"requestId":2,"type":"detach_run","run_id":"r","run_id":"r"}',
        ),
    )


@TOPIC.must(
    "AGENCY-D-035",
    given=_GREETED,
    when="a request has its keys in another order, unknown keys, one of them twice, and spaces "
    "around it",
    expect="the answer",
    source="agency 2.3, 2.4; case C15",
)
async def tolerant(kit: DaemonAttempt) -> None:
    await _take(
        kit,
        (
            '{"type":"list_runs","requestId":2}',
            '{"requestId":2,"type":"list_runs","x":1,"x":2,"y":{"requestId":"z"}}',
            ' \t\r\n{"requestId":2,"type":"list_runs"}\n',
        ),
    )


@TOPIC.must(
    "AGENCY-D-036",
    given=_GREETED,
    when="a request is no JSON: NaN, a comma too many, a byte order mark, half a surrogate, a raw "
    "control character, text behind it, a number beyond every float",
    expect=_END,
    source="agency 2.4",
)
async def no_json(kit: DaemonAttempt) -> None:
    inside = ("NaN", "[1,]", '"\\ud83d"', '"\x01"', "1e400", "01", "'x'")
    texts = (
        *(f'{{"requestId":2,"type":"list_runs","x":{each}}}' for each in inside),
        '{"requestId":2,"type":"list_runs"}x',
        '\ufeff{"requestId":2,"type":"list_runs"}',
    )
    await _refuse(kit, texts)


def nested(depth: int) -> str:
    """A list_runs with so many containers within each other, its own object counted."""
    inner = depth - 1
    return f'{{"requestId":2,"type":"list_runs","x":{"[" * inner}{"]" * inner}}}'


@TOPIC.must(
    "AGENCY-D-037",
    given=_GREETED,
    when="a request has 127 containers within each other",
    expect="the answer",
    source="agency 2.4",
)
async def deep(kit: DaemonAttempt) -> None:
    await _take(kit, (nested(DEEPEST),))


@TOPIC.must(
    "AGENCY-D-038",
    given=_GREETED,
    when="a request has 128 containers within each other",
    expect=_END,
    source="agency 2.4",
)
async def too_deep(kit: DaemonAttempt) -> None:
    await _refuse(kit, (nested(DEEPEST + 1),))
