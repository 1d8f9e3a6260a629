"""Each recording in this folder, played against our own other side: on memory links, in virtual
time. `just transcripts` records them anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted
from fleetgate.core.hub import Hub
from fleetgate.core.ids import RunId, WorkerId
from fleetgate.core.routing import OPERATOR
from fleetgate.gateway.config_entries import Entry, Grant, side_of
from fleetgate.gateway.fakes.kodelet_runner import COMMANDS
from fleetgate.gateway.fakes.options import GivenToken, settings_of
from fleetgate.gateway.fakes.played import Played as Plays
from fleetgate.gateway.fakes.small import LOCAL, open_small
from fleetgate.gateway.fakes.working import ALL_INPUTS
from fleetgate.gateway.local.script import load_script
from fleetgate.gateway.local.script_play import Stage
from fleetgate.gateway.local.worker import LocalSettings, LocalWorker
from fleetgate.gateway.recording.live import Place
from fleetgate.gateway.recording.playing import Wanted, play_at, read_part
from fleetgate.gateway.recording.reading import Frame, read_recording
from fleetgate.gateway.recording.replay import Played
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.spec import read_spec
from fleetgate.gateway.testing import SeenHouse, SeenLink
from fleetgate.protocols import kodelet, rvbox
from fleetgate.protocols.kodelet.tools import BASH

HERE: Final = Path(__file__).parent
PROTOCOLS: Final = ("agency", "iop", "kodelet", "rvbox")
TOKEN: Final = GivenToken(value="a-token-of-the-transcripts")
RUNS: Final[dict[str, dict[str, Any]]] = {
    "agency": {"input": {"prompt": "summarize", "provider": "claude"}},
    "iop": {"input": {"prompt": "summarize"}},
    "kodelet": {"input": {"tool": "bash", "arguments": {"command": "echo hello"}}},
    "rvbox": {"input": {"line": "echo hello", "env": {"KEY": "secret"}}},
}

BY_SHAPE: Final = {
    "agency": "how far a run was when its client attached is not the same each time",
    "kodelet": "a runner's first message says where it runs, and its digest holds that",
}
"""Workers of whose values only the kinds count, and why. Of the others every value does; when they
show signs of life is not the same each time. Controllers are held to that and to the order, too."""


def recording_of(protocol: str) -> str:
    return str(HERE / f"{protocol}.jsonl")


def first_message(protocol: str) -> Any:
    """The first that the recorded worker said: where it ran is in it."""
    items = read_recording(recording_of(protocol)).items
    return next(item.body for item in items if isinstance(item, Frame) and item.sender == "worker")


def entry_of(protocol: str, facing: Any, listens: bool, tmp_path: Path) -> Entry:
    adapter = adapters(())[protocol]
    settings: Any = side_of(adapter, facing).settings()
    if facing == "north" and protocol == "rvbox":
        where = first_message(protocol)["client_hello"]["daemon_cwd"]
        settings = rvbox.ADAPTER.northbound.settings(client_id="host-1", daemon_cwd=where)
    elif facing == "north" and protocol == "kodelet":
        bash = {"name": BASH.name, "description": BASH.description, "line": BASH.line}
        kind = kodelet.ADAPTER.northbound.settings
        given = {"tools": [bash], "commands": list(COMMANDS)}
        settings = settings_of(kind, [], workspace=str(tmp_path), **given)
    shows = protocol == "iop" and facing == "north"
    grants = (Grant(TOKEN, "node-1"),) if protocol == "iop" and facing == "south" else ()
    return Entry(
        facing,
        "peer",
        protocol,
        f"memory:transcript-{protocol}",
        listens,
        settings,
        token=TOKEN if shows else None,
        tokens=grants,
    )


async def work(
    entry: Entry,
    tmp_path: Path,
    bound: list[str],
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Our worker side, which does what the script says, once its peer is `bound`. It says goodbye
    when nothing has happened for a while."""
    while not bound:
        await trio.lowlevel.checkpoint()
    stage = Stage(load_script(str(HERE / "script.toml")), lambda: None)
    async with open_small(entry, "fake", "memory:", SeenHouse(), ALL_INPUTS) as small:
        id, settings = WorkerId(f"{LOCAL}/fake"), LocalSettings(tmp_path / "kept", 100)
        worker = LocalWorker(id, LOCAL, small.hub, settings, SeenLink(), Plays(stage))
        await small.nursery.start(worker.serve)
        task_status.started()
        await trio.sleep(3)  # in virtual time


