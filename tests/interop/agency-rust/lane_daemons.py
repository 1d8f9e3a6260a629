"""The genuine client and four daemons: the genuine one, to know what is true; ours, as it is and
with `strict_parity`; and our gateway between the two."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import houses
import pytest
from houses import ENDS, Driver, House

ALL = ("genuine", "ours", "strict", "bridge")
LAST = 2**64 - 1
Opening = Callable[[str], AbstractContextManager[House]]


@pytest.fixture(scope="session")
def opening(daemon: Path, tmp_path_factory: pytest.TempPathFactory) -> Opening:
    """Opens the daemon of a name."""

    def open(name: str) -> AbstractContextManager[House]:
        folder = tmp_path_factory.mktemp(name)
        match name:
            case "genuine":
                return houses.genuine(daemon, folder)
            case "bridge":
                return houses.bridge(daemon, folder)
            case "strict":
                return houses.ours(folder, "--set", "strict_parity=true", name=name)
            case _:
                return houses.ours(folder)

    return open


@pytest.fixture(scope="session")
def house(request: pytest.FixtureRequest, opening: Opening) -> Iterator[House]:
    """The daemon that the test's parameter names; tests share it."""
    with opening(request.param) as house:
        yield house


@pytest.fixture(autouse=True)
def peers(daemon: Path, crates: list[str], record_property: Callable[[str, object], None]) -> None:
    """Whom every test here meets."""
    for name in (*crates, f"agency-proxy {daemon.parents[1].name.removeprefix('daemon-')}"):
        record_property("peer", name)


@pytest.fixture
def clients(crate: Path, house: House) -> Iterator[Driver]:
    """Genuine clients; `a` has said hello."""
    with Driver(crate, house) as driver:
        assert driver.connect("a") == {"major": 0, "minor": 3}
        yield driver


def at(*names: str) -> pytest.MarkDecorator:
    """Which daemons a test is for."""
    return pytest.mark.parametrize("house", names, indirect=True)


@at(*ALL)
def test_start_and_attach(clients: Driver) -> None:
    """Start, attach, every event once and in order, one end, the list"""
    clients.start("a", clients.run, "talk", metadata={"projectId": "p", "n": 1.5})
    snapshot = clients.attach("a", clients.run)
    assert snapshot["runId"] == clients.run
    assert (snapshot["provider"], snapshot["model"]) == ("claude", "")
    assert snapshot["metadata"] == {"projectId": "p", "n": 1.5}
    frames = clients.until("a", clients.run, *ENDS)
    assert [number for number, _ in frames] == list(range(1, len(frames) + 1))
    types = [event["type"] for _, event in frames]
    assert types.count("finished") == 1
    for type in ("reasoning", "text", "tool_call", "tool_result", "usage"):
        assert type in types
    texts = [event["payload"] for _, event in frames if event["type"] == "text"]
    assert "".join(texts) == "well — 😀\n"
    assert frames[-1][1]["payload"]["text"] == "all done"
    listed = clients.snapshot("a", clients.run)
    assert listed["state"] == "completed"
    assert listed["latestSequence"] == len(frames)


@at(*ALL)
def test_an_id_is_used_once(clients: Driver) -> None:
    """A second start of one id is a conflict, before and after the end"""
    clients.start("a", clients.run, "talk")
    again = {
        "run_id": clients.run,
        "request": clients.house.request("talk"),
        "idempotency_key": "k",
    }
    exists = ("conflict", "run already exists")
    assert clients.refused("a", "start_run", **again) == exists
    clients.attach("a", clients.run)
    clients.until("a", clients.run, *ENDS)
    assert clients.refused("a", "start_run", **again) == exists


@at(*ALL)
def test_replay(clients: Driver) -> None:
    """Replay after a reconnect, and on two connections at once: no gap, nothing twice"""
    clients.start("a", clients.run, "count 40")
    clients.attach("a", clients.run)
    first = [clients.frame("a", clients.run) for _ in range(7)]
    clients.ask(op="drop", **{"as": "a"})
    clients.connect("b")
    clients.connect("c")
    clients.attach("b", clients.run, after=first[-1][0])
    clients.attach("c", clients.run)
    rest = clients.until("b", clients.run, *ENDS)
    whole = clients.until("c", clients.run, *ENDS)
    assert [*first, *rest] == whole
    assert [number for number, _ in whole] == list(range(1, len(whole) + 1))


