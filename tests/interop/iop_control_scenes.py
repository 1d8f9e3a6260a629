"""A genuine control client: of an edge of ours with a node of ours, and of a gateway that serves
EdgeControl itself. The same scenes in each lane of iop."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from iop_stage import (
    DEADLINES,
    LIMIT,
    TOKEN,
    Client,
    answers,
    messages,
    ready,
    start_edge,
    start_node,
    text_of,
)
from peers import Peer, Start
from staging import Papers, tls, write_script

SCRIPT = """
[[when]]
match = "wait"
do = [{text="so far"}, {hang=true}]

[[when]]
match = "talk"
do = [{repeat=400, do=[{text="BLOCK"}]}]

[usage]
raw_output = "10 % used"
""".replace("BLOCK", "0123456789abcdef" * 2048)

CONFIG = """
[gateway]
name = "gw"
journal = "memory:"
admin = "unix:run/admin.sock"

[[local]]
name = "here"
adapters = ["mock"]
script = "script.toml"

[[north]]
name = "desk"
protocol = "iop"
listen = "grpc://127.0.0.1:0"
tokens = [{ token = { env = "FLEETGATE_INTEROP_TOKEN" }, id = "ops" }]

[[route]]
from = "desk"
to = "here"
"""


@attrs.frozen
class Desk:
    """Where EdgeControl is served, and who executes."""

    address: str
    worker: Peer | None


@pytest.fixture(params=["edge", "gateway"])
def desk(request: pytest.FixtureRequest, fake: Start, tmp_path: Path) -> Iterator[Desk]:
    script = write_script(tmp_path, SCRIPT)
    if request.param == "gateway":
        (tmp_path / "gw.toml").write_text(CONFIG)
        os.environ["FLEETGATE_INTEROP_TOKEN"] = TOKEN
        words = ("-P", "-m", "fleetgate", "serve", "--config", str(tmp_path / "gw.toml"))
        with Peer(sys.executable, *words, logs=True) as gateway:
            address = gateway.until(event="entry_listening")["address"]
            gateway.until(event="gateway_ready")
            yield Desk(address, None)
        return
    edge, address = start_edge(fake, controllers="*", control="true")
    node = start_node(fake, address, "--script", script, heartbeat=5)
    ready(edge)
    yield Desk(address, node)


@pytest.fixture
def client(genuine: Start, desk: Desk) -> Client:
    return Client(genuine, desk.address)


def request(run: str, prompt: str, **members: object) -> dict[str, object]:
    return {"run_id": run, "adapter": "mock", "input": {"prompt": prompt}, **members}


def test_a_client_runs_and_attaches(client: Client) -> None:
    """A run is followed from its start, and attached to from any event of it."""
    events = answers(client.call("Run", message=request("r1", "añb")))
    assert [events[0]["type"], events[-1]["type"]] == ["start", "complete"]
    assert text_of(events) == "añb"
    seqs = [int(event["metadata"]["gateway.seq"]) for event in events]
    assert seqs == sorted(set(seqs))
    whole = answers(client.call("Attach", message={"run_id": "r1"}))
    assert whole == events
    after = {"run_id": "r1", "after_sequence": str(seqs[0])}
    assert answers(client.call("Attach", message=after)) == events[1:]
    assert client.call("Attach", message={"run_id": "r1", "after_sequence": "999"}).end()[0] == "OK"


def test_a_client_that_goes_away(client: Client) -> None:
    """A deadline, or a cancelled call, ends the call and not the run; Cancel ends the run."""
    for seconds in DEADLINES:
        run = f"within-{seconds}"
        asked = request(run, "wait")
        heard, code = messages(client.call("Run", message=asked, timeout_ms=seconds * 1000))
        assert code == "DeadlineExceeded"
        if len(heard) == 2:
            break
    assert [event["type"] for event in heard] == ["start", "delta"]
    assert text_of(heard) == "so far"
    call = client.call("Attach", message={"run_id": run})
    assert call.hear()["type"] == "start"
    call.order("cancel")
    assert call.end()[0] == "Canceled"
    call = client.call("Attach", message={"run_id": run})
    assert client.ask("Cancel", run_id=run) == {"accepted": True}
    assert answers(call)[-1]["type"] == "cancelled"
    assert client.ask("Cancel", run_id=run) == {"accepted": True}


def test_what_a_client_is_refused(client: Client) -> None:
    """Refusals are statuses, and their text begins with the protocol's own code."""
    for method, message, code, said in (
        ("Run", request("", "x"), "InvalidArgument", "invalid_argument: "),
        ("Run", request("r1", "x", session_mode=9), "InvalidArgument", "invalid_argument: "),
        ("Run", request("r2", "x", timeout_sec=-1), "InvalidArgument", "invalid_argument: "),
        (
            "Run",
            request("r3", "x", session_mode="RUN_SESSION_MODE_REQUIRE_EXISTING", session_id="s"),
            "NotFound",
            "session_not_found: ",
        ),
        ("Attach", {"run_id": "none"}, "NotFound", "not_found: "),
    ):
        told, text = client.refusal(method, **message)
        assert (told, text.startswith(said)) == (code, True), (message, told, text)
    assert client.refusal("Run", "wrong", **request("r4", "x"))[0] == "Unauthenticated"
    assert client.refusal("Run", "", **request("r5", "x"))[0] == "Unauthenticated"
    answers(client.call("Run", message=request("r6", "x")))
    assert client.refusal("Run", **request("r6", "y"))[0] == "AlreadyExists"
    assert client.ask("Cancel", run_id="none")["error"]["code"] == "not_found"


