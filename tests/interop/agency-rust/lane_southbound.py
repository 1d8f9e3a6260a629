"""Our client, as `gateway fake agency-client` has it, at the genuine daemon."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import houses
import pytest
from houses import GATEWAY, House
from programs import PATIENCE, Program

KINDS = {
    "SessionOpened",
    "CommandsListed",
    "ReasoningProduced",
    "UsageReported",
    "TextProduced",
    "ToolCalled",
    "ToolReturned",
    "RateLimited",
    "HistoryCompacted",
    "RunFinished",
}
"""What `talk` of provider.py becomes."""


class Client(Program):
    """Our client, by its lines."""

    def __init__(self, house: House, *words: str) -> None:
        command = [*GATEWAY, "fake", "agency-client", "--socket", str(house.socket)]
        super().__init__([*command, *words])
        self._binary = str(house.binary)

    def ready(self) -> None:
        """The link is up."""
        self.event(lambda said: said.get("event") == "ready")

    def start(self, run: str, prompt: str, **members: Any) -> None:
        """Start a run of our provider, and follow it."""
        spec = {"input": {"prompt": prompt, "provider": "claude"}, "permission": "plan"}
        native = {"agency": {"binary": self._binary}}
        assert self.ask(op="start", run=run, native=native, **spec, **members)["ok"]
        assert self.ask(op="follow", run=run)["ok"]

    def until(self, run: str, type: str) -> list[dict[str, Any]]:
        """The run's next events, up to the first of a type."""
        events: list[dict[str, Any]] = []
        while not events or events[-1]["type"] != type:
            events.append(self.event(lambda said: said.get("run") == run and "seq" in said))
        return events

    def state(self, run: str) -> str:
        """How the run ends."""
        said = self.ask(op="wait", run=run, timeout_ms=int(PATIENCE * 1000))
        assert said["ok"], said
        return str(said["state"])


@pytest.fixture
def house(
    daemon: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> Iterator[House]:
    """A genuine daemon of the test's own."""
    record_property("peer", f"agency-proxy {daemon.parents[1].name.removeprefix('daemon-')}")
    with houses.genuine(daemon, tmp_path) as house:
        yield house


@pytest.fixture
def client(house: House) -> Iterator[Client]:
    """Our client, connected."""
    with Client(house) as client:
        client.ready()
        yield client


def test_everything_said(client: Client) -> None:
    """Each kind of event that the daemon makes of Claude's output is recorded, once"""
    client.start("run-1", "talk")
    events = client.until("run-1", "RunFinished")
    assert {each["type"] for each in events} >= KINDS
    assert [each["seq"] for each in events] == list(range(1, len(events) + 1))
    assert client.state("run-1") == "succeeded"


def test_an_approval_and_a_message(client: Client) -> None:
    """An approval is decided, a message is injected"""
    client.start("run-1", "ask", approvals=True, interactive=True)
    asked = client.until("run-1", "ApprovalRequested")[-1]
    assert asked["approval"] == "req-7"
    assert client.ask(op="approve", run="run-1", approval="req-7", decision="deny")["ok"]
    outputs = [
        each for each in client.until("run-1", "RunFinished") if each["type"] == "ToolReturned"
    ]
    assert "behavior=deny" in str(outputs)
    client.start("run-2", "listen", interactive=True)
    client.until("run-2", "TextProduced")
    assert client.ask(op="send", run="run-2", text="more")["ok"]
    assert client.until("run-2", "TextProduced")[-1]["text"] == "heard: more"
    assert client.ask(op="send", run="run-2", text="stop")["ok"]
    assert client.state("run-2") == "succeeded"


def test_a_cut_link(client: Client) -> None:
    """The link is cut in the middle of a run, which is read on without a gap"""
    client.start("run-1", "listen", interactive=True)
    client.until("run-1", "TextProduced")
    for at in range(3):
        assert client.ask(op="drop")["ok"]
        assert client.ask(op="send", run="run-1", text=f"{at}")["ok"]
        assert client.until("run-1", "TextProduced")[-1]["text"] == f"heard: {at}"
    assert client.ask(op="send", run="run-1", text="stop")["ok"]
    events = client.until("run-1", "RunFinished")
    assert "GapFound" not in {each["type"] for each in events}
    assert client.state("run-1") == "succeeded"


def test_cancel_and_failure(client: Client) -> None:
    """A run that ignores SIGTERM is canceled; one whose agent breaks has failed"""
    client.start("run-1", "hold")
    client.until("run-1", "TextProduced")
    assert client.ask(op="cancel", run="run-1")["ok"]
    assert client.state("run-1") == "canceled"
    client.start("run-2", "break")
    assert client.state("run-2") == "failed"


def test_a_daemon_that_dies(house: House, client: Client, daemon: Path) -> None:
    """The daemon is killed and started again: its runs are lost, new ones go on"""
    client.start("run-1", "hold")
    client.until("run-1", "TextProduced")
    house.program.child.send_signal(signal.SIGKILL)
    house.program.wait()
    with Program([daemon, "--socket", house.socket], listens=False):
        assert client.state("run-1") == "lost"
        client.start("run-2", "talk")
        assert client.state("run-2") == "succeeded"


def test_our_crash(house: House, tmp_path: Path) -> None:
    """Our side is killed and started again on its journal: the run is read on, without a gap"""
    state = ("--state", str(tmp_path / "state"))
    with Client(house, *state) as client:
        client.ready()
        client.start("run-1", "listen", interactive=True)
        before = client.until("run-1", "TextProduced")
        client.child.kill()
        client.wait()
    with Client(house, *state) as client:
        client.ready()
        assert client.ask(op="follow", run="run-1", after=before[-1]["seq"])["ok"]
        assert client.ask(op="send", run="run-1", text="stop")["ok"]
        events = client.until("run-1", "RunFinished")
        numbers = [each["seq"] for each in (*before, *events)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert client.state("run-1") == "succeeded"


def test_an_end_that_fits_no_frame(house: House) -> None:
    """A run whose end the daemon cannot send ends every link: it is given up, others go on"""
    with Client(house, "--set", "suspect_poll=0.5") as client:
        client.ready()
        client.start("run-1", "poison")
        client.start("run-2", "listen", interactive=True)
        events = client.until("run-1", "RunFinished")
        assert client.state("run-1") == "succeeded", events
        assert client.ask(op="send", run="run-2", text="stop")["ok"]
        assert client.state("run-2") == "succeeded"
