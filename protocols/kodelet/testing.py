"""What tests of this protocol, here and elsewhere, begin with: frames, and playbooks that have
registered. Messages are plain JSON here, as the other end would write them."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import attrs

from fleetgate.core.answers import Accepted, Admission, Held, RunList, WorkerList
from fleetgate.core.commands import Order, Origin, RunCommand, RunSpec, StartRun, ToolCall
from fleetgate.core.ids import Epoch, OrderNumber, RunId
from fleetgate.core.run import Run
from fleetgate.protocols.api import AnnounceWorker, Close, Opening, Send, Steps, Submit
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet.names import run_id, runner_id
from fleetgate.protocols.kodelet.northbound import RunnerConnection
from fleetgate.protocols.kodelet.settings import ControlPlaneSettings, RunnerSettings
from fleetgate.protocols.kodelet.southbound import ControlPlaneConnection
from fleetgate.protocols.kodelet.structs import write
from fleetgate.protocols.testing import Playbook

INSTANCE: Final = "00000000-0000-4000-8000-000000000000"
OPENING: Final = Opening(link="pool", instance=INSTANCE)
RUNNER: Final = runner_id(INSTANCE, "host-one", "/srv/project")
"""The id that `REGISTER` is given."""

REGISTER: Final[Any] = {
    "protocolVersions": [1],
    "host": {"instanceId": "host-one", "hostname": "h", "os": "linux", "arch": "amd64"},
    "workspace": {"path": "/srv/project", "name": "project"},
    "capabilities": {"concurrentRuns": True},
    "kodeletVersion": "t",
}
"""The params of REG in the conformance cases."""

MANIFEST: Final[Any] = {
    "protocolVersion": 1,
    "runnerId": "R",
    "runId": "r1",
    "generation": 1,
    "digest": "sha256:d1fc75895b80f7eeeb3ead15ea2459955ffe350e40389af4c9d8588ae20721b4",
    "workingDirectory": "/srv/project",
    "contextFiles": [],
    "tools": [
        {
            "name": "bash",
            "description": "",
            "inputSchema": {"type": "object"},
            "placement": "environment",
        }
    ],
    "skills": None,
    "commands": None,
    "config": {},
    "extensionGeneration": 1,
    "capabilities": {
        "toolUpdates": True,
        "interactiveUI": True,
        "persistentSurfaces": True,
        "commands": True,
    },
}
"""M of the conformance cases."""


def frame(**members: Any) -> bytes:
    """A message."""
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def ask(id: str, method: str, params: Any = None) -> bytes:
    """A request."""
    return frame(id=id, method=method, params=params)


def tell(method: str, params: Any = None) -> bytes:
    """A notification."""
    return frame(method=method, params=params)


def yes(id: str, result: Any = None) -> bytes:
    """A success."""
    return frame(id=id, result=result)


def no(id: str, code: int, message: str = "no", reason: str = "") -> bytes:
    """A failure."""
    data = {"data": {"reason": reason}} if reason else {}
    return frame(id=id, error={"code": code, "message": message, **data})


def said(steps: Steps) -> list[Any]:
    """The messages that are sent, without their `jsonrpc`."""
    messages = [json.loads(step.frame) for step in steps if isinstance(step, Send)]
    for message in messages:
        assert message.pop("jsonrpc") == "2.0"
    return messages


def rest(steps: Steps) -> list[Any]:
    """The steps that are no messages."""
    return [step for step in steps if not isinstance(step, Send)]


# --- as a control plane


def play_control_plane(**settings: Any) -> Playbook:
    """A playbook with the control plane's side of a connection."""
    return Playbook(ControlPlaneConnection(ControlPlaneSettings(**settings)))


def beat(state: str = "idle", *runs: str, generation: int = 1, **members: Any) -> bytes:
    """A heartbeat of the runner `RUNNER`."""
    params = {"runnerId": RUNNER, "generation": generation, "state": state, **members}
    return tell("runner.heartbeat", {**params, "activeRunIds": list(runs)} if runs else params)


def register(
    play: Playbook, *held: Held, id: str = "runner:1", generation: int = 1, **params: Any
) -> Steps:
    """Have a runner register that the core did not know; the steps at its admission."""
    play.receive(ask(id, "runner.register", {**REGISTER, **params}))
    (asked,) = play.take()
    assert isinstance(asked, Submit)
    play.reply(asked.reply_to, WorkerList(()))
    (announced,) = play.take()
    assert isinstance(announced, AnnounceWorker)
    play.reply(announced.reply_to, Admission(Epoch(generation), held))
    return play.take()


@contextmanager
def ready(play: Playbook, **params: Any) -> Generator[Playbook]:
    """Open a connection, and have a runner register and say that it is idle."""
    with play:
        play.opened(OPENING).take()
        register(play, **params)
        play.receive(beat()).take()
        yield play


def order(run: str, number: int, command: RunCommand) -> Order:
    """An order about the run."""
    return Order(RunId(run), OrderNumber(number), command)


