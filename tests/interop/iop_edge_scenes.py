"""A genuine edge, and a node of ours under it. The same scenes in each lane of iop."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from iop_stage import LIMIT, MEBIBYTE, Call, Server, run_events, start_node, text_of
from peers import Start
from staging import Papers, tls, write_script

WAITING = '[[when]]\nmatch = "wait"\ndo = [{text="so far"}, {hang=true}]\n'
BLOCK = "0123456789abcdef" * 2048
CHATTY = f'[[when]]\nmatch = "talk"\ndo = [{{repeat=400, do=[{{text="{BLOCK}"}}]}}]\n'


def request(run: str, prompt: str, **members: object) -> dict[str, object]:
    return {"run_id": run, "adapter": "mock", "input": {"prompt": prompt}, **members}


def test_a_run_under_an_edge(fake: Start, genuine: Start) -> None:
    """A node of ours registers, is given runs, and tells of them; its own seqs are in order."""
    edge = Server(genuine)
    start_node(fake, edge.address)
    link = edge.greet()
    link.say(run=request("r1", "añb", metadata={"k": "v"}))
    events = run_events(link, "r1")
    assert [events[0]["type"], events[-1]["type"]] == ["start", "complete"]
    assert text_of(events) == "añb"
    times = [int(event["timestamp"]) for event in events]
    assert times == sorted(times)
    seqs = [int(event["metadata"]["gateway.seq"]) for event in events]
    assert seqs == sorted(set(seqs))


def test_what_an_edge_asks_of_a_node(fake: Start, genuine: Start, tmp_path: Path) -> None:
    """A cancel, a usage query, an unknown command, a run id used again, a bad enum."""
    edge = Server(genuine)
    start_node(fake, edge.address, "--script", write_script(tmp_path, WAITING))
    link = edge.greet()
    link.say(run=request("r1", "wait"))
    run_events(link, "r1", lambda event: event.get("delta") == "so far")
    link.say(run=request("r1", "another"))
    assert link.hear("error")["code"] == "conflict"
    link.say(command={"request_id": "q1", "type": "NODE_COMMAND_TYPE_USAGE_STATUS"})
    assert link.hear("command_response")["request_id"] == "q1"
    link.say(command={"request_id": "q2", "type": 77})
    assert link.hear("command_response")["error"] == "unsupported command type 77"
    link.say(run=request("r2", "x", session_mode=9))
    assert "invalid_argument" in run_events(link, "r2")[-1]["error"]
    link.say(cancel={"run_id": "r1"})
    assert run_events(link, "r1")[-1]["type"] == "cancelled"
    link.say(cancel={"run_id": "none"})
    assert link.hear("error")["code"] == "not_found"


@pytest.mark.parametrize(
    ("code", "error"), [("Unauthenticated", {}), ("Aborted", {"error": {"code": "replaced"}})]
)
def test_an_edge_that_ends_it_for_good(
    fake: Start, genuine: Start, code: str, error: dict[str, object]
) -> None:
    """A node that is refused, or replaced, does not come again by itself."""
    edge = Server(genuine)
    node = start_node(fake, edge.address)
    link = edge.greet(accept=bool(error))
    link.say(**error or {"registered": {"reason": "who are you?"}})
    link.order("finish", code=code, text="no")
    assert node.wait() == 3
    assert edge.peer.said(event="call") == []


@pytest.mark.parametrize("code", ["Aborted", "Unavailable", "Internal", "OK"])
def test_an_edge_that_ends_a_call(fake: Start, genuine: Start, tmp_path: Path, code: str) -> None:
    """A node whose call ends otherwise comes back, and sends again what it has of an open run."""
    edge = Server(genuine)
    node = start_node(fake, edge.address, "--script", write_script(tmp_path, WAITING))
    link = edge.greet()
    link.say(run=request("r1", "wait"))
    before = run_events(link, "r1", lambda event: event.get("delta") == "so far")
    link.order("finish", code=code, text="later")
    again = edge.greet()
    steps = [{"text": "and on"}, {"finish": {"exit": 0}}]
    assert node.ask("emit", run="edge/r1", steps=steps)["ok"]
    events = {event["metadata"]["gateway.seq"]: event for event in run_events(again, "r1")}
    seen = {event["metadata"]["gateway.seq"]: event for event in before} | events
    assert text_of(list(seen.values())) == "so farand on"


def test_an_edge_that_drains(fake: Start, genuine: Start) -> None:
    """Behind an edge's GOAWAY the call lives on to its end."""
    edge = Server(genuine)
    start_node(fake, edge.address)
    link = edge.greet()
    edge.peer.tell("stop")
    for number in range(3):
        link.say(run=request(f"r{number}", "still here"))
        assert text_of(run_events(link, f"r{number}")) == "still here"


