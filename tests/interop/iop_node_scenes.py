"""A genuine node at an edge of ours. The same scenes in each lane of iop."""

from __future__ import annotations

import pytest
from iop_stage import DEADLINES, LIMIT, MEBIBYTE, TOKEN, Call, Client, ready, start_edge
from peers import Peer, Start
from staging import Papers, tls


def follow(edge: Peer, run: str) -> None:
    assert edge.ask("follow", run=run)["ok"]


def outcome(edge: Peer, run: str) -> str:
    return edge.ask("wait", run=run)["state"]


def tell(link: Call, run: str, *events: dict[str, object]) -> None:
    for event in events:
        link.say(run_event={"run_id": run, **event})


def finish(edge: Peer, link: Call, run: str) -> None:
    """A run goes through."""
    assert edge.ask("start", run=run, input={"prompt": "x"})["ok"]
    assert link.hear("run")["run_id"] == run
    tell(link, run, {"type": "start"}, {"type": "complete"})
    assert outcome(edge, run) == "succeeded"


def test_a_run_at_a_node(fake: Start, genuine: Start) -> None:
    """A node registers, is given a run, and its events are journaled."""
    edge, address = start_edge(fake)
    link = Client(genuine, address).register()
    ready(edge)
    edge.ask("start", run="r1", input={"prompt": "añb"}, labels={"adapter": "mock"})
    follow(edge, "r1")
    given = link.hear("run")
    assert (given["run_id"], given["adapter"], given["input"]) == ("r1", "mock", {"prompt": "añb"})
    tell(
        link,
        "r1",
        {"type": "start", "timestamp": "5"},
        {"type": "delta", "delta": "é", "usage": {"input_tokens": 3, "output_tokens": 4}},
        {"type": "complete", "message": "é", "timestamp": "9"},
    )
    assert edge.until(event="run", run="r1", type="TextProduced")["text"] == "é"
    assert edge.until(event="run", run="r1", type="UsageReported")
    assert outcome(edge, "r1") == "succeeded"


def test_a_run_is_canceled_at_a_node(fake: Start, genuine: Start) -> None:
    """A cancel reaches the node, and its answer ends the run; usage is asked of it."""
    edge, address = start_edge(fake)
    link = Client(genuine, address).register()
    ready(edge)
    edge.ask("start", run="r1", input={"prompt": "x"})
    link.hear("run")
    tell(link, "r1", {"type": "start"})
    assert edge.ask("cancel", run="r1")["ok"]
    assert link.hear("cancel")["run_id"] == "r1"
    tell(link, "r1", {"type": "cancelled"})
    assert outcome(edge, "r1") == "canceled"


@pytest.mark.parametrize(
    ("first", "code", "said"),
    [
        ({"register": {"token": "wrong"}}, "Unauthenticated", "registered"),
        ({"heartbeat": {}}, "FailedPrecondition", "error"),
    ],
)
def test_a_node_that_is_refused(
    fake: Start, genuine: Start, first: dict[str, object], code: str, said: str
) -> None:
    """A node with a wrong token, or another first word, hears so, and by which status."""
    _, address = start_edge(fake)
    link = Client(genuine, address).call("Connect", token="")
    link.say(**first)
    answer = link.hear(said)
    assert answer.get("reason") or answer["code"] == "protocol_violation"
    assert not answer.get("accepted")
    assert link.end()[0] == code


def test_a_node_that_comes_twice(fake: Start, genuine: Start) -> None:
    """A second link with a token replaces the first, and the run goes on there."""
    edge, address = start_edge(fake)
    first = Client(genuine, address).register()
    ready(edge)
    edge.ask("start", run="r1", input={"prompt": "x"})
    first.hear("run")
    tell(first, "r1", {"type": "start"}, {"type": "delta", "delta": "a"})
    edge.ask("follow", run="r1")
    edge.until(type="TextProduced", text="a")
    second = Client(genuine, address).register()
    assert first.hear("error")["code"] == "replaced"
    assert first.end()[0] == "Aborted"
    tell(second, "r1", {"type": "delta", "delta": "b"}, {"type": "complete"})
    edge.until(type="TextProduced", text="b")
    assert outcome(edge, "r1") == "succeeded"


def test_a_node_that_cancels_its_call_and_comes_back(fake: Start, genuine: Start) -> None:
    """A node cancels its call, or its deadline passes, and comes back with its run."""
    edge, address = start_edge(fake)
    client = Client(genuine, address)
    link = client.register()
    ready(edge)
    edge.ask("start", run="r1", input={"prompt": "x"})
    link.hear("run")
    tell(link, "r1", {"type": "start"})
    link.order("cancel")
    assert link.end()[0] == "Canceled"
    edge.until(event="link", state="down")
    for seconds in DEADLINES:
        link = client.call("Connect", token="", timeout_ms=seconds * 1000)
        link.say(register={"token": TOKEN})
        too_short = link.denied()
        if not too_short:
            break
    assert not too_short
    assert link.end()[0] == "DeadlineExceeded"
    edge.until(event="link", state="down")
    link = client.register()
    tell(link, "r1", {"type": "delta", "delta": "back"}, {"type": "complete"})
    assert outcome(edge, "r1") == "succeeded"


