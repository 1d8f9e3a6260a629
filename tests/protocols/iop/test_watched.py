"""Nodes as a watcher hears of them."""

from __future__ import annotations

from typing import Any

import pytest

from fleetgate.core.ids import WorkerId
from fleetgate.core.watchers import Happening, WorkerNotice
from fleetgate.core.worker import InputKind, WorkerInfo
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.watched import Watched

ID = (b"\x01" * 16).hex()


def worker(name: str = "h1", detail: Any = None) -> WorkerInfo:
    return WorkerInfo(WorkerId(f"hosts/{name}"), "hosts", frozenset(InputKind), detail=detail)


def hear(happening: Happening, body: Any = None, detail: Any = None) -> list[w.EdgeNodeEvent]:
    notice = WorkerNotice(happening, worker(detail=detail), 7, body=body)
    return list(Watched(b"\x01" * 16, True).notice(notice))


@pytest.mark.parametrize("detail", [None, "text", {}, {"alias": 5}])
def test_a_worker_of_another_protocol_is_a_node_by_its_own_name(detail: Any) -> None:
    expected = w.EdgeNodeEvent(f"{ID}-1", "node.connected", "edge", "h1", "h1", timestamp=7)
    assert hear(Happening.CONNECTED, detail=detail) == [expected]


def test_what_is_told_keeps_its_words_and_gets_what_it_lacks() -> None:
    body = {"type": "node.config_applied", "source": "node", "metadata": {"a": "b"}}
    assert hear(Happening.TOLD, body) == [
        w.EdgeNodeEvent(f"{ID}-1", "node.config_applied", "node", metadata={"a": "b"}, timestamp=7)
    ]
    own = {"type": "x", "event_id": "mine", "timestamp": 3}
    assert hear(Happening.TOLD, own) == [w.EdgeNodeEvent("mine", "x", timestamp=3)]


@pytest.mark.parametrize(
    "body",
    [
        None,
        "text",
        {},
        {"type": ""},
        {"type": 5},
        {"type": "x", "timestamp": "now"},
        {"type": "x", "timestamp": True},
        {"type": "x", "metadata": {"a": 1}},
        {"type": "x", "metadata": []},
    ],
)
def test_what_is_told_in_other_words_is_passed_over(body: Any) -> None:
    assert hear(Happening.TOLD, body) == []


def test_a_notice_about_nobody_is_passed_over() -> None:
    notice = WorkerNotice(Happening.LOST, None, 7)
    assert list(Watched(bytes(16), True).notice(notice)) == []