@pytest.mark.parametrize("mutual", [False, True], ids=["tls", "mtls"])
def test_an_edge_over_tls(fake: Start, genuine: Start, papers: Papers, mutual: bool) -> None:
    """A node over TLS, and with its own certificate; an edge of strangers is not talked to."""
    wanted = ["--ca", papers.ca] if mutual else []
    own = ["--cert", papers.server[0], "--key", papers.server[1]]
    edge = Server(genuine, *own, *wanted, secure=True)
    pair = papers.client if mutual else None
    start_node(fake, edge.address, *tls(papers.ca, pair))
    link = edge.greet()
    link.say(run=request("r1", "secret"))
    assert text_of(run_events(link, "r1")) == "secret"
    strange = Server(
        genuine, "--cert", papers.stranger[0], "--key", papers.stranger[1], secure=True
    )
    node = start_node(fake, strange.address, *tls(papers.ca), "--log-level", "info")
    node.until_true(lambda: "certificate" in node.errors, "it does not trust the edge")
    assert strange.peer.said(event="call") == []


def test_the_largest_messages_at_a_node(fake: Start, genuine: Start) -> None:
    """A request of all but 4 MiB is taken; behind a longer one the node comes back."""
    edge = Server(genuine)
    start_node(fake, edge.address)
    link = edge.greet()
    long = "é" * ((LIMIT - 2000) // 2)
    link.say(run=request("r1", long))
    assert text_of(run_events(link, "r1")) == long
    link.say(run=request("r2", "x" * (LIMIT + 1)))
    again = edge.greet()
    again.say(run=request("r3", "x"))
    assert text_of(run_events(again, "r3")) == "x"


def test_an_edge_that_does_not_read(fake: Start, genuine: Start, tmp_path: Path) -> None:
    """13 MB that an edge does not read wait at the node, in order."""
    edge = Server(genuine)
    edge.peer.tell("hold")
    node = start_node(fake, edge.address, "--script", write_script(tmp_path, CHATTY))
    name = edge.peer.until(event="call")["call"]
    link = Call(edge.peer, name)
    link.say(registered={"accepted": True, "node_id": "n1"})
    link.say(run=request("r1", "talk"))
    assert node.until(event="link", state="up")
    node.ask_until(  # it is journaled at the node, whoever reads
        lambda answer: [each["state"] for each in answer["runs"]] == ["succeeded"],
        "the run ends at the node",
        op="runs",
    )
    link.order("read")
    events = run_events(link, "r1")
    assert len(text_of(events)) == 400 * 32 * 1024 > 12 * MEBIBYTE


def test_pings_that_an_edge_wants_rarer(fake: Start, genuine: Start) -> None:
    """A node that is sent away with too_many_pings comes back, and pings half as often."""
    edge = Server(genuine, "--pings-allowed-every", "1")
    node = start_node(fake, edge.address, ping_every=0.3)
    link = edge.greet()
    for _ in range(2):  # 0.3 s, then 0.6 s
        assert "too many pings" in node.until(event="link", state="down")["reason"]
        link = edge.greet()
    trio.run(trio.sleep, 5)  # every 1.2 s: it would be three that come too early
    link.say(run=request("r1", "still here"))
    assert text_of(run_events(link, "r1")) == "still here"
    assert node.said(event="link", state="down") == []


def test_pings_of_an_edge(fake: Start, genuine: Start) -> None:
    """An edge that pings a silent link, and ends those that do not answer, keeps ours."""
    edge = Server(genuine, "--ping-every", "1", "--ping-timeout", "10")
    node = start_node(fake, edge.address)
    link = edge.greet()
    assert node.until(event="link", state="up")
    trio.run(trio.sleep, 14)  # unanswered, the first ping would have ended it after 11
    link.say(run=request("r1", "still here"))
    assert text_of(run_events(link, "r1")) == "still here"
    assert node.said(event="link", state="down") == []


def test_pings_as_an_edge_allows_them(fake: Start, genuine: Start) -> None:
    """A node that pings as often as is allowed is borne for twelve pings, a default hour's."""
    edge = Server(genuine, "--pings-allowed-every", "0.4")
    node = start_node(fake, edge.address, ping_every=0.5)
    link = edge.greet()
    assert node.until(event="link", state="up")
    trio.run(trio.sleep, 6.5)  # pings cannot be asked after, only waited for
    link.say(run=request("r1", "still here"))
    assert text_of(run_events(link, "r1")) == "still here"
    assert node.said(event="link", state="down") == []
