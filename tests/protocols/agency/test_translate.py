"""Requests, runs and reports, wire to core and back."""

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.events import Decision, RunState
from fleetgate.core.ids import Seq, WorkerId
from fleetgate.core.worker import AccountReport, InputKind, ProviderReport, WorkerInfo
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency.testing import REQUEST, make_run
from fleetgate.protocols.agency.translate import (
    PERMISSIONS,
    STATES,
    from_account,
    from_decision,
    from_provider,
    from_spec,
    native_of,
    program_of,
    provider_of,
    scoped,
    to_account,
    to_command,
    to_decision,
    to_provider,
    to_snapshot,
    to_spec,
    to_worker,
)

FULL = wire.RunRequest(
    "codex",
    "m",
    "hi",
    "edit",
    True,
    False,
    ("/w", "/x"),
    is_command=True,
    system="be kind",
    effort="high",
    extra_thinking=True,
    resume_session_id="s-0",
    binary="/opt/codex",
    environment={"A": "1"},
    unchecked_args=("--x", "y"),
    metadata={"projectId": "p1", "n": 1.5},
)


def test_every_member_of_a_request_has_its_place() -> None:
    assert to_spec(FULL) == c.RunSpec(
        c.Prompt("hi", "be kind", "codex", "m", "high", True),
        workspace=("/w", "/x"),
        environment={"A": "1"},
        permission="edit",
        approvals=True,
        interactive=False,
        resume="s-0",
        labels={"provider": "codex", "model": "m", "permission": "edit"},
        metadata={"projectId": "p1", "n": 1.5},
        native={
            "agency": {
                "isCommand": True,
                "binary": "/opt/codex",
                "uncheckedArgs": ("--x", "y"),
            }
        },
    )


def test_a_plain_request_keeps_nothing_to_itself() -> None:
    spec = to_spec(REQUEST)
    assert spec.native == {}
    assert spec.labels == {"provider": "claude", "permission": "plan"}


TEXT = st.text(max_size=8)
WORD = st.text(min_size=1, max_size=8)
MAYBE = st.none() | WORD


@given(
    st.builds(
        wire.RunRequest,
        WORD,
        TEXT,
        TEXT,
        st.sampled_from(sorted(set(PERMISSIONS.values()))),
        st.booleans(),
        st.booleans(),
        st.lists(TEXT, max_size=2).map(tuple),
        is_command=st.booleans(),
        system=MAYBE,
        effort=MAYBE,
        extra_thinking=st.none() | st.booleans(),
        resume_session_id=MAYBE,
        binary=MAYBE,
        environment=st.dictionaries(WORD, TEXT, max_size=2),
        unchecked_args=st.lists(TEXT, max_size=2).map(tuple),
        metadata=st.dictionaries(TEXT, st.none() | st.integers() | TEXT, max_size=2),
    )
)
def test_i10_from_one_agency_peer_to_another_nothing_is_lost(request_: wire.RunRequest) -> None:
    assert from_spec(to_spec(request_), "other", "other") == request_


@pytest.mark.parametrize("member", ["system", "effort", "resume_session_id", "binary"])
def test_an_empty_text_is_none(member: str) -> None:
    request = attrs.evolve(REQUEST, **{member: ""})
    assert from_spec(to_spec(request), "", "") == REQUEST


def test_the_two_spellings_of_read_only_are_one() -> None:
    assert to_spec(attrs.evolve(REQUEST, permission="read-only")).permission == "read_only"


def test_what_a_spec_does_not_name_is_given() -> None:
    request = from_spec(c.RunSpec(c.Prompt("hi")), "claude", "read_only")
    assert request == wire.RunRequest("claude", "", "hi", "read_only", False, False, ())


def test_what_other_protocols_leave_in_native_does_no_harm() -> None:
    for native in ("x", ["x"], {"isCommand": 1, "binary": 5, "uncheckedArgs": "abc"}, None):
        spec = c.RunSpec(c.Prompt("hi"), native={"agency": native})  # type: ignore[dict-item]
        request = from_spec(spec, "claude", "plan")
        assert (request.is_command, request.binary, request.unchecked_args) == (False, None, ())
    args = c.RunSpec(c.Prompt("hi"), native={"agency": {"uncheckedArgs": ["a", 1]}})
    assert from_spec(args, "claude", "plan").unchecked_args == ("a",)


