"""A client in Go at a server of ours."""

from __future__ import annotations

import base64
import uuid

import pytest
from peers import Line, Peer, Start, settings
from staging import Papers, tls

LONG = "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done; echo end >&2; exit 3"


def start_server(
    fake: Start, *words: str, scheme: str = "ws", **values: object
) -> tuple[Peer, str]:
    at = f"{scheme}://127.0.0.1:0/agent"
    server = fake("rvbox-server", "--listen", at, *words, *settings(**values))
    return server, server.until(event="ready")["address"]


def start_client(genuine: Start, address: str, *words: str) -> Peer:
    return genuine("client", "-at", address, "-id", "host-1", *words)


def up(server: Peer, client: Peer) -> Line:
    """Both have finished their comparison."""
    client.until(event="reconciled")
    server.until(event="worker", worker="host-1", state="ready")
    return client.until(event="link", state="up")


def start(server: Peer, **how: object) -> None:
    """Start a run."""
    answer = server.ask("start", **how)
    assert answer["ok"], answer


def output(server: Peer, run: str, stream: str = "stdout") -> bytes:
    """All that a run has said, in order, to its end; each event once."""
    seqs: list[int] = []
    found = b""
    server.ask("follow", run=run)
    while True:
        line = server.until(event="run", run=run)
        seqs.append(line["seq"])
        if line["type"] == "OutputProduced" and line["stream"] == stream:
            found += base64.b64decode(line["data_base64"])
        if line["type"] == "RunFinished":
            assert seqs == list(range(1, len(seqs) + 1))
            return found


def outcome(server: Peer, run: str) -> tuple[str, int | None]:
    told = server.ask("wait", run=run)
    return told["state"], told["outcome"]["exit_code"]


def test_a_session_and_a_command(fake: Start, genuine: Start, run: str) -> None:
    """A client is welcomed, compared and given a command, whose output and exit come back."""
    server, address = start_server(fake)
    client = start_client(genuine, address)
    link = up(server, client)
    assert link["generation"] == 1
    assert link["subprotocol"] == "rvbox.v1"
    start(server, run=run, input={"line": LONG})
    assert output(server, run) == b"".join(b"line %d\n" % each for each in range(300))
    assert output(server, run, "stderr") == b"end\n"
    assert outcome(server, run) == ("failed", 3)


def test_it_is_forgotten_once_acknowledged(fake: Start, genuine: Start, run: str) -> None:
    """The exit is acknowledged, and the client keeps a tombstone only."""
    server, address = start_server(fake)
    client = start_client(genuine, address)
    up(server, client)
    start(server, run=run, input={"argv": ["true"]})
    assert outcome(server, run) == ("succeeded", 0)
    counts: list[Line] = []

    def buried() -> bool:
        client.tell("counts")
        counts.append(client.until(event="counts"))
        return bool(counts[-1]["retained"] == 0)

    client.until_true(buried, "the command is buried")
    assert counts[-1]["tombstones"] == 1


def test_input(fake: Start, genuine: Start, run: str) -> None:
    """Input goes to the program byte for byte, in order, and ends."""
    server, address = start_server(fake)
    up(server, start_client(genuine, address))
    start(server, run=run, input={"argv": ["cat"]}, interactive=True)
    data = bytes(range(256))
    server.ask("send", run=run, text="é")
    server.ask("send", run=run, data_base64=base64.b64encode(data).decode(), newline=True)
    server.ask("close_input", run=run)
    assert output(server, run) == "é".encode() + data + b"\n"
    assert outcome(server, run) == ("succeeded", 0)


@pytest.mark.parametrize(
    ("signal", "state"),
    [("terminate", "canceled"), ("kill", "canceled"), ("interrupt", "canceled")],
)
def test_signals(fake: Start, genuine: Start, run: str, signal: str, state: str) -> None:
    """A signal reaches the program's group, and the run ends as one that was canceled."""
    server, address = start_server(fake)
    client = start_client(genuine, address)
    up(server, client)
    start(server, run=run, input={"line": "sleep 1000 & echo $$; wait"})
    server.ask("follow", run=run)
    server.until(type="OutputProduced")
    assert server.ask("signal", run=run, signal=signal)["ok"]
    assert outcome(server, run)[0] == state


def test_a_timeout(fake: Start, genuine: Start, run: str) -> None:
    """A command that takes too long is timed out by its host."""
    server, address = start_server(fake)
    up(server, start_client(genuine, address))
    start(server, run=run, input={"argv": ["sleep", "1000"]}, timeout_ms=300)
    told = server.ask("wait", run=run)
    assert (told["state"], told["outcome"]["reason"]) == ("failed", "timed_out")


