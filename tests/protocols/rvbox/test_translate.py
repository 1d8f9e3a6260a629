import uuid

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core import errors
from fleetgate.core.ids import RunId
from fleetgate.core.routing import OPERATOR
from fleetgate.core.testing import specs as core_specs
from fleetgate.core.worker import InputKind
from fleetgate.protocols.rvbox import limits, translate
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.testing import UUID, make_hello, specs
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

RUN = RunId(UUID)
LINE = c.RunSpec(c.ShellCommand(line="make", shell="bash", cwd="/src"))


def test_a_run_id_that_is_a_uuid_is_the_issue_uuid_and_any_other_derives_one() -> None:
    gui = c.Origin("gui", UUID)
    assert translate.issue_uuid(RUN, gui) == UUID
    derived = translate.issue_uuid(RunId(f"gui/{UUID}"), gui)
    assert limits.is_uuid(derived)
    assert derived != UUID
    assert derived == translate.issue_uuid(RunId(f"gui/{UUID}"), gui)
    assert uuid.UUID(derived).version == 5
    assert translate.issue_uuid(RunId(UUID.upper()), gui) != UUID


def test_i12_an_operators_name_may_be_the_issue_uuid_and_a_peers_may_not() -> None:
    assert translate.OPERATOR == OPERATOR
    run = RunId(f"{OPERATOR}/{UUID}")
    assert translate.issue_uuid(run, c.Origin(OPERATOR, UUID)) == UUID
    assert run in translate.runs_of(UUID)
    other = RunId(f"{OPERATOR}/nightly")
    assert uuid.UUID(translate.issue_uuid(other, c.Origin(OPERATOR, "nightly"))).version == 5


def test_a_spec_becomes_a_request_member_by_member() -> None:
    spec = attrs.evolve(
        LINE, environment={"A": "1"}, timeout=5, expires=9, interactive=True, workspace=("/w",)
    )
    dispatch = translate.to_dispatch(RUN, spec, 7)
    assert (dispatch.issue_uuid, dispatch.issue_time, dispatch.queue_expiry_time) == (UUID, 7, 9)
    assert dispatch.spec == w.ExecutionSpec(
        "make", w.ShellType.BASH, "/src", {"A": "1"}, timeout=5, open_stdin=True
    )
    assert len(dispatch.immutable_request_sha256) == 32


def test_the_same_run_makes_the_same_digest_again_and_another_spec_another() -> None:
    one = translate.to_dispatch(RUN, LINE, 7).immutable_request_sha256
    assert translate.to_dispatch(RUN, LINE, 7).immutable_request_sha256 == one
    assert translate.to_dispatch(RUN, LINE, 8).immutable_request_sha256 != one
    other = attrs.evolve(LINE, timeout=1)
    assert translate.to_dispatch(RUN, other, 7).immutable_request_sha256 != one


def test_the_first_workspace_is_the_directory_where_none_is_named() -> None:
    spec = c.RunSpec(c.ShellCommand(argv=("ls",)), workspace=("/a", "/b"))
    assert translate.to_dispatch(RUN, spec, 7).spec.cwd == "/a"


def test_given_stdin_needs_an_open_stdin() -> None:
    spec = c.RunSpec(c.ShellCommand(argv=("cat",), stdin=b"x"))
    assert translate.to_dispatch(RUN, spec, 7).spec.open_stdin


def test_a_queue_expiry_in_milliseconds_counts_from_the_issue_time() -> None:
    spec = attrs.evolve(LINE, native={"rvbox": {"queue_expiry_ms": 250}})
    routed = translate.with_expiry(spec, 7)
    assert translate.to_dispatch(RUN, routed, 7).queue_expiry_time == 250_000_007


def test_a_script_is_announced_and_not_sent_along() -> None:
    script = c.Script(3, bytes(32), ("-v",), b"abc")
    program = translate.to_dispatch(RUN, c.RunSpec(c.ShellCommand(script=script)), 7).spec.program
    assert program == w.ScriptRef(3, bytes(32), ("-v",))


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (c.Prompt("hi"), errors.UnsupportedInput, "adapt"),
        (c.ToolCall("ls"), errors.UnsupportedInput, "adapt"),
        (c.ShellCommand(), errors.InvalidArgument, "0 of them came"),
        (c.ShellCommand(line="a", argv=("b",)), errors.InvalidArgument, "2 of them came"),
        (c.ShellCommand(line="a", shell="fish"), errors.InvalidArgument, "'fish'"),
        (c.ShellCommand(line=""), errors.InvalidArgument, "empty"),
        (c.ShellCommand(line="x" * 131_072), errors.InvalidArgument, "131072"),
        (
            c.ShellCommand(script=c.Script(3, bytes(32))),
            errors.InvalidArgument,
            "not uploaded",
        ),
    ],
)
def test_what_a_host_cannot_be_given_is_refused(
    given: c.Input, error: type[errors.Refusal], says: str
) -> None:
    with pytest.raises(error, match=says):
        translate.to_dispatch(RUN, c.RunSpec(given), 7)