@pytest.mark.parametrize("mutual", [False, True], ids=["tls", "mtls"])
def test_a_node_over_tls(fake: Start, genuine: Start, papers: Papers, mutual: bool) -> None:
    """A node over TLS; where the edge wants a certificate, none or a strange one is kept out."""
    own = ["--tls-cert", papers.server[0], "--tls-key", papers.server[1]]
    wanted = ["--tls-ca", papers.ca] if mutual else []
    edge, address = start_edge(fake, *own, *wanted, secure=True)
    pair = papers.client if mutual else None
    link = Client(genuine, address, *tls(papers.ca, pair, "--")).register()
    ready(edge)
    finish(edge, link, "r1")
    for wrong in (None, papers.stranger) if mutual else ():
        stranger = Client(genuine, address, *tls(papers.ca, wrong, "--"))
        kept_out = stranger.call("Connect", token="")
        kept_out.say(register={"token": "other"})
        assert kept_out.denied() == "Unavailable"
        assert edge.said(event="worker", worker="n2") == []


def test_the_largest_messages_at_an_edge(fake: Start, genuine: Start) -> None:
    """Messages of all but 4 MiB go both ways; a longer one ends the call, and not the edge."""
    edge, address = start_edge(fake)
    client = Client(genuine, address)
    link = client.register()
    ready(edge)
    long = "x" * (LIMIT - 2000)
    edge.ask("start", run="r1", input={"prompt": long})
    assert link.hear("run")["input"]["prompt"] == long
    edge.ask("start", run="r2", input={"prompt": "x" * LIMIT})
    assert "resource_exhausted" in edge.ask("wait", run="r2")["outcome"]["message"]
    follow(edge, "r1")
    tell(link, "r1", {"type": "start"}, {"type": "delta", "delta": long})
    size = 0
    while size < len(long):
        size += len(edge.until(event="run", run="r1", type="TextProduced")["text"])
    tell(link, "r1", {"type": "delta", "delta": "x" * (LIMIT + 1)})
    assert link.end()[0] == "ResourceExhausted"
    link = client.register()
    tell(link, "r1", {"type": "complete"})
    assert outcome(edge, "r1") == "succeeded"


def test_a_node_that_does_not_read(fake: Start, genuine: Start) -> None:
    """What a node does not read waits at the edge, and holds up no other node."""
    edge, address = start_edge(fake)
    stalled = Client(genuine, address).register(hold=True)
    ready(edge)
    runs = [f"r{number}" for number in range(12)]
    for run in runs:
        assert edge.ask("start", run=run, worker="n1", input={"prompt": "x" * MEBIBYTE})["ok"]
    other = Client(genuine, address).register("other")
    ready(edge, "n2")
    assert edge.ask("start", run="fast", worker="n2", input={"prompt": "x"})["ok"]
    assert other.hear("run")["run_id"] == "fast"
    tell(other, "fast", {"type": "start"}, {"type": "complete"})
    assert outcome(edge, "fast") == "succeeded"
    stalled.order("read")
    assert [stalled.hear("run")["run_id"] for _ in runs] == runs
    tell(stalled, runs[-1], {"type": "start"}, {"type": "complete"})
    assert outcome(edge, runs[-1]) == "succeeded"


def test_silence_and_heartbeats_at_an_edge(fake: Start, genuine: Start) -> None:
    """An edge sends heartbeats; a node that sends none for too long is told and cut."""
    edge, address = start_edge(fake, heartbeat=0.2, dead_after=20)
    link = Client(genuine, address).register()
    ready(edge)
    assert [int(link.hear("heartbeat")["timestamp"]) > 0 for _ in range(3)] == [True] * 3
    for _ in range(5):
        link.say(heartbeat={"timestamp": "1"})
        link.hear("heartbeat")
    assert link.hear("error")["code"] == "unavailable"
    assert link.end()[0] == "Unavailable"


def test_an_edge_shuts_down(fake: Start, genuine: Start) -> None:
    """An edge that ends tells its nodes, and the call ends in order."""
    edge, address = start_edge(fake)
    link = Client(genuine, address).register()
    ready(edge)
    assert edge.end() == 0
    code, _ = link.end()
    assert code in ("OK", "Unavailable")


def test_garbage_after_registration(fake: Start, genuine: Start) -> None:
    """A second register is a violation; an empty message is let be."""
    edge, address = start_edge(fake)
    client = Client(genuine, address)
    link = client.register()
    ready(edge)
    link.say()
    finish(edge, link, "r1")
    link.say(register={"token": "t"})
    assert link.hear("error")["code"] == "protocol_violation"
    assert link.end()[0] == "FailedPrecondition"
