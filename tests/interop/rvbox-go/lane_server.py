"""A server in Go, and a client of ours under it, which really executes."""

from __future__ import annotations

import base64
import hashlib
import os
import uuid
from pathlib import Path

import attrs
import pytest
from peers import Line, Peer, Start, settings
from staging import Papers, tls

LONG = "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done; echo end >&2; exit 3"
SAID = b"".join(b"line %d\n" % each for each in range(300))


@attrs.frozen
class Pair:
    """A server in Go, and a client of ours."""

    server: Peer
    client: Peer
    folder: Path

    def up(self) -> Line:
        """Wait until they have compared what they have."""
        return self.server.until(event="reconciled", client="host-1")

    def start(self, run: str, **how: object) -> None:
        self.server.tell("start", run=run, client="host-1", **how)

    def events(self, run: str) -> list[Line]:
        """All that came of a run, in order, to its end; each event once."""
        found: list[Line] = []
        while True:
            line = self.server.until(run=run)
            if line["event"] == "finished":
                return [*found, line]
            if "seq" in line and line["event"] not in ("again", "gap"):
                found.append(line)
                assert line["seq"] == len(found)

    def stop(self, run: str) -> Line:
        return self.server.until(event="finished", run=run)


def output(events: list[Line], stream: str = "STDOUT") -> bytes:
    """What a run has said; each chunk says where it stands."""
    said = b""
    for line in events:
        if line["event"] == "output" and line["stream"] == stream:
            assert line["offset"] == len(said)
            said += base64.b64decode(line["data_base64"])
    return said


def lifecycles(events: list[Line]) -> list[str]:
    """Where a command has been; one that stays where it is may say so again."""
    told = [line["lifecycle"] for line in events if line["event"] == "lifecycle"]
    return list(dict.fromkeys(told))


@pytest.fixture
def pair(fake: Start, genuine: Start, tmp_path: Path) -> Pair:
    server = genuine("server")
    address = server.until(event="ready")["address"]
    words = ("--connect", address, "--client-id", "host-1", "--state", str(tmp_path / "state"))
    many = ("--max-running", "2", "--max-queued", "4")
    client = fake("rvbox-client", *words, "--exec", *many, *settings(ping_every=1))
    made = Pair(server, client, tmp_path)
    made.up()
    return made


def test_a_session_and_a_command(pair: Pair, run: str) -> None:
    """A client says who it is, is given a command, and tells of it event by event."""
    hello = pair.server.until(event="hello")
    assert (hello["client"], hello["cwd"]) == ("host-1", os.getcwd())
    assert hello["instance"]
    assert hello["shells"] > 0
    assert pair.server.until(event="link", state="up")["subprotocol"] == "rvbox.v1"
    pair.start(run, line=LONG)
    assert pair.server.until(event="accepted", run=run)["accepted"]
    events = pair.events(run)
    assert lifecycles(events) == ["QUEUED", "RUNNING"]
    assert output(events) == SAID
    assert output(events, "STDERR") == b"end\n"
    assert (events[-1]["state"], events[-1]["lifecycle"], events[-1]["exit"]) == (
        "ended",
        "EXITED",
        3,
    )


def test_input(pair: Pair, run: str) -> None:
    """Input goes to the program in order and is acknowledged; a gap in it is told."""
    pair.start(run, argv=["cat"], stdin=True)
    pair.server.until(event="lifecycle", run=run, lifecycle="RUNNING")
    pair.server.tell("gap", run=run)
    error = pair.server.until(event="error")
    assert (error["code"], error["close"]) == ("OUT_OF_ORDER", False)
    assert error["text"].startswith(f"{run}: ")
    pair.server.tell("send", run=run, text="añ", newline=True)
    pair.server.tell("send", run=run, text="b")
    pair.server.tell("close_input", run=run)
    acks: list[int] = []
    said = b""
    while not acks or acks[-1] < 3 or said != "añ\nb".encode():
        line = pair.server.until(run=run)
        if line["event"] == "stdin_ack":
            acks.append(line["through"])
        if line["event"] == "output":
            said += base64.b64decode(line["data_base64"])
    assert acks == sorted(acks)
    assert pair.stop(run)["exit"] == 0


@pytest.mark.parametrize("signal", ["terminate", "kill", "interrupt", "hangup"])
def test_signals(pair: Pair, run: str, signal: str) -> None:
    """A signal ends the program's group: CANCELED, and by which signal."""
    pair.start(run, line="sleep 1000 & wait")
    pair.server.until(event="lifecycle", run=run, lifecycle="RUNNING")
    pair.server.tell("signal", run=run, signal=signal)
    end = pair.stop(run)
    assert end["lifecycle"] == "CANCELED"
    names = {"terminate": "SIGTERM", "kill": "SIGKILL", "interrupt": "SIGINT", "hangup": "SIGHUP"}
    assert end["signal"] == names[signal]


