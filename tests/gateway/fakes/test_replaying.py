"""Recordings as tests: those of tests/transcripts, against fakes that play the other side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from fleetgate.gateway.fakes.fixtures import offered
from fleetgate.gateway.fakes.options import BadOption
from fleetgate.gateway.fakes.replaying import replays
from fleetgate.gateway.recording.playing import Differs
from fleetgate.gateway.recording.reading import Unusable

TRANSCRIPTS = Path(__file__).parents[2] / "transcripts"
AGENCY = TRANSCRIPTS / "agency.jsonl"
SCRIPT = TRANSCRIPTS / "script.toml"


def test_a_daemon_does_as_was_recorded() -> None:
    with offered("agency-daemon") as daemon, replays() as replay:
        daemon(script=SCRIPT)
        played = replay(AGENCY, connect=daemon.address, match_shape=True)
        assert played.finish() > 5


def test_a_daemon_that_does_otherwise_is_told_by_the_first_difference() -> None:
    with offered("agency-daemon") as daemon, replays() as replay:
        daemon(script=[{"match": ".", "do": [{"fail": "not today"}]}])
        with pytest.raises(Differs, match=r"agency\.jsonl: frame \d+ \(.*\).*: expected .*, got"):
            replay(AGENCY, connect=daemon.address, match_shape=True)


def test_a_client_is_waited_for_at_a_free_address() -> None:
    with replays() as replay:
        daemon = replay(AGENCY, match_shape=True)
        assert daemon.address.startswith("unix:")
        with offered("agency-client") as client:
            client(socket=daemon.address.removeprefix("unix:"))
            client.start(_run(), {"prompt": "summarize", "provider": "claude"})
            client.expect("run", type="RunFinished")
        assert daemon.finish() > 5


def _run() -> str:
    for line in map(json.loads, AGENCY.read_text().splitlines()):
        if line.get("name") == "start_run":
            run: str = line["message"]["run_id"]
            return run
    raise AssertionError("the recording starts no run")


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("rvbox", "ws://127.0.0.1:"),
        ("kodelet", "ws://127.0.0.1:"),
        ("iop", "grpc://127.0.0.1:"),
    ],
)
def test_a_peer_that_never_comes_is_told_when_the_test_ends(name: str, begins: str) -> None:
    def leave() -> None:
        with replays() as replay:
            begun = replay(TRANSCRIPTS / f"{name}.jsonl", timeout=0.05)
            assert begun.address.startswith(begins)

    with pytest.raises(Differs, match="expected"):
        leave()


def test_what_cannot_be_played_is_said(tmp_path: Path) -> None:
    with replays() as replay:
        for options, said in (
            ({"connect": "unix:x", "listen": "unix:y"}, "exclude each other"),
            ({"strict": True, "match_shape": True}, "exclude each other"),
            ({"side": "client"}, r"the client dialled its peer; say connect="),
            ({"side": "daemon", "connect": "unix:x"}, "was dialled by its peer; say listen="),
            ({"side": "node"}, "has no such side"),
        ):
            with pytest.raises(Unusable, match=said):
                replay(AGENCY, **options)  # type: ignore[arg-type]
        cut = tmp_path / "cut.jsonl"
        cut.write_bytes(AGENCY.read_bytes()[:2000])
        with pytest.raises(Unusable):
            replay(cut)


def test_a_test_that_fails_does_not_wait_for_its_peer() -> None:
    def fail() -> None:
        with replays() as replay:
            replay(AGENCY, timeout=60)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        fail()


def test_a_loop_is_not_held_up() -> None:
    async def main() -> None:
        with replays() as replay, pytest.raises(RuntimeError, match="await aside"):
            replay(AGENCY, connect="unix:x")

    trio.run(main)


def test_what_was_found_and_not_told_can_be_shown() -> None:
    with replays() as replay:
        begun = replay(TRANSCRIPTS / "iop.jsonl", timeout=0.05)
        assert begun.address in begun.heading()
        begun.wait_spoken()
        assert "link 1: expected a link, got nothing within 0.05 s" in begun.lines(0, False)[0]
        with pytest.raises(Differs):
            begun.finish()
        assert begun.lines(0, False) == []


def test_one_under_way_says_so() -> None:
    with replays() as replay:
        begun = replay(AGENCY, timeout=60)
        assert begun.lines(0, False) == ["it is under way; so far the peer did as was recorded"]
        assert not begun.over
        replay.give_up()


def test_a_file_may_stand_beside_the_test() -> None:
    with replays(TRANSCRIPTS) as replay, offered("agency-daemon") as daemon:
        daemon(script=SCRIPT)
        assert replay("agency.jsonl", connect=daemon.address, match_shape=True).finish() > 5
        with pytest.raises(Unusable, match=r"^nosuch\.jsonl cannot be read"):
            replay("nosuch.jsonl", connect=daemon.address)


def test_an_unknown_option_is_told_the_nearest() -> None:
    with replays() as replay, pytest.raises(BadOption, match=r"conect: .* did you mean connect\?"):
        replay(AGENCY, conect="unix:/x")  # type: ignore[call-arg]