@pytest.mark.parametrize("bad", ["zz", "0a026c73", 5])
def test_a_native_part_that_is_none_is_refused(bad: object) -> None:
    spec = attrs.evolve(LINE, native={"rvbox": {"unknown": bad}})
    with pytest.raises(errors.InvalidArgument, match=r"native\.rvbox\.unknown"):
        translate.to_dispatch(RUN, spec, 7)


@given(core_specs())
def test_every_spec_is_a_request_or_a_refusal(spec: c.RunSpec) -> None:
    try:
        dispatch = translate.to_dispatch(RUN, spec, 7)
    except errors.Refusal:
        return
    assert limits.check_spec(dispatch.spec) is None


@given(specs(), st.none() | st.integers(-5, 1 << 70))
def test_a_request_survives_the_way_through_the_core(
    spec: w.ExecutionSpec, expiry: int | None
) -> None:
    if limits.check_spec(spec) is not None:
        return
    dispatch = w.CommandDispatch(UUID, 3, 7, 11, spec, expiry, immutable_request_sha256=b"h" * 32)
    run_spec = translate.to_run_spec(dispatch)
    native = translate.native_of(run_spec)
    assert (native["sha256"], native["revision"], native["issue_time"]) == ("68" * 32, 3, 11)
    assert run_spec.expires is None or 0 <= run_spec.expires <= limits.FAR
    given = run_spec.input
    assert isinstance(given, c.ShellCommand)
    if given.script is not None:
        whole = attrs.evolve(given.script, data=b"")
        run_spec = attrs.evolve(run_spec, input=attrs.evolve(given, script=whole))
    back = translate.to_dispatch(RUN, run_spec, 11)
    near = spec.timeout if spec.timeout is None else min(spec.timeout, limits.FAR)
    assert back.spec == attrs.evolve(spec, timeout=near)


def test_only_an_interactive_command_may_answer_approvals() -> None:
    for open_stdin in (True, False):
        dispatch = w.CommandDispatch(spec=w.ExecutionSpec("ls", open_stdin=open_stdin))
        assert translate.to_run_spec(dispatch, approvals=True).approvals is open_stdin
        assert not translate.to_run_spec(dispatch).approvals


def test_signals_have_their_numbers_and_no_other_number_is_one() -> None:
    for signal in c.Signal:
        assert translate.to_signal(translate.from_signal(signal)) is signal
    assert translate.to_signal(0) is None
    assert translate.to_signal(5) is None


def refusals() -> list[type[errors.Refusal]]:
    return errors.Refusal.__subclasses__()


@pytest.mark.parametrize("refusal", refusals())
def test_every_refusal_has_a_code(refusal: type[errors.Refusal]) -> None:
    error = translate.to_error(refusal("why"))
    assert error == w.ControlError(translate.REFUSALS[refusal], "why")
    assert error.code != Code.UNSPECIFIED


def test_a_code_without_a_name_is_shown_by_its_number() -> None:
    assert translate.code_name(Code.QUEUE_FULL) == "queue_full"
    assert translate.code_name(99) == "code 99"


def test_a_client_is_a_worker_that_takes_shell_commands() -> None:
    hello = make_hello(platform=77, supported_shells=(0, 2, 2, 99))
    info = translate.to_worker("hosts", hello)
    assert (info.id, info.pool, info.instance) == ("hosts/host-1", "hosts", "instance-1")
    assert info.inputs == {InputKind.SHELL}
    assert (info.numbered_input, info.enforces_timeout, info.exclusive) == (True, True, True)
    assert info.grace is None
    assert info.detail == {
        "platform": "platform 77",
        "architecture": "x86_64",
        "shells": ["default", "sh", "shell 99"],
        "daemon_version": "1.2",
        "daemon_cwd": "/home/agent",
        "max_running_commands": 2,
        "max_queued_commands": 3,
    }
