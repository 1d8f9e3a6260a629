"""`gateway explain`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fleetgate.core import events as e
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import HandWorker, read_until, started
from fleetgate.gateway.cli import main
from fleetgate.gateway.commands.explain import told

Command = Callable[..., Awaitable[int]]


async def test_a_run_and_one_event_of_it(
    command: Command, hub: Hub, worker: HandWorker, capsys: pytest.CaptureFixture[str]
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.TextProduced("secret"), seq=9)
    await read_until(hub, run, 2)
    assert await command("explain", run) == 0
    shown = capsys.readouterr().out
    assert "received      up to 2, its own 9\n" in shown
    assert "sent          nobody follows it\n" in shown
    assert await command("explain", run, "2") == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{run}, event 2: TextProduced, text of 6 characters\n")
    assert "epoch 1, its number 9\n" in shown
    assert "secret" not in shown
    assert await command("explain", run, "2", "--payload") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["text"] == "secret"
    assert await command("explain", run, "2", "--json") == 0
    assert json.loads(capsys.readouterr().out)["event"]["seq"] == 2
    assert await command("explain", run, "3") == 1
    assert "has events 1 to 2; 3 came" in capsys.readouterr().err


def test_a_payload_is_an_events(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "north/r", "--payload"]) == 2
    assert "name its number, SEQ" in capsys.readouterr().err


RUN: dict[str, Any] = {
    "run": "gui/r",
    "state": "running",
    "last_seq": 7,
    "link": "gui",
    "created": 1_000_000_000,
    "worker": None,
    "acknowledged": 3,
}
LADDER = {"received": 7, "stored": 6, "sent": 5, "acknowledged": 3, "native_received": 0}
EVENT: dict[str, Any] = {
    "seq": 5,
    "type": "OutputProduced",
    "sizes": {"data": 12, "text": 0},
    "received": {
        "time": 1_001_002_000,
        "from": "worker",
        "worker": "hosts/mill",
        "link": {"entry": "hosts", "peer": "10.0.0.7:1"},
        "epoch": 3,
        "native_seq": None,
        "worker_time": 500_000_000,
    },
    "stored": True,
    "stored_by": 1_002_000_000,
    "sent": [
        {"entry": "gui", "peer": "a", "sent": True, "by": 1_003_000_000, "through": 6},
        {"entry": "gui", "peer": "b", "sent": False, "by": None, "through": 4},
        {"entry": "gui", "peer": "c", "sent": None, "by": None, "after": 5, "through": 6},
    ],
    "acknowledged": False,
    "acknowledged_by": None,
    "confirmed": False,
    "not_kept": ["something"],
}


def test_all_that_may_be_said_of_an_event() -> None:
    assert list(told({"run": RUN, "event": EVENT})) == [
        "gui/r, event 5: OutputProduced, data of 12 bytes",
        "received      1970-01-01 00:00:01.001Z, from hosts/mill, by hosts (10.0.0.7:1)",
        "              epoch 3, no number of its own",
        "              1970-01-01 00:00:00.500Z by its worker's clock",
        "stored        by 1970-01-01 00:00:01.002Z",
        "sent          to gui (a): by 1970-01-01 00:00:01.003Z",
        "              to gui (b): not yet; it has those up to 4",
        "              to gui (c): not that is remembered; it was sent those behind 5",
        "acknowledged  not by the controller of gui; it has those up to 3",
        "worker        not told yet that it is safe",
        "not kept      something",
    ]


def test_less_may_be_said() -> None:
    made = {"time": 0, "from": "gateway"}
    changed: dict[str, Any] = {"received": made, "stored_by": None, "sent": [], "confirmed": None}
    rest: dict[str, Any] = {"acknowledged": True, "not_kept": []}
    assert list(told({"run": RUN, "event": EVENT | changed | rest})) == [
        "gui/r, event 5: OutputProduced, data of 12 bytes",
        "received      1970-01-01 00:00:00.000Z, made by the gateway itself",
        "stored        yes",
        "sent          to nobody that is remembered",
        "acknowledged  yes, by the controller of gui",
    ]
    (only,) = told({"run": RUN, "event": EVENT | {"stored": False}})
    assert only == "gui/r, event 5: received, and not stored yet"


def test_a_run() -> None:
    sent = [{"entry": "gui", "peer": "", "after": 2, "through": 5, "now": False}]
    line: dict[str, Any] = {"ladder": LADDER, "worker_link": None, "sent": sent, "not_kept": []}
    assert list(told({"run": RUN, "life": line})) == [
        "gui/r: running, 7 events",
        "accepted      1970-01-01 00:00:01.000Z, from gui",
        "worker        none yet",
        "received      up to 7",
        "stored        up to 6",
        "sent          up to 5",
        "              gui: events 3 to 5; it does not follow any more",
        "acknowledged  up to 3",
    ]


@pytest.mark.parametrize(
    ("after", "through", "said"),
    [
        (0, 0, "nothing yet"),
        (2, 2, "nothing yet; it asked for what follows 2"),
        (2, 3, "event 3"),
        (0, 11, "events 1 to 11"),
    ],
)
def test_what_a_follower_was_sent(after: int, through: int, said: str) -> None:
    sent = [{"entry": "gui", "peer": "", "after": after, "through": through, "now": True}]
    line: dict[str, Any] = {"ladder": LADDER, "worker_link": None, "sent": sent, "not_kept": []}
    assert f"              gui: {said}" in list(told({"run": RUN, "life": line}))


def test_texts_are_counted_in_characters() -> None:
    event = EVENT | {"sizes": {"title": 1}}
    assert next(iter(told({"run": RUN, "event": event}))).endswith(", title of 1 character")