async def played_against_our_worker(wanted: Wanted, protocol: str, tmp_path: Path) -> Played:
    dials = read_part(wanted).dials
    entry = entry_of(protocol, "north", dials, tmp_path)
    place = Place(entry.address, not dials)
    async with trio.open_nursery() as nursery:
        bound: list[str] = []
        if dials:
            await nursery.start(work, entry, tmp_path, ["at once"])
        else:
            nursery.start_soon(work, entry, tmp_path, bound)
        verdict = await play_at(wanted, place, bound.append)
        nursery.cancel_scope.cancel()
    return verdict


async def run_to_its_end(hub: Hub, protocol: str) -> None:
    run = RunId("run-1")
    spec = read_spec(RUNS[protocol])
    answer = await hub.submit(c.StartRun(run, spec, c.Origin(OPERATOR, run)))
    assert isinstance(answer, Accepted)
    with hub.follow(run, 0) as follower:
        while True:
            seen = await hub.submit(c.DescribeRun(run))
            assert isinstance(seen, Accepted)
            assert seen.after is not None
            if seen.after.state.terminal:
                return
            await follower.__anext__()


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_our_worker_keeps_to_it(
    protocol: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    manner: Any = "shape" if protocol in BY_SHAPE else "values"
    wanted = Wanted(recording_of(protocol), "controller", manner)
    played = await played_against_our_worker(wanted, protocol, tmp_path)
    assert played.difference is None, str(played.difference)
    assert played.frames == frames_of(protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_our_controller_keeps_to_it(
    protocol: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    wanted = Wanted(recording_of(protocol), "worker", "strict", token=TOKEN.value)
    dials = read_part(wanted).dials
    entry = entry_of(protocol, "south", dials, tmp_path)
    place = Place(entry.address, not dials)
    verdicts = []

    async def replay() -> None:
        verdicts.append(await play_at(wanted, place))

    async with trio.open_nursery() as nursery:
        if not dials:
            nursery.start_soon(replay)
        async with open_small(entry, "fake", "memory:", SeenHouse()) as small:
            if dials:
                nursery.start_soon(replay)
            await run_to_its_end(small.hub, protocol)
            await trio.sleep(1)  # in virtual time: acknowledgements are gathered for a moment
    (played,) = verdicts
    assert played.difference is None, str(played.difference)
    assert played.frames == frames_of(protocol)


def frames_of(protocol: str) -> int:
    recording = read_recording(recording_of(protocol))
    return sum(isinstance(item, Frame) for item in recording.items)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_difference_is_found(
    protocol: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The recording is changed where a worker speaks: a replay that cannot fail proves nothing."""
    path = tmp_path / "changed.jsonl"
    at = change(protocol, path)
    wanted = Wanted(str(path), "controller", "shape")
    played = await played_against_our_worker(wanted, protocol, tmp_path)
    assert played.difference is not None
    assert played.difference.frame == at


def change(protocol: str, path: Path) -> int:
    """Write the recording with its worker's first message changed. Answers that one's number."""
    changed, at = [], 0
    for line in Path(recording_of(protocol)).read_text().splitlines():
        item = json.loads(line)
        if item.get("from") == "worker" and item.get("event") == "frame" and not at:
            at = item["number"]
            item["message"] = [item["message"]]
        changed.append(json.dumps(item))
    path.write_text("\n".join([*changed, ""]))
    return at


def test_they_hold_no_secret_and_every_frame_can_be_read() -> None:
    for protocol in PROTOCOLS:
        text = Path(recording_of(protocol)).read_text()
        assert TOKEN.value not in text
        assert '"secret"' not in text
        recording = read_recording(recording_of(protocol))
        assert all(item.raw is not None for item in recording.items if isinstance(item, Frame))
