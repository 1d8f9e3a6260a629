"""The runs that a control plane holds, opened by hand (cases 43, 45, 47, 49, and W 8.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fleetgate.protocols.api import NO_STEPS, Steps
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.lease import Ended, Lease, Then
from fleetgate.protocols.kodelet.leases import Denied, Leases
from fleetgate.protocols.kodelet.liveness import Liveness
from fleetgate.protocols.kodelet.peer import Answered, Peer
from fleetgate.protocols.kodelet.settings import ControlPlaneSettings
from fleetgate.protocols.kodelet.state import RunPhase
from fleetgate.protocols.kodelet.structs import write
from fleetgate.protocols.kodelet.testing import no, said, yes
from fleetgate.protocols.kodelet.wire import Agent, RunOpen
from fleetgate.protocols.testing import SECOND, START


class Bench:
    """Leases with an owner who writes down what he hears."""

    def __init__(self, **settings: Any) -> None:
        given = ControlPlaneSettings(**settings)
        self.peer = Peer("server", given)
        self.deadlines = Deadlines()
        self.leases = Leases(self.peer, given, self.deadlines)
        self.leases.alive = Liveness("R", 1, START, ready=True)
        self.leases.concurrent = True
        self.leases.hook = self._hooked
        self.hooked: list[Lease] = []
        self.heard: dict[str, Ended] = {}

    def _hooked(self, lease: Lease, now: int) -> Steps:
        self.hooked.append(lease)
        return NO_STEPS

    def then(self, name: str) -> Then:
        def hear(outcome: Ended, now: int) -> Steps:
            self.heard[name] = outcome
            return NO_STEPS

        return hear

    def sent(self) -> list[Any]:
        return said(self.peer.flush())

    def receive(self, *frames: bytes) -> None:
        for frame in frames:
            self.peer.receive(frame)
            while (came := self.peer.take()) is not None:
                assert isinstance(came, Answered)
                came.token(came, START)

    def open(self, run: str = "r1", conversation: str = "c1", **agent: Any) -> Lease:
        asked = RunOpen(run, conversation, Agent(**agent))
        lease = self.leases.open(asked, self.then("open"))
        (message,) = self.sent()
        assert message["method"] == "run.open"
        return lease

    def running(self, run: str = "r1", conversation: str = "c1", **members: Any) -> Lease:
        lease = self.open(run, conversation)
        made = m.read_manifest({**t.MANIFEST, "runId": run, **members})
        self.receive(yes(lease.call, write(m.sealed(made))))
        assert lease.phase is RunPhase.RUNNING
        return lease

    def later(self, seconds: float) -> None:
        now = START + round(seconds * SECOND)
        for name in self.deadlines.due(now):
            self.leases.overdue(name, now)


def test_an_open_gives_its_manifest_and_a_close_the_run_back() -> None:
    bench = Bench()
    lease = bench.running()
    assert bench.heard["open"].result is lease.manifest
    assert bench.leases.all() == (lease,)
    bench.leases.close(lease, RunPhase.SUCCEEDED, bench.then("close"))
    (closing,) = bench.sent()
    assert bench.leases.phases == {}
    bench.receive(yes(closing["id"]))
    assert bench.heard["close"] == Ended()
    assert (lease.phase, len(bench.leases)) == (RunPhase.SUCCEEDED, 0)


def _offline(leases: Leases) -> None:
    leases.alive = None


def _connecting(leases: Leases) -> None:
    leases.alive = Liveness("R", 1, START)


def _in_error(leases: Leases) -> None:
    leases.alive = Liveness("R", 1, START, ready=True, error=True)


def _one_at_a_time(leases: Leases) -> None:
    leases.concurrent = False


@pytest.mark.parametrize(
    ("change", "run", "conversation", "profile", "text"),
    [
        (_offline, "r2", "c2", "", "runner is offline"),
        (_connecting, "r2", "c2", "", "runner has not completed its initial heartbeat"),
        (_in_error, "r2", "c2", "", "runner is not available: error"),
        (_one_at_a_time, "r2", "c2", "", "runner does not support concurrent runs"),
        (None, "r2", "c1", "", "conversation already has active run r1"),
        (None, "r1", "c2", "", "run id already exists"),
        (None, "r2", "c1", "ci", "conversation environment profile is locked"),
    ],
)
def test_case_45_the_gate(
    change: Callable[[Leases], None] | None, run: str, conversation: str, profile: str, text: str
) -> None:
    bench = Bench()
    bench.running()
    if change is not None:
        change(bench.leases)
    with pytest.raises(Denied, match=text):
        bench.open(run, conversation, environment_profile=profile)
    assert bench.sent() == []


def test_case_45_two_conversations_at_once() -> None:
    bench = Bench()
    bench.running("r1", "c1")
    bench.running("r2", "c2")
    assert len(bench.leases) == 2


@pytest.mark.parametrize(
    ("answer", "phase"),
    [
        (lambda id: yes(id), RunPhase.FAILED),
        (lambda id: no(id, -32002, "gone", "run_not_active"), RunPhase.FAILED),
        (lambda id: no(id, -32002, "gone"), RunPhase.FAILED),
        (lambda id: no(id, -32603, "stuck"), RunPhase.LOST),
    ],
)
def test_case_43_a_caller_who_gives_up_an_open(answer: Any, phase: RunPhase) -> None:
    bench = Bench()
    lease = bench.open()
    bench.leases.owner_ended(lease, "context canceled", START)
    stop, closing = bench.sent()
    assert (stop["method"], closing["method"]) == ("operation.cancel", "run.close")
    bench.receive(answer(closing["id"]))
    assert lease.phase is phase
    uncertain = "runner open state is uncertain because cleanup failed: "
    assert bench.heard["open"].text.startswith(uncertain) == (phase is RunPhase.LOST)
    assert ("runner cleanup was not confirmed: stuck" in lease.error) == (phase is RunPhase.LOST)
    bench.running("r2", "c1")


def test_case_47_a_cancelled_run_is_held_and_refuses_calls() -> None:
    bench = Bench()
    lease = bench.running()
    bench.leases.cancel(lease, "context canceled", bench.then("cancel"))
    (asked,) = bench.sent()
    bench.receive(yes(asked["id"]))
    assert bench.heard["cancel"] == Ended()
    assert bench.leases.phases == {"r1": RunPhase.CANCELED}
    with pytest.raises(Denied, match="run is not active: canceled"):
        bench.leases.call(lease, "command.execute", {}, bench.then("call"))
    bench.leases.close(lease, RunPhase.CANCELED, bench.then("close"))
    bench.receive(yes(bench.sent()[0]["id"]))
    assert (lease.phase, len(bench.leases)) == (RunPhase.CANCELED, 0)


def test_case_49_a_stale_open_cannot_harm_the_successor() -> None:
    bench = Bench()
    lease = bench.open()
    stale = lease.call
    bench.leases.detach("runner connection was replaced", START)
    assert (lease.phase, lease.error) == (RunPhase.LOST, "runner connection was replaced")
    assert bench.heard["open"].text == "runner connection was replaced"
    assert bench.hooked == [lease]
    bench.leases.alive = Liveness("R", 2, START, ready=True)
    bench.receive(no(stale, -32000, "late"))
    assert bench.sent() == []
    assert lease.error == "runner connection was replaced"


def test_an_open_that_the_runner_refuses_leaves_nothing_behind() -> None:
    bench = Bench()
    lease = bench.open()
    bench.receive(no(lease.call or "server:1", -32003, "busy"))
    assert bench.heard["open"].text == "busy"
    assert (lease.phase, lease.error, len(bench.leases)) == (RunPhase.FAILED, "busy", 0)
    assert bench.sent() == []


def test_calls_have_their_outcome_and_can_be_abandoned() -> None:
    bench = Bench()
    lease = bench.running()
    first = bench.leases.call(lease, "command.execute", {"runId": "r1"}, bench.then("one"))
    second = bench.leases.call(lease, "nope", {}, bench.then("two"))
    bench.leases.abandon(first)
    bench.receive(yes(first, 1), no(second, -32601, "unknown"))
    assert set(bench.heard) == {"open", "two"}
    assert bench.heard["two"].text == "unknown"
    assert bench.sent()[-1]["params"] == {"requestId": first}


def update(sequence: int, request: str, call: str = "t1", run: str = "r1") -> wire.ToolUpdate:
    return wire.ToolUpdate(run, call, request, sequence)


def test_updates_are_told_to_whoever_called_and_only_newer_ones() -> None:
    bench = Bench()
    lease = bench.running()
    seen: list[int] = []

    def told(each: wire.ToolUpdate) -> Steps:
        seen.append(each.sequence)
        return NO_STEPS

    asked = wire.ToolExecute("r1", "t1", "bash", {})
    id = bench.leases.execute(lease, asked, bench.then("tool"), told)
    assert bench.sent()[0]["params"]["wantUpdates"] is True
    with pytest.raises(Denied, match="tool call id is already active for this run"):
        bench.leases.execute(lease, asked, bench.then("again"), told)
    for each in (
        update(2, id),
        update(1, id),
        update(0, id),
        update(3, "server:9"),
        update(3, id, call="t2"),
        update(3, id, run="other"),
        update(7, id),
    ):
        bench.leases.update(each)
    assert seen == [2, 7]
    bench.receive(yes(id, {}))
    bench.leases.update(update(8, id))
    assert seen == [2, 7]
    again = bench.leases.execute(lease, asked, bench.then("again"), told)
    bench.leases.abandon(again)
    bench.leases.update(update(9, again))
    assert seen == [2, 7]


def test_case_57_updates_are_not_wanted_where_there_are_none_or_nobody_listens() -> None:
    bench = Bench()
    lease, other = bench.running(capabilities={}), bench.running("r2", "c2")
    asked = wire.ToolExecute("r1", "t1", "bash", {})
    bench.leases.execute(lease, asked, bench.then("a"), lambda each: NO_STEPS)
    bench.leases.execute(other, asked, bench.then("b"))
    assert ["wantUpdates" in each["params"] for each in bench.sent()[-2:]] == [False, False]


# --- the lease watchdog (W 8.5)


@pytest.mark.parametrize(
    ("answer", "phase"),
    [
        (lambda id: yes(id), RunPhase.CANCELED),
        (lambda id: no(id, -32002, "gone", "run_not_active"), RunPhase.CANCELED),
        (lambda id: no(id, -32603, "stuck"), RunPhase.LOST),
    ],
)
def test_w_8_5_a_run_whose_owner_is_gone_is_cancelled_and_closed(
    answer: Any, phase: RunPhase
) -> None:
    bench = Bench()
    lease = bench.running()
    bench.leases.owner_ended(lease, "the turn ended", START)
    bench.later(9.9)
    assert (bench.sent(), lease.phase) == ([], RunPhase.RUNNING)
    bench.later(10)
    (cancel,) = bench.sent()
    assert cancel["method"] == "run.cancel"
    assert cancel["params"] == {"runId": "r1", "reason": "control-plane run lease expired"}
    assert bench.hooked == [lease]
    bench.receive(no(cancel["id"], -32000))
    (closing,) = bench.sent()
    bench.receive(answer(closing["id"]))
    text = "control-plane run context ended without run.close: the turn ended"
    assert lease.error.startswith(text)
    assert ("; runner cleanup was not confirmed: stuck" in lease.error) == (phase is RunPhase.LOST)
    assert (lease.phase, len(bench.leases)) == (phase, 0)


def test_w_8_5_a_runner_that_confirms_nothing_has_one_budget_for_both() -> None:
    bench = Bench(lease_grace=1, cleanup_timeout=2)
    lease = bench.running()
    bench.leases.owner_ended(lease, "gone", START)
    bench.later(1)
    bench.receive(yes(bench.sent()[0]["id"]))
    bench.later(3)
    assert lease.phase is RunPhase.LOST
    assert lease.error.endswith("context deadline exceeded")


def test_w_8_5_an_owner_who_closes_in_time_is_not_watched_any_more() -> None:
    bench = Bench()
    lease = bench.running()
    bench.leases.owner_ended(lease, "gone", START)
    bench.leases.close(lease, RunPhase.SUCCEEDED, bench.then("close"))
    bench.later(10)
    (closing,) = bench.sent()
    bench.receive(yes(closing["id"]))
    bench.leases.owner_ended(lease, "again", START)
    bench.later(30)
    assert (lease.phase, bench.sent()) == (RunPhase.SUCCEEDED, [])


# --- what happens unasked


def test_a_broken_environment_fails_a_run_that_stays_held_and_stays_failed() -> None:
    bench = Bench()
    lease = bench.running()
    bench.leases.environment_error(wire.EnvironmentReport("r1", "broke"), START)
    bench.leases.environment_error(wire.EnvironmentReport("r1", "again"), START)
    bench.leases.environment_error(wire.EnvironmentReport("other", "x"), START)
    assert (lease.phase, lease.error, bench.hooked) == (RunPhase.FAILED, "broke", [lease])
    bench.leases.close(lease, RunPhase.SUCCEEDED, bench.then("close"))
    bench.receive(yes(bench.sent()[0]["id"]))
    assert lease.phase is RunPhase.FAILED


def test_a_run_that_fails_while_it_opens_is_closed_once_its_manifest_has_come() -> None:
    bench = Bench()
    lease = bench.open()
    bench.leases.environment_error(wire.EnvironmentReport("r1", "broke"), START)
    bench.receive(yes(lease.call, {}))
    (closing,) = bench.sent()
    bench.receive(yes(closing["id"]))
    assert (bench.heard["open"].text, lease.phase) == ("broke", RunPhase.FAILED)


def test_a_run_that_is_missing_is_lost_and_nothing_is_sent() -> None:
    bench = Bench(omissions=2)
    lease = bench.running()
    bench.leases.missing("r1", START)
    assert lease.phase is RunPhase.LOST
    assert lease.error == "runner stopped reporting active run for 2 consecutive heartbeats"
    assert (bench.sent(), bench.hooked) == ([], [lease])


def test_whoever_waits_for_a_close_hears_of_the_link_s_end() -> None:
    bench = Bench()
    lease = bench.running()
    bench.leases.close(lease, RunPhase.SUCCEEDED, bench.then("close"))
    bench.leases.detach("", START)
    assert bench.heard["close"].text == "runner is offline"
    assert lease.error == ""


def test_leases_that_are_another_link_s_are_forgotten() -> None:
    bench = Bench()
    bench.running()
    (lease,) = bench.leases.all()
    bench.leases.forget(lease)
    assert bench.leases.detach("x", START) == []
    assert bench.leases.get("r1") is None
    bench.leases.overdue("cleanup r1", START)
    assert bench.hooked == []


def test_the_gate_asks_whoever_knows_more_and_last() -> None:
    bench = Bench()
    bench.running()
    bench.leases.forbids = lambda asked: f"{asked.run_id} is known"
    for run, conversation, why in (("r9", "c1", "already has active run"), ("r9", "c9", "r9 is")):
        with pytest.raises(Denied, match=why):
            bench.leases.open(RunOpen(run, conversation), bench.then("open"))


def test_w_9_1_a_conversation_that_is_bound_elsewhere_is_told_so_before_that_nobody_is_there() -> (
    None
):
    bench = Bench()
    bench.leases.affinities.bind(RunOpen("r", "c1"), "another")
    bench.leases.detach("gone", START)
    for conversation, why in (("c1", "is bound to runner another"), ("c2", "runner is offline")):
        with pytest.raises(Denied, match=why):
            bench.leases.open(RunOpen("r1", conversation), bench.then("open"))


def test_whoever_waits_no_longer_for_a_close_does_not_know_how_it_went() -> None:
    bench = Bench()
    lease = bench.running()
    bench.sent()
    bench.leases.close(lease, RunPhase.SUCCEEDED, bench.then("close"))
    bench.leases.give_up(lease, "context canceled", START)
    assert [each["method"] for each in bench.sent()] == ["run.close", "operation.cancel"]
    assert bench.heard["close"].text == "runner cleanup was not confirmed: context canceled"
    assert lease.phase is RunPhase.LOST
    assert bench.leases.get(lease.id) is None