@pytest.mark.parametrize("size", [10, 200_000], ids=["short", "long"])
def test_scripts(fake: Start, genuine: Start, run: str, size: int) -> None:
    """A script is uploaded in pieces, checked, executed with its arguments."""
    server, address = start_server(fake)
    up(server, start_client(genuine, address))
    script = f'#!/bin/sh\n# {"x" * size}\necho "$0" | wc -l; echo $1-$2; exit 4\n'
    start(server, run=run, input={"script": script, "args": ["a b", "c"]})
    assert output(server, run) == b"1\na b-c\n"
    assert outcome(server, run) == ("failed", 4)


def test_more_than_it_can_run(fake: Start, genuine: Start) -> None:
    """Commands beyond what a client takes at a time wait, and all of them are executed once."""
    server, address = start_server(fake)
    client = start_client(genuine, address, "-max-running", "2", "-max-queued", "3")
    up(server, client)
    runs = [str(uuid.uuid4()) for _ in range(20)]
    for each in runs:
        start(server, run=each, input={"argv": ["sh", "-c", "sleep 0.05; echo x"]})
    for each in runs:
        assert outcome(server, each) == ("succeeded", 0)
    started = [line["run"] for line in client.said(event="started")]
    assert sorted(started) == sorted(runs)


GREETING = (
    ("out", "client_hello"),
    ("in", "server_welcome"),
    ("in", "reconcile_request"),
    ("out", "reconcile_snapshot"),
    ("in", "reconcile_result"),
)
WORK = (
    ("in", "command_dispatch"),
    ("out", "command_accepted"),
    ("out", "command_event"),
    ("in", "event_ack"),
    ("in", "stdin_write"),
    ("in", "close_stdin"),
    ("out", "client_capacity"),
)
CUTS = [(*each, before) for each in (*GREETING, *WORK) for before in (True, False)]


@pytest.mark.parametrize("at", CUTS, ids=lambda at: "-".join(map(str, at)))
def test_a_cut_in_every_phase(
    fake: Start, genuine: Start, run: str, at: tuple[str, str, bool]
) -> None:
    """Wherever the link is cut, a command is executed once and all it said is journaled once."""
    server, address = start_server(fake)
    client = start_client(genuine, address)
    up(server, client)
    cut(client, at)
    start(server, run=run, input={"line": f"read x; cat; echo got $x; {LONG}"}, interactive=True)
    server.ask("send", run=run, text="it", newline=True)
    server.ask("close_input", run=run)
    if at[:2] in GREETING:
        client.tell("drop")
    client.until(event="cut")
    said = b"got it\n" + b"".join(b"line %d\n" % each for each in range(300))
    assert output(server, run) == said
    assert outcome(server, run) == ("failed", 3)
    assert [line["run"] for line in client.said(event="started")] == [run]


def cut(peer: Peer, at: tuple[str, str, bool], skip: int = 0) -> None:
    peer.tell("cut", dir=at[0], payload=at[1], before=at[2], skip=skip)
    peer.until(event="armed")


@pytest.mark.parametrize("before", [True, False])
def test_a_cut_at_a_cancel(fake: Start, genuine: Start, run: str, before: bool) -> None:
    """A cancel on which the link is cut ends the run, once the client is back."""
    server, address = start_server(fake)
    client = start_client(genuine, address)
    up(server, client)
    start(server, run=run, input={"line": "sleep 1000 & wait"})
    client.until(event="started")
    cut(client, ("in", "signal_command", before))
    assert server.ask("cancel", run=run)["ok"]
    client.until(event="cut")
    assert outcome(server, run)[0] == "canceled"
    assert client.said(event="started") == []


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("skip", [0, 1, 3])
def test_a_cut_in_an_upload(fake: Start, genuine: Start, run: str, skip: int, before: bool) -> None:
    """An upload that is cut starts again from its beginning."""
    server, address = start_server(fake)
    client = start_client(genuine, address)
    up(server, client)
    name = "script_commit" if skip == 3 else "script_chunk"
    cut(client, ("in", name, before), 0 if skip == 3 else skip)
    script = f"#!/bin/sh\n# {'x' * 150_000}\necho done\n"
    start(server, run=run, input={"script": script})
    client.until(event="cut")
    assert output(server, run) == b"done\n"
    assert [line["run"] for line in client.said(event="started")] == [run]


def test_fences(fake: Start, genuine: Start, run: str) -> None:
    """An envelope of the session before ends the link with 4001; a second hello with 1002."""
    server, address = start_server(fake)
    client = start_client(genuine, address)
    up(server, client)
    for op, code, close in (
        ("stale", "STALE_SESSION", 4001),
        ("hello", "PROTOCOL_VIOLATION", 1002),
    ):
        client.tell(op)
        told = client.until(event="error")
        assert (told["code"], told["close"]) == (code, True)
        assert client.until(event="link", state="down")["code"] == close
        client.until(event="reconciled")
    generations = [line["generation"] for line in client.said(event="link", state="up")]
    assert generations == [2, 3]
    start(server, run=run, input={"argv": ["true"]})
    assert outcome(server, run) == ("succeeded", 0)


