"""What a control plane does by hand, for a stand-in in somebody's test."""

from __future__ import annotations

from typing import Any

from fleetgate.protocols.api import NO_STEPS, Steps
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.lease import Ended, Lease
from fleetgate.protocols.kodelet.leases import Leases
from fleetgate.protocols.kodelet.structs import write
from fleetgate.protocols.kodelet.testing import said, tell, yes
from fleetgate.protocols.kodelet.wire import RunOpen


def test_a_connection_does_by_hand_what_no_order_of_the_core_asks_for() -> None:
    with t.ready(t.play_control_plane()) as play:
        connection: Any = play.connection
        hooked: list[str] = []
        heard: list[Ended] = []

        def hear(outcome: Ended, now: int) -> Steps:
            heard.append(outcome)
            return NO_STEPS

        def hook(lease: Lease, now: int) -> Steps:
            hooked.append(lease.error)
            return NO_STEPS

        def begin(leases: Leases) -> Steps:
            leases.open(RunOpen("run_x", "c1"), hear)
            return NO_STEPS

        connection.on_hook(hook)
        connection.proxy.stand_in = lambda method, call: wire.UiResponse("submitted", "answer")
        (opening,) = said(connection.by_hand(begin, play.now))
        assert connection.record().status == "busy"
        made = m.read_manifest({**t.MANIFEST, "runnerId": t.RUNNER, "runId": "run_x"})
        play.receive(yes(opening["id"], write(m.sealed(made)))).expect()
        assert isinstance(heard[0].result, m.Manifest)
        play.receive(t.ask("u", "ui.input", {"runId": "run_x", "request": {"title": "?"}}))
        assert said(play.take())[0]["result"] == {"status": "submitted", "value": "answer"}
        record = connection.record()
        assert (record.id, record.runs, record.workspace.path) == (
            t.RUNNER,
            ("run_x",),
            "/srv/project",
        )
        play.receive(tell("runner.goodbye")).take()
        assert hooked == [""]
        assert connection.record().status == "offline"


def test_what_a_runner_is_shown_as() -> None:
    with t.play_control_plane() as play:
        connection: Any = play.connection
        play.opened(t.OPENING).take()
        play.receive(t.ask("a", "runner.register", {**t.REGISTER, "protocolVersions": [2]})).take()
        assert connection.record().status == "incompatible"
        t.register(play, id="b")
        assert connection.record().status == "connecting"
        play.receive(t.beat()).take()
        assert (connection.record().status, connection.record().incompatible) == ("idle", "")
        play.receive(t.beat("error")).take()
        assert connection.record().status == "error"


def test_without_a_stand_in_nobody_is_there_for_a_run_that_was_opened_by_hand() -> None:
    with t.ready(t.play_control_plane()) as play:
        connection: Any = play.connection

        def begin(leases: Leases) -> Steps:
            leases.open(RunOpen("run_x", "c1"), lambda outcome, now: NO_STEPS)
            return NO_STEPS

        connection.by_hand(begin, play.now)
        play.receive(t.ask("u", "ui.select", {"runId": "run_x", "request": {"title": "?"}}))
        assert said(play.take())[0]["result"] == {
            "status": "unavailable",
            "reason": "web ui selection is not available",
        }


def test_whoever_waits_for_something_by_hand_hears_of_the_link_s_end() -> None:
    with t.ready(t.play_control_plane()) as play:
        connection: Any = play.connection
        heard: list[str] = []

        def hear(outcome: Ended, now: int) -> Steps:
            heard.append(outcome.text)
            return NO_STEPS

        def begin(leases: Leases) -> Steps:
            lease = leases.open(RunOpen("run_x", "c1"), hear)
            leases.cancel(lease, "stop", hear)
            return NO_STEPS

        connection.by_hand(begin, play.now)
        play.closed("cut").expect()
        assert heard == ["the link to the runner ended: cut"] * 2