def test_an_earlier_conversation_goes_before_the_prompt() -> None:
    prompt = c.Prompt(
        "and now?",
        messages=(
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"text": "hello"}]},
            {"content": "no role"},
            "just text",
        ),
    )
    assert from_spec(c.RunSpec(prompt), "claude", "plan").prompt == (
        'user: hi\n\nassistant: [{"text":"hello"}]\n\n{"content":"no role"}\n\n"just text"\n\n'
        "and now?"
    )


@pytest.mark.parametrize("given_", [c.ShellCommand(line="ls"), c.ToolCall("t")])
def test_only_a_prompt_is_a_request(given_: c.Input) -> None:
    with pytest.raises(UnsupportedInput, match="adapt"):
        from_spec(c.RunSpec(given_), "claude", "plan")


def test_i12_a_start_is_scoped_to_its_link() -> None:
    message = wire.StartRun("run-1", REQUEST, "k")
    command = to_command("gui", message)
    assert command.run == scoped("gui", "run-1") == "gui/run-1"
    assert command.origin == c.Origin("gui", "run-1")


def test_decisions() -> None:
    for decision in wire.ApprovalDecision:
        assert from_decision(to_decision(decision)) is decision
        assert to_decision(decision).value == decision.value
    assert from_decision(Decision.VALUE) is None


def test_every_state_has_a_name_on_the_wire_and_terminal_ones_are_terminal() -> None:
    assert set(STATES) == set(RunState)
    for ours, theirs in STATES.items():
        assert ours.terminal == (theirs in wire.TERMINAL)


def test_a_snapshot_has_the_requested_model_and_the_session_that_was_opened() -> None:
    run = make_run(
        spec=to_spec(FULL),
        state=RunState.RUNNING,
        last_seq=Seq(7),
        acknowledged=Seq(3),
        model="another",
    )
    snapshot = wire.RunSnapshot(
        "run-1",
        wire.RunState.RUNNING,
        "codex",
        "m",
        7,
        3,
        ("/w", "/x"),
        provider_session_id="s-0",
        metadata={"projectId": "p1", "n": 1.5},
    )
    assert to_snapshot(run) == snapshot
    opened = attrs.evolve(run, native_session="s-1")
    assert to_snapshot(opened) == attrs.evolve(snapshot, provider_session_id="s-1")


def test_a_run_that_is_no_prompt_has_no_provider() -> None:
    run = make_run(spec=c.RunSpec(c.ToolCall("t")))
    assert to_snapshot(run).provider == to_snapshot(run).model == provider_of(run) == ""


def test_the_program_is_the_binary_or_the_provider() -> None:
    assert program_of(make_run()) == "claude"
    assert program_of(make_run(spec=to_spec(FULL))) == "/opt/codex"
    assert native_of(to_spec(REQUEST)) == {}


REPORT: dict[str, Any] = {
    "installed": True,
    "version": "1",
    "outdated": True,
    "auth_state": "logged_in",
    "detail": "d",
    "auth_method": "m",
    "account": "a",
    "plan": "p",
    "login_hint": "h",
}


def test_reports_come_back_equal() -> None:
    for report in (ProviderReport("claude", **REPORT), ProviderReport("x", installed=False)):
        assert from_provider(to_provider(report)) == report
    for account in (
        AccountReport("codex", True, {"used": 1}),
        AccountReport("claude", False, None, "why"),
    ):
        assert from_account(to_account(account)) == account


def test_a_daemon_is_the_worker_of_its_entry() -> None:
    hello = wire.HelloAnswer("agency-proxy", wire.ProtocolVersion(0, 3), ("approvals",))
    assert to_worker("pool", hello) == WorkerInfo(
        WorkerId("pool"),
        "pool",
        frozenset({InputKind.PROMPT}),
        asks=True,
        detail={
            "server_name": "agency-proxy",
            "version": "0.3",
            "capabilities": ("approvals",),
        },
    )
