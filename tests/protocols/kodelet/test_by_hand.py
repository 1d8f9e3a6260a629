"""What a control plane does by hand, for a stand-in in somebody's test."""

from __future__ import annotations

from typing import Any

from fleetgate.protocols.api import NO_STEPS, Close, Steps
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
        assert connection.record().id == t.RUNNER
        assert connection.record().workspace.path == "/srv/project"
        t.register(play, id="b")
        assert connection.record().status == "connecting"
        play.receive(t.beat()).take()
        assert (connection.record().status, connection.record().incompatible) == ("idle", "")
        play.receive(t.beat("error")).take()
        assert connection.record().status == "error"


def test_w_7_5_a_runner_without_an_identity_is_not_shown() -> None:
    with t.play_control_plane() as play:
        connection: Any = play.connection
        play.opened(t.OPENING).take()
        nameless = {"path": "/srv/project", "name": " "}
        wrong = {**t.REGISTER, "protocolVersions": [2], "workspace": nameless}
        play.receive(t.ask("a", "runner.register", wrong))
        assert said(play.take())[0]["error"]["code"] == -32602
        assert (connection.record().id, connection.record().incompatible) == ("", "")


def test_w_7_3_what_was_opened_by_hand_is_lost_when_a_newer_link_takes_over() -> None:
    with t.ready(t.play_control_plane()) as play:
        connection: Any = play.connection
        hooked: list[tuple[str, str]] = []
        heard: list[str] = []

        def hear(outcome: Ended, now: int) -> Steps:
            heard.append(outcome.text)
            return NO_STEPS

        def hook(lease: Lease, now: int) -> Steps:
            hooked.append((lease.id, lease.error))
            return NO_STEPS

        def begin(leases: Leases) -> Steps:
            leases.open(RunOpen("run_x", "c1"), hear)
            return NO_STEPS

        t.running(play)
        connection.on_hook(hook)
        connection.by_hand(begin, play.now)
        play.fenced().expect(Close(None, "runner connection was replaced"))
        assert hooked == [("run_x", "runner connection was replaced")]
        assert heard == ["runner connection was replaced"]
        play.closed("x").expect()
        assert len(hooked) == 1


def test_what_runs_ask_that_were_opened_by_hand_is_seen() -> None:
    with t.ready(t.play_control_plane()) as play:
        connection: Any = play.connection
        seen: list[tuple[str, Any]] = []
        connection.proxy.watch = lambda method, call: seen.append((method, call.request))

        def begin(leases: Leases) -> Steps:
            leases.open(RunOpen("run_x", "c1"), lambda outcome, now: NO_STEPS)
            return NO_STEPS

        connection.by_hand(begin, play.now)
        t.running(play)
        for run, method in (
            ("run_x", "ui.notify"),
            ("run_x", "ui.widget.set"),
            (t.wire_id(), "ui.notify"),
            ("none", "ui.notify"),
        ):
            play.receive(t.ask(method, method, {"runId": run, "request": {"id": "q"}})).take()
        assert seen == [("ui.notify", {"id": "q"}), ("ui.widget.set", {"id": "q"})]


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