@at("ours", "strict", "bridge", "genuine")
def test_many_events(clients: Driver) -> None:
    """500 events at once, which the client just keeps, in order"""
    clients.start("a", clients.run, "count 490")
    clients.attach("a", clients.run)
    numbers = [number for number, _ in clients.until("a", clients.run, *ENDS)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 490


@at(*ALL)
@pytest.mark.parametrize("decision", ["allow_once", "allow_similar", "deny"])
def test_approvals(clients: Driver, decision: str) -> None:
    """An approval is asked for, decided each way, and the run goes on"""
    clients.start("a", clients.run, "ask", approvals=True, interactive=True)
    clients.attach("a", clients.run)
    _, asked = clients.until("a", clients.run, "approval_requested")[-1]
    assert asked["payload"] == {
        "approval_id": "req-7",
        "title": "Bash",
        "detail": {"command": "touch x"},
    }
    assert clients.snapshot("a", clients.run)["state"] == "waiting_approval"
    answer = {"run_id": clients.run, "approval_id": "req-7", "idempotency_key": "k"}
    clients.accepted("a", "decide_approval", decision=decision, **answer)
    frames = clients.until("a", clients.run, *ENDS)
    assert "tool_result" in [event["type"] for _, event in frames]
    if clients.house.name in ("genuine", "bridge"):
        behavior = "deny" if decision == "deny" else "allow"
        outputs = [event["payload"]["output"] for _, event in frames if "tool_r" in event["type"]]
        assert outputs == [f"behavior={behavior}"]
    assert clients.snapshot("a", clients.run)["state"] == "completed"


@at(*ALL)
def test_inject(clients: Driver) -> None:
    """Messages are injected, one key for both, and both are heard"""
    clients.start("a", clients.run, "listen", interactive=True)
    clients.attach("a", clients.run)
    clients.until("a", clients.run, "text")
    inject = {"run_id": clients.run, "idempotency_key": "run-1:inject"}
    clients.accepted("a", "inject_message", body="also — this", **inject)
    _, heard = clients.until("a", clients.run, "text")[-1]
    assert heard["payload"].startswith("heard")
    clients.accepted("a", "inject_message", body="stop", **inject)
    _, end = clients.until("a", clients.run, *ENDS)[-1]
    assert end["payload"]["text"] == "listened"


@at(*ALL)
def test_cancel(clients: Driver) -> None:
    """A run that ignores SIGTERM is canceled once; the second cancel is a conflict"""
    clients.start("a", clients.run, "hold")
    clients.attach("a", clients.run)
    clients.until("a", clients.run, "text")
    cancel = {"run_id": clients.run, "idempotency_key": "k"}
    clients.accepted("a", "cancel_run", **cancel)
    _, end = clients.until("a", clients.run, *ENDS)[-1]
    assert end == {"type": "failed", "payload": "the run was canceled"}
    assert clients.snapshot("a", clients.run)["state"] == "canceled"
    assert clients.refused("a", "cancel_run", **cancel) == ("conflict", "run already exists")


@at(*ALL)
def test_late_control(clients: Driver) -> None:
    """Control of a run that has ended: internal, and a first cancel is accepted"""
    clients.start("a", clients.run, "talk")
    clients.attach("a", clients.run)
    clients.until("a", clients.run, *ENDS)
    late = {"run_id": clients.run, "idempotency_key": "k"}
    code, text = clients.refused("a", "inject_message", body="b", **late)
    assert code == "internal"
    assert text.startswith("agent control failed: ")
    decision = {"approval_id": "x", "decision": "deny"}
    assert clients.refused("a", "decide_approval", **decision, **late)[0] == "internal"
    clients.accepted("a", "cancel_run", **late)
    assert clients.refused("a", "cancel_run", **late) == ("conflict", "run already exists")


@at(*ALL)
def test_unknown_run(clients: Driver) -> None:
    """Requests about a run that does not exist: not found; a detach is accepted"""
    gone, keyed = ("not_found", "run does not exist"), {"run_id": "x", "idempotency_key": "k"}
    assert clients.refused("a", "attach_run", run_id="x", after_sequence=0) == gone
    assert clients.refused("a", "inject_message", body="b", **keyed) == gone
    assert clients.refused("a", "cancel_run", **keyed) == gone
    decision = {"approval_id": "a", "decision": "deny"}
    assert clients.refused("a", "decide_approval", **decision, **keyed) == gone
    assert clients.refused("a", "ack_events", run_id="x", through_sequence=1) == gone
    clients.accepted("a", "detach_run", run_id="x")


@at("genuine", "ours", "strict")
@pytest.mark.parametrize(
    ("members", "code", "text"),
    [
        ({"provider": "nope"}, "protocol_violation", "unsupported provider: nope"),
        ({"permission": "nope"}, "protocol_violation", "unsupported permission: nope"),
        ({"isCommand": True}, "internal", "agent run could not start: unsupported command: talk"),
    ],
)
def test_bad_request(clients: Driver, members: dict[str, object], code: str, text: str) -> None:
    """A start that cannot be is refused in the genuine words, and leaves its id free"""
    start = {"run_id": clients.run, "idempotency_key": "k"}
    request = clients.house.request("talk", **members)
    assert clients.refused("a", "start_run", request=request, **start) == (code, text)
    clients.start("a", clients.run, "talk")


@at(*ALL)
def test_ack(clients: Driver) -> None:
    """Everything is acknowledged by 2^64-1, and nothing falls back"""
    clients.start("a", clients.run, "talk")
    clients.attach("a", clients.run)
    frames = clients.until("a", clients.run, *ENDS)
    clients.accepted("a", "ack_events", run_id=clients.run, through_sequence=LAST)
    clients.accepted("a", "ack_events", run_id=clients.run, through_sequence=1)
    listed = clients.snapshot("a", clients.run)
    assert listed["acknowledgedSequence"] == listed["latestSequence"] == len(frames)
    clients.connect("b")
    assert clients.attach("b", clients.run, after=len(frames))["state"] == "completed"
    if clients.house.name in ("genuine", "strict"):
        assert clients.attach("b", clients.run)["acknowledgedSequence"] == len(frames)
    else:
        why = f"requested replay sequence 0 is older than retained sequence {len(frames)}"
        refused = clients.refused("b", "attach_run", run_id=clients.run, after_sequence=0)
        assert refused == ("conflict", why)


@at("genuine", "ours", "strict")
def test_replay_bound(clients: Driver) -> None:
    """The last 2,048 events can be had again; the refusal names the floor"""
    clients.start("a", clients.run, "count 3000")
    done = "completed"
    clients.until_true(lambda: clients.snapshot("a", clients.run)["state"] == done, done)
    last = clients.snapshot("a", clients.run)["latestSequence"]
    clients.connect("b")
    floor = last - 2048
    for after in (0, floor - 1):
        why = f"requested replay sequence {after} is older than retained sequence {floor}"
        refused = clients.refused("b", "attach_run", run_id=clients.run, after_sequence=after)
        assert refused == ("conflict", why)
    clients.attach("b", clients.run, floor)
    clients.connect("c")  # the genuine client keeps 512 events
    clients.attach("c", clients.run, last - 500)
    numbers = [number for number, _ in clients.until("c", clients.run, *ENDS)]
    assert numbers == [*range(last - 499, last + 1)]


@at(*ALL)
def test_detach(clients: Driver) -> None:
    """Detached, then attached again behind what was read"""
    clients.start("a", clients.run, "listen", interactive=True)
    clients.attach("a", clients.run)
    number = clients.until("a", clients.run, "text")[-1][0]
    clients.accepted("a", "detach_run", run_id=clients.run)
    inject = {"run_id": clients.run, "idempotency_key": "k"}
    clients.accepted("a", "inject_message", body="hear this", **inject)
    clients.accepted("a", "inject_message", body="stop", **inject)
    clients.attach("a", clients.run, after=number)
    frames = clients.until("a", clients.run, *ENDS)
    assert [each for each, _ in frames] == [*range(number + 1, number + 1 + len(frames))]


@at(*ALL)
def test_failure(clients: Driver) -> None:
    """A run that fails ends in one `failed`"""
    clients.start("a", clients.run, "break")
    clients.attach("a", clients.run)
    _, end = clients.until("a", clients.run, *ENDS)[-1]
    assert end["type"] == "failed"
    assert "boom" in end["payload"]
    assert clients.snapshot("a", clients.run)["state"] == "failed"


@at(*ALL)
def test_accounts(clients: Driver) -> None:
    """Providers and account usage are answered in words that a genuine client reads"""
    names = [each["provider"] for each in clients.request("a", "probe_providers")["providers"]]
    assert names == ["claude", "codex", "copilot"]
    usage = clients.request("a", "read_account_usage")["providers"]
    assert [each["provider"] for each in usage] == names


# --- the shutdown family


@pytest.fixture
def leaving(request: pytest.FixtureRequest, crate: Path, opening: Opening) -> Iterator[Driver]:
    """Genuine clients of a daemon that is theirs alone; `a` has said hello."""
    with opening(request.param) as house, Driver(crate, house) as driver:
        driver.connect("a")
        assert driver.request("a", "list_runs") == {"type": "runs", "runs": []}
        yield driver


def alone_at(*names: str) -> pytest.MarkDecorator:
    """Which daemons a test is for."""
    return pytest.mark.parametrize("leaving", names, indirect=True)


@alone_at("genuine", "ours", "strict")
def test_idle_shutdown(leaving: Driver) -> None:
    """`shutdown_if_idle`: refused while a run is active, then answered, and the daemon ends"""
    leaving.start("a", "run-1", "hold")
    busy = ("conflict", "AgencyProxy has 1 active run(s)")
    assert leaving.refused("a", "shutdown_if_idle") == busy
    leaving.attach("a", "run-1")
    leaving.accepted("a", "cancel_run", run_id="run-1", idempotency_key="k")
    leaving.until("a", "run-1", *ENDS)
    leaving.accepted("a", "shutdown_if_idle")
    assert leaving.house.program.wait() == leaving.house.ends
    assert not leaving.house.socket.exists()


@alone_at("genuine", "ours", "strict")
def test_drain(leaving: Driver) -> None:
    """Drain: no new runs, others go on, no second shutdown; the end comes with the last run"""
    leaving.start("a", "run-1", "listen", interactive=True)
    leaving.connect("b")
    leaving.attach("b", "run-1")
    leaving.accepted("a", "shutdown", mode="drain")
    leaving.ended("a")
    leaving.connect("c")
    request = leaving.house.request("talk")
    refused = leaving.refused("c", "start_run", run_id="r", request=request, idempotency_key="k")
    assert refused == ("conflict", "AgencyProxy is stopping")
    for mode in ("drain", "terminate"):
        stopping = ("conflict", "AgencyProxy is already stopping")
        assert leaving.refused("c", "shutdown", mode=mode) == stopping
    inject = {"run_id": "run-1", "idempotency_key": "k"}
    leaving.until("b", "run-1", "text")
    leaving.accepted("b", "inject_message", body="more", **inject)
    leaving.accepted("b", "inject_message", body="stop", **inject)
    assert leaving.house.program.wait() == leaving.house.ends
    assert not leaving.house.socket.exists()


@alone_at("genuine", "ours", "strict")
def test_terminate(leaving: Driver) -> None:
    """Terminate: both active runs are canceled, and the daemon ends"""
    leaving.connect("b")
    for run in ("run-1", "run-2"):
        leaving.start("a", run, "hold")
        leaving.attach("b", run)
        leaving.until("b", run, "text")
    leaving.accepted("a", "shutdown", mode="terminate")
    assert leaving.house.program.wait() == leaving.house.ends
    assert not leaving.house.socket.exists()