def test_a_timeout(pair: Pair, run: str) -> None:
    """A command that takes too long is TIMED_OUT."""
    pair.start(run, argv=["sleep", "1000"], timeout_ms=300)
    assert pair.stop(run)["lifecycle"] == "TIMED_OUT"


@pytest.mark.parametrize("size", [10, 200_000], ids=["short", "long"])
def test_scripts(pair: Pair, run: str, size: int) -> None:
    """A script is asked for, uploaded, checked and executed with its arguments."""
    script = f"#!/bin/sh\n# {'x' * size}\necho $1-$2; exit 4\n"
    pair.start(run, script=script, argv=["a b", "c"])
    events = pair.events(run)
    assert lifecycles(events) == ["AWAITING_SCRIPT", "QUEUED", "RUNNING"]
    assert output(events) == b"a b-c\n"
    assert events[-1]["exit"] == 4


def test_a_program_that_is_not_there(pair: Pair, run: str) -> None:
    """What cannot be started has an exit all the same."""
    pair.start(run, argv=["/no/such/program"])
    assert pair.stop(run)["lifecycle"] == "FAILED_TO_START"


def test_more_than_it_can_run(pair: Pair) -> None:
    """Capacity is told as it changes: all commands come through, each executed once."""
    marks = pair.folder / "marks"
    runs = [str(uuid.uuid4()) for _ in range(20)]
    for each in runs:
        pair.start(each, line=f"echo {each} >> {marks}; sleep 0.05")
    for each in runs:
        assert pair.stop(each)["exit"] == 0
    assert sorted(marks.read_text().split()) == sorted(runs)


def test_the_same_dispatch_again(pair: Pair, run: str) -> None:
    """A dispatch that comes again is accepted again and executed once; another request under its
    id is a conflict."""
    marks = pair.folder / "marks"
    pair.start(run, line=f"echo x >> {marks}; read y", stdin=True)
    pair.server.until(event="lifecycle", run=run, lifecycle="RUNNING")
    assert pair.server.until(event="accepted", run=run)["accepted"]
    pair.server.tell("again", run=run)
    assert pair.server.until(event="accepted", run=run)["accepted"]
    pair.server.tell("other", run=run)
    told = pair.server.until(event="accepted", run=run)
    assert (told["accepted"], told["code"]) == (False, "CONFLICT")
    pair.server.tell("close_input", run=run)
    pair.stop(run)
    assert marks.read_text() == "x\n"


def test_a_stale_envelope(pair: Pair, run: str) -> None:
    """An envelope of the session before: STALE_SESSION, 4001, and a new session."""
    pair.start(run, argv=["true"])
    pair.stop(run)
    pair.server.tell("stale", client="host-1", run=run)
    error = pair.server.until(event="error")
    assert (error["code"], error["close"]) == ("STALE_SESSION", True)
    assert pair.server.until(event="link", state="down")["code"] == 4001
    pair.up()


def test_a_comparison_in_mid_session(pair: Pair, run: str) -> None:
    """A reconcile request in the middle of a session is answered, and nothing is lost by it."""
    pair.start(run, line=LONG)
    for _ in range(3):
        pair.server.tell("ask", client="host-1")
        pair.up()
    assert output(pair.events(run)) == SAID


GREETING = (
    ("in", "client_hello"),
    ("out", "server_welcome"),
    ("out", "reconcile_request"),
    ("in", "reconcile_snapshot"),
    ("out", "reconcile_result"),
)
WORK = (
    ("out", "command_dispatch"),
    ("in", "command_accepted"),
    ("in", "command_event"),
    ("out", "event_ack"),
    ("out", "stdin_write"),
    ("out", "close_stdin"),
    ("in", "client_capacity"),
)
CUTS = [(*each, before) for each in (*GREETING, *WORK) for before in (True, False)]


@pytest.mark.parametrize("at", CUTS, ids=lambda at: "-".join(map(str, at)))
def test_a_cut_in_every_phase(pair: Pair, run: str, at: tuple[str, str, bool]) -> None:
    """Wherever the link is cut, a command is executed once and all it said comes once."""
    marks = pair.folder / "marks"
    pair.server.tell("cut", dir=at[0], payload=at[1], before=at[2])
    pair.server.until(event="armed")
    pair.start(run, line=f"echo x >> {marks}; read x; cat; echo got $x; {LONG}", stdin=True)
    pair.server.tell("send", run=run, text="it", newline=True)
    pair.server.tell("close_input", run=run)
    if at[:2] in GREETING:
        pair.server.tell("drop", client="host-1")
    pair.server.until(event="cut")
    events = pair.events(run)
    assert output(events) == b"got it\n" + SAID
    assert events[-1]["exit"] == 3
    assert marks.read_text() == "x\n"