def test_a_gap_in_the_events(fake: Start, genuine: Start, run: str) -> None:
    """An event that leaves one out is not journaled; the server compares, and goes on."""
    server, address = start_server(fake)
    client = start_client(genuine, address)
    up(server, client)
    start(server, run=run, input={"line": "read x; echo got $x"}, interactive=True)
    client.until(event="started")
    client.tell("skip", run=run)
    assert client.until(event="error")["code"] == "OUT_OF_ORDER"
    client.until(event="reconciled")
    server.ask("send", run=run, text="it", newline=True)
    assert output(server, run) == b"got it\n"


def test_the_same_client_twice(fake: Start, genuine: Start) -> None:
    """The newest link of an instance wins; another instance is refused while the first lives, and
    taken when it is gone."""
    server, address = start_server(fake)
    first = start_client(genuine, address)
    up(server, first)
    other = start_client(genuine, address, "-instance", "go-2")
    assert other.until(event="error")["code"] == "CLIENT_ID_IN_USE"
    assert other.until(event="link", state="down")["code"] == 1008
    second = start_client(genuine, address)
    assert first.until(event="error")["code"] == "SUPERSEDED"
    assert first.until(event="link", state="down")["code"] == 4002
    assert first.until(event="final")
    second.until(event="reconciled")
    second.kill()
    other.until(event="reconciled")


def test_a_host_that_was_made_anew(fake: Start, genuine: Start, run: str) -> None:
    """What another instance of a client had begun is lost, for nobody can know of it."""
    server, address = start_server(fake)
    first = start_client(genuine, address)
    up(server, first)
    start(server, run=run, input={"argv": ["sleep", "1000"]})
    first.until(event="started")
    server.ask("follow", run=run)
    server.until(type="RunStarted")
    first.kill()
    start_client(genuine, address, "-instance", "go-2").until(event="reconciled")
    assert outcome(server, run)[0] == "lost"


def test_tokens(fake: Start, genuine: Start) -> None:
    """A token names its client: another token is refused before the upgrade, another id behind
    it."""
    server, address = start_server(fake, "--token", "secret=host-1")
    client = start_client(genuine, address, "-token", "secret")
    up(server, client)
    wrong = start_client(genuine, address, "-token", "wrong")
    assert "401" in wrong.until(event="final")["why"]
    other = genuine("client", "-at", address, "-id", "host-2", "-token", "secret")
    assert other.until(event="error")["code"] == "UNAUTHENTICATED"
    assert other.until(event="link", state="down")["code"] == 1008
    assert other.until(event="final")
    assert other.said(event="link", state="up") == []


@pytest.mark.parametrize("mutual", [False, True], ids=["tls", "mtls"])
def test_a_client_over_tls(
    fake: Start, genuine: Start, papers: Papers, run: str, mutual: bool
) -> None:
    """A client over TLS; where we want a certificate, none or a strange one is kept out."""
    own = ["--tls-cert", papers.server[0], "--tls-key", papers.server[1]]
    wanted = ["--tls-ca", papers.ca] if mutual else []
    server, address = start_server(fake, *own, *wanted, scheme="wss")
    pair = papers.client if mutual else None
    client = start_client(genuine, address, *tls(papers.ca, pair, "-"))
    up(server, client)
    start(server, run=run, input={"line": "echo secret"})
    assert output(server, run) == b"secret\n"
    if mutual:  # the certificate says who it is
        client = genuine("client", "-at", address, "-id", "host-2", *tls(papers.ca, pair, "-"))
        assert client.until(event="error")["code"] == "UNAUTHENTICATED"
    for wrong in (None, papers.stranger) if mutual else ():
        client = start_client(genuine, address, *tls(papers.ca, wrong, "-"))
        assert client.until(event="link", state="down")["code"] == 0
        assert client.said(event="link", state="up") == []


@pytest.mark.parametrize("wrong", ["client", "stranger"], ids=["another host", "of strangers"])
def test_a_client_that_does_not_trust_us(
    fake: Start, genuine: Start, papers: Papers, wrong: str
) -> None:
    """A client does not talk to us under another host's certificate, or a stranger's."""
    cert, key = getattr(papers, wrong)
    _, address = start_server(fake, "--tls-cert", cert, "--tls-key", key, scheme="wss")
    client = start_client(genuine, address, *tls(papers.ca, prefix="-"))
    assert "certificate" in client.until(event="link", state="down")["why"]