def start_order(run: str = "gui/r1", spec: RunSpec | None = None) -> Order:
    """A start of a tool call, unless `spec` says otherwise."""
    asked = spec or RunSpec(ToolCall("bash", {"command": "ls"}))
    return order(run, 0, StartRun(RunId(run), asked, Origin("gui", "r1")))


def wire_id(run: str = "gui/r1") -> str:
    """The id that a run of the core has at the runner."""
    return run_id(INSTANCE, run)


def manifest(run: str = "gui/r1", **members: Any) -> Any:
    """`MANIFEST` for a run of the runner `RUNNER`, with a digest that fits."""
    made = m.read_manifest({**MANIFEST, "runnerId": RUNNER, "runId": wire_id(run), **members})
    return write(m.sealed(made))


def running(play: Playbook, run: str = "gui/r1", spec: RunSpec | None = None) -> str:
    """Start a run, and have it opened; the id of the call that is then under way."""
    play.perform(start_order(run, spec))
    (opening,) = said(play.take())
    play.receive(yes(opening["id"], manifest(run)))
    (working,) = said(play.take())
    return str(working["id"])


def executed(text: str = "done", **members: Any) -> Any:
    """The result of a tool."""
    structured = {"toolName": "bash", "success": True, "timestamp": "2026-08-12T09:00:00Z"}
    result = {"assistantFacing": text, "structured": structured, **members}
    return {"input": {}, "result": result}


# --- as a runner


def play_runner(**settings: Any) -> Playbook:
    """A playbook with the runner's side of a connection."""
    return Playbook(RunnerConnection(RunnerSettings(workspace="/srv/project", **settings)))


NORTH: Final = attrs.evolve(OPENING, link="cp")
REGISTERED: Final[Any] = {
    "runnerId": "R",
    "protocolVersion": 1,
    "connectionId": "conn_1",
    "generation": 1,
    "heartbeatIntervalMs": 15000,
}


def dial(play: Playbook) -> Steps:
    """Open a runner's connection; the steps at its registration."""
    play.opened(NORTH)
    (asked,) = play.take()
    assert isinstance(asked, Submit)
    play.reply(asked.reply_to, RunList(()))
    return play.take()


@contextmanager
def attached(play: Playbook) -> Generator[Playbook]:
    """Open a runner's connection, up to its first heartbeat."""
    with play:
        dial(play)
        play.receive(yes("runner:1", REGISTERED)).take()
        yield play


def open_run(play: Playbook, run: str = "r1", conversation: str = "c1", **members: Any) -> Any:
    """Have a run opened; the manifest."""
    params = {"runId": run, "conversationId": conversation, **members}
    play.receive(ask(f"open:{run}", "run.open", params))
    (answer,) = said(play.take())
    return answer["result"]


def execute(
    play: Playbook, id: str = "server:7", run: str = "r1", tool: str = "bash", **members: Any
) -> Submit:
    """Have a tool called; the start of the run, which the core then accepts."""
    params = {"runId": run, "toolCallId": "t1", "name": tool, "input": {"command": "ls"}}
    play.receive(ask(id, "tool.execute", {**params, **members}))
    (submit,) = rest(play.take())
    assert isinstance(submit, Submit)
    return submit


def accept(play: Playbook, submit: Submit) -> RunId:
    """The core accepts a start; the run's id."""
    command = submit.command
    assert isinstance(command, StartRun)
    new = Run(command.run, command.spec, command.origin, created=1)
    play.reply(submit.reply_to, Accepted(None, new))
    play.take()
    return command.run


def is_cut(steps: Steps) -> bool:
    """Whether the link is dropped without a word."""
    return any(isinstance(step, Close) and step.code is None for step in steps)


NORTH_FRAMES: Final = (
    yes("runner:1", REGISTERED),
    ask("server:1", "run.open", {"runId": "r1", "conversationId": "c1"}),
    ask("server:2", "command.execute", {"runId": "r1", "message": "hi"}),
    ask("server:3", "lifecycle.dispatch", {"runId": "r1", "event": "user.message"}),
    ask("server:4", "tool.execute", {"runId": "r1", "toolCallId": "t", "name": "bash"}),
    tell("operation.cancel", {"requestId": "server:4"}),
    tell("ui.surface.input", {"runId": "r1"}),
    ask("server:5", "run.cancel", {"runId": "r1"}),
    ask("server:6", "run.close", {"runId": "r1"}),
)
"""What a runner receives, in an order that makes sense."""

SOUTH_FRAMES: Final = (
    ask("runner:1", "runner.register", REGISTER),
    beat(),
    ask("runner:2", "ui.notify", {"runId": "r1", "request": {"message": "m"}}),
    tell("runner.manifestChanged", {"runnerId": RUNNER, "generation": 1, "manifestDigest": "d"}),
    tell("tool.update", {"runId": "r1", "toolCallId": "t", "requestId": "server:4"}),
    tell("run.environmentError", {"runId": "r1", "message": "m"}),
    tell("runner.goodbye"),
)
"""What a control plane receives."""