@pytest.mark.parametrize("before", [True, False])
def test_a_cut_at_a_signal(pair: Pair, run: str, before: bool) -> None:
    """A signal on which the link is cut may be lost; said again, it ends the command."""
    pair.start(run, line="sleep 1000 & wait")
    pair.server.until(event="lifecycle", run=run, lifecycle="RUNNING")
    pair.server.tell("cut", dir="out", payload="signal_command", before=before)
    pair.server.until(event="armed")
    pair.server.tell("signal", run=run, signal="terminate")
    pair.server.until(event="cut")
    pair.up()
    pair.server.tell("signal", run=run, signal="interrupt")
    end = pair.stop(run)
    assert end["lifecycle"] == "CANCELED"
    assert end["signal"] in (("SIGINT",) if before else ("SIGINT", "SIGTERM"))


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("skip", [0, 1, 3])
def test_a_cut_in_an_upload(pair: Pair, run: str, skip: int, before: bool) -> None:
    """An upload that is cut starts again from its beginning."""
    name, skipped = ("script_commit", 0) if skip == 3 else ("script_chunk", skip)
    pair.server.tell("cut", dir="out", payload=name, before=before, skip=skipped)
    pair.server.until(event="armed")
    script = f"#!/bin/sh\n# {'x' * 150_000}\nsha256sum < $0\n"
    pair.start(run, script=script)
    pair.server.until(event="cut")
    assert (
        output(pair.events(run)).split()[0] == hashlib.sha256(script.encode()).hexdigest().encode()
    )


def test_a_client_that_ends_and_comes_back(pair: Pair, fake: Start, run: str) -> None:
    """What a daemon had started when it ended is LOST, and told with the next seq."""
    pair.start(run, line="echo begun; sleep 1000")
    pair.server.until(event="output", run=run)
    pair.client.kill()
    pair.server.until(event="link", state="down")
    fake(*pair.client.words[5:])
    end = pair.stop(run)
    assert end["lifecycle"] == "LOST"


@pytest.mark.parametrize("mutual", [False, True], ids=["tls", "mtls"])
def test_a_server_over_tls(
    fake: Start, genuine: Start, papers: Papers, tmp_path: Path, run: str, mutual: bool
) -> None:
    """A server over TLS; where it wants a certificate, ours is shown: there is no link without."""
    wanted = ["-ca", papers.ca] if mutual else []
    server = genuine("server", "-cert", papers.server[0], "-key", papers.server[1], *wanted)
    address = server.until(event="ready")["address"]
    state = str(tmp_path / "state")
    words = ("--connect", address, "--client-id", "host-1", "--state", state, "--exec")
    for wrong in (None, papers.stranger) if mutual else ():
        kept_out = fake("rvbox-client", *words, *tls(papers.ca, wrong), "--log-level", "info")
        kept_out.until_true(lambda kept=kept_out: "dial_retrying" in kept.errors, "it is kept out")
        assert server.said(event="hello") == []
        kept_out.kill()
    fake("rvbox-client", *words, *tls(papers.ca, papers.client if mutual else None))
    server.until(event="reconciled", client="host-1")
    server.tell("start", run=run, client="host-1", argv=["echo", "secret"])
    server.until(event="finished", run=run)
    (said,) = server.said(event="output", run=run)
    assert base64.b64decode(said["data_base64"]) == b"secret\n"


@pytest.mark.parametrize("wrong", ["client", "stranger"], ids=["another host", "of strangers"])
def test_a_server_that_we_do_not_trust(
    fake: Start, genuine: Start, papers: Papers, tmp_path: Path, wrong: str
) -> None:
    """A server under another host's certificate, or a stranger's, is not talked to."""
    cert, key = getattr(papers, wrong)
    server = genuine("server", "-cert", cert, "-key", key)
    address = server.until(event="ready")["address"]
    words = ("--connect", address, "--client-id", "host-1", "--state", str(tmp_path / "state"))
    client = fake("rvbox-client", *words, *tls(papers.ca), "--log-level", "info")
    client.until_true(lambda: "certificate" in client.errors, "it does not trust the server")
    assert server.said(event="hello") == []
