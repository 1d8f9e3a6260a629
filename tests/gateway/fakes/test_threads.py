"""Fakes in threads of their own: for tests without a loop, and beside one that runs."""

from __future__ import annotations

import tempfile
import threading
import unittest
from pathlib import Path

import pytest

from fleetgate.gateway import fakes
from fleetgate.gateway.fakes import BadOption, CannotStart, NotOpen, threads
from fleetgate.gateway.fakes.roles import Controller, Worker
from fleetgate.gateway.fakes.threads import AgencyClient, AgencyDaemon

HANG = [{"match": ".", "do": [{"hang": True}]}]


def test_several_are_open_at_once_and_leave_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with (
        AgencyDaemon(socket=tmp_path / "s", script=HANG) as daemon,
        AgencyClient(socket=tmp_path / "s") as client,
        threads.RvboxServer() as server,
    ):
        client.start("r", {"prompt": "x"})
        run = daemon.expect("run", type="RunStarted")["run"]
        daemon.emit(run, {"text": "hi"}, {"finish": {"exit": 3}})
        types = [event["type"] for event in client.follow("r")]
        assert types[-2:] == ["TextProduced", "RunFinished"]
        assert client.wait("r")["state"] == "failed"
        assert client.frames[0].name == "hello"
        assert daemon.runs[0]["run"] == run
        assert daemon.events[0]["event"] == "ready"
        assert server.address.startswith("ws://")
        assert server.workers() == []
    assert set(threading.enumerate()) <= before  # trio's own of an earlier test may have ended


def test_a_fake_that_cannot_start_says_so_and_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with AgencyDaemon(socket=tmp_path / "s"):
        with pytest.raises(CannotStart, match="another process is already listening"):
            AgencyDaemon(socket=tmp_path / "s").__enter__()
        with pytest.raises(TypeError):
            AgencyDaemon(sokcet=tmp_path)  # type: ignore[call-arg]
    assert set(threading.enumerate()) <= before  # trio's own of an earlier test may have ended


def test_it_is_used_inside_its_block_and_closed_as_often_as_one_likes(tmp_path: Path) -> None:
    client = AgencyClient(socket=tmp_path / "s")
    client.close()
    with pytest.raises(NotOpen, match="was not entered yet"):
        client.workers()
    with client:
        client.close()
        with pytest.raises(NotOpen, match="is closed"):
            client.workers()
    with pytest.raises(NotOpen, match="make another one"):
        client.__enter__()


def test_whoever_waits_while_it_is_closed_is_told(tmp_path: Path) -> None:
    raised: list[BaseException] = []
    client = AgencyClient(socket=tmp_path / "s")

    def wait() -> None:
        with pytest.raises(NotOpen) as gone:
            client.expect("link", within=60)
        raised.append(gone.value)

    with client:
        waiting = threading.Thread(target=wait)
        waiting.start()
        client.start("r", {"prompt": "x"})
    waiting.join(120)
    assert len(raised) == 1


def test_a_fault_of_its_own_is_raised_where_it_is_closed(tmp_path: Path) -> None:
    client = AgencyClient(socket=tmp_path / "s").__enter__()

    async def fail() -> None:
        _, small = client.fake._opened()
        small.nursery.start_soon(raising)

    async def raising() -> None:
        raise KeyError("its own")

    client.ask(fail)
    with pytest.raises(ExceptionGroup) as raised:
        client.close()
    assert raised.group_contains(KeyError, match="its own")


def test_each_is_a_type_that_says_what_it_is(tmp_path: Path) -> None:
    """So that a test may name it in an annotation, and is told by an assertion what it has."""
    daemon = threads.AgencyDaemon(socket=tmp_path / "s")
    assert isinstance(daemon, threads.AgencyDaemon)
    assert repr(daemon) == f"<agency-daemon at unix:{tmp_path}/s>"
    assert threads.AgencyDaemon.__doc__ == fakes.AgencyDaemon.__doc__
    classes = [getattr(threads, name) for name in threads.__all__ if name != "aside"]
    assert all(isinstance(each, type) for each in classes)
    with pytest.raises(BadOption, match=r"did you mean socket\?"):
        threads.AgencyDaemon(socket=tmp_path / "s", sokcet="x")  # type: ignore[call-arg]


def test_every_method_is_there() -> None:
    for ours, theirs in (
        (threads.Worker, Worker),
        (threads.Controller, Controller),
        (threads.ControlPlane, fakes.KodeletControlPlane),
    ):
        public = {name for name in vars(theirs) if not name.startswith("_")}
        for name in public:
            assert getattr(ours, name).__doc__, name


class Unittest(unittest.TestCase):
    """As people who have no pytest use it."""

    def test_a_run(self) -> None:
        place = Path(self.enterContext(tempfile.TemporaryDirectory()))
        daemon = self.enterContext(AgencyDaemon(socket=place / "s"))
        client = self.enterContext(AgencyClient(socket=place / "s"))
        client.start("r", {"prompt": "hello"})
        assert client.wait("r")["state"] == "succeeded"
        assert daemon.runs[0]["state"] == "succeeded"