def test_background_and_questions(client: Client) -> None:
    """A background run, a usage query, an unknown command."""
    call = client.call("Run", message=request("r1", "x", background=True))
    assert call.hear()["type"] == "start"
    assert call.end()[0] == "OK"
    assert text_of(answers(client.call("Attach", message={"run_id": "r1"}))) == "x"
    asked = client.ask("Command", request_id="q1", type="NODE_COMMAND_TYPE_USAGE_STATUS")
    assert asked["usage_status"]["raw_output"] == "10 % used"
    asked = client.ask("Command", request_id="q2", type=7)
    assert asked["error"] == "unsupported command type 7"


def test_nodes_are_watched(client: Client, desk: Desk) -> None:
    """Who watches nodes hears of those that are there, and of one that goes."""
    call = client.call("WatchNodes", message={"include_current": True})
    told = call.hear()
    assert told["type"] == "node.connected"
    if desk.worker is not None:
        desk.worker.kill()
        while told["type"] != "node.disconnected":
            told = call.hear()
    call.order("cancel")
    assert call.end()[0] == "Canceled"


def test_a_client_that_does_not_read(client: Client) -> None:
    """13 MB that a client does not read wait for it, and hold up nobody else."""
    begun = client.call("Run", message=request("r1", "talk", background=True))
    assert begun.end()[0] == "OK"
    stalled = client.call("Attach", message={"run_id": "r1"}, hold=True)
    whole = answers(client.call("Attach", message={"run_id": "r1"}))
    assert len(text_of(whole)) == 400 * 32 * 1024
    stalled.order("read")
    assert answers(stalled) == whole


def test_requests_about_the_limit(client: Client) -> None:
    """A request of all but 4 MiB is taken, a longer one is RESOURCE_EXHAUSTED."""
    long = "é" * ((LIMIT - 2000) // 2)
    assert text_of(answers(client.call("Run", message=request("r1", long)))) == long
    for size in (LIMIT - 10, LIMIT, LIMIT + 1, 2 * LIMIT):
        told, _ = client.refusal("Run", **request("r2", "x" * size))
        assert told == "ResourceExhausted"
    assert text_of(answers(client.call("Run", message=request("r3", "x")))) == "x"


@pytest.mark.parametrize("mutual", [False, True], ids=["tls", "mtls"])
def test_a_client_over_tls(fake: Start, genuine: Start, papers: Papers, mutual: bool) -> None:
    """A client over TLS; where the edge wants a certificate, none or a strange one is kept out."""
    own = ["--tls-cert", papers.server[0], "--tls-key", papers.server[1]]
    wanted = ["--tls-ca", papers.ca] if mutual else []
    served = {"controllers": "*", "control": "true"}
    edge, address = start_edge(fake, *own, *wanted, secure=True, **served)
    pair = papers.client if mutual else None
    start_node(fake, address, *tls(papers.ca, pair))
    ready(edge)
    client = Client(genuine, address, *tls(papers.ca, pair, "--"))
    assert text_of(answers(client.call("Run", message=request("r1", "secret")))) == "secret"
    for wrong in (None, papers.stranger) if mutual else ():
        stranger = Client(genuine, address, *tls(papers.ca, wrong, "--"))
        assert stranger.refusal("Cancel", run_id="r1")[0] == "Unavailable"


@pytest.mark.parametrize("wrong", ["client", "stranger"], ids=["another host", "of strangers"])
def test_a_client_that_does_not_trust_us(
    fake: Start, genuine: Start, papers: Papers, wrong: str
) -> None:
    """A client does not talk to us under another host's certificate, or a stranger's."""
    cert, key = getattr(papers, wrong)
    _, address = start_edge(fake, "--tls-cert", cert, "--tls-key", key, secure=True, control="true")
    client = Client(genuine, address, *tls(papers.ca, prefix="--"))
    assert client.refusal("Cancel", run_id="r1")[0] == "Unavailable"


def test_pings_of_a_client(genuine: Start, fake: Start, often: float) -> None:
    """A client that pings too often is sent away, and may call again; else it stays."""
    _, strict = start_edge(fake, controllers="*", control="true", pings_allowed_every=often * 3)
    _, patient = start_edge(fake, controllers="*", control="true", pings_allowed_every=often / 2)
    words = ("--ping-every", str(often))
    fast, fine = Client(genuine, strict, *words), Client(genuine, patient, *words)
    calls = [each.call("WatchNodes") for each in (fast, fine)]
    code, text = calls[0].end()
    assert code == "Unavailable"
    assert "ping" in text
    assert fast.refusal("Attach", run_id="none")[0] == "NotFound"
    assert fine.peer.said(event="end") == []
    calls[1].order("cancel")
    assert calls[1].end()[0] == "Canceled"
