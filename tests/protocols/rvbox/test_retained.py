import hashlib

import attrs
import pytest
from hypothesis import given

from fleetgate.core import events as e
from fleetgate.core.commands import Prompt, RunSpec, ShellCommand
from fleetgate.core.events import Outcome, Reason, RunState
from fleetgate.core.ids import Seq
from fleetgate.core.run import evolve
from fleetgate.core.testing import histories
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.retained import (
    ANSWERS,
    BURIED,
    FORGOTTEN,
    LINES,
    Retention,
    digest_of,
    is_tombstone,
    lifecycle_of,
    make_retained,
    revision_of,
    state_of,
)
from fleetgate.protocols.rvbox.testing import (
    OTHER,
    UUID,
    happened,
    make_command,
    make_dispatch,
    make_run,
)
from fleetgate.protocols.rvbox.translate import to_run_spec
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle

OVER = {
    "state": RunState.SUCCEEDED,
    "outcome": Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0),
    "last_seq": Seq(5),
}


def scripted() -> RunSpec:
    ref = w.ScriptRef(3, hashlib.sha256(b"abc").digest())
    return to_run_spec(make_dispatch(spec=w.ExecutionSpec(ref)))


def test_a_command_is_what_its_run_says() -> None:
    run = make_command(
        state=RunState.RUNNING, inputs=2, input_closed=True, approvals=("a",), acknowledged=Seq(3)
    )
    command = make_retained(run)
    assert command is not None
    assert (command.uuid, command.digest, command.revision) == (UUID, b"h" * 32, 1)
    assert (command.open_stdin, command.on_host, command.running) == (True, True, True)
    assert (command.writes.taken, command.writes.closed) == (2, True)
    assert (command.approvals, command.acked, command.last) == (["a"], 3, 0)
    assert (command.assembly, command.lines) == (None, False)


def test_notes_count_over_what_came_first() -> None:
    notes = {"rvbox": {"revision": 4}, LINES: True, ANSWERS: {"answers": {"a": 1}}}
    command = make_retained(make_command(notes=notes, inputs=1))
    assert command is not None
    assert (command.revision, command.lines, command.writes.taken) == (4, True, 2)


def test_a_run_of_another_protocol_and_a_forgotten_one_are_not_retained() -> None:
    assert make_retained(make_run()) is None
    assert make_retained(make_command(notes={FORGOTTEN: True})) is None


@pytest.mark.parametrize("kept", ["zz", 5, None])
def test_a_digest_that_is_none_is_none(kept: object) -> None:
    spec = attrs.evolve(make_command().spec, native={"rvbox": {"sha256": kept}})
    assert digest_of(make_command(spec=spec)) is None


def test_a_run_that_was_adapted_for_an_agent_is_not_on_a_host() -> None:
    command = make_retained(make_command(routed=RunSpec(Prompt("run make"))))
    assert command is not None
    assert not command.on_host


@pytest.mark.parametrize(("open_stdin", "inputs"), [(True, 1), (False, 2)])
def test_what_a_route_feeds_the_command_is_not_the_servers(open_stdin: bool, inputs: int) -> None:
    spec = to_run_spec(make_dispatch(spec=w.ExecutionSpec("x", open_stdin=open_stdin)))
    routed = attrs.evolve(spec, input=ShellCommand(argv=("cat",), stdin=b"fed"))
    command = make_retained(make_command(spec=spec, routed=routed, inputs=inputs))
    assert command is not None
    assert command.writes.taken == 0
    assert command.writes.write_of(inputs) == 0


def test_only_a_command_that_waits_for_its_script_assembles_one() -> None:
    waiting = make_retained(make_command(spec=scripted()))
    assert waiting is not None
    assert waiting.assembly is not None
    over = make_retained(make_command(spec=scripted(), **OVER))
    assert over is not None
    assert over.assembly is None


@pytest.mark.parametrize(
    ("changes", "tombstone"),
    [
        ({}, False),
        ({**OVER, "acknowledged": Seq(4)}, False),
        ({**OVER, "acknowledged": Seq(5)}, True),
        ({"notes": {FORGOTTEN: True}}, True),
    ],
)
def test_a_tombstone_is_what_has_ended_and_was_acknowledged(
    changes: dict[str, object], tombstone: bool
) -> None:
    assert is_tombstone(make_command(**changes)) is tombstone


@pytest.mark.parametrize(
    ("changes", "lifecycle"),
    [
        ({"spec": scripted()}, Lifecycle.AWAITING_SCRIPT),
        ({}, Lifecycle.QUEUED),
        ({"state": RunState.STARTING}, Lifecycle.QUEUED),
        ({"state": RunState.WAITING}, Lifecycle.RUNNING),
        (OVER, Lifecycle.EXITED),
        ({**OVER, "outcome": Outcome(RunState.LOST, Reason.LOST)}, Lifecycle.LOST),
    ],
)
def test_a_snapshot_tells_where_a_command_is(
    changes: dict[str, object], lifecycle: Lifecycle
) -> None:
    run = make_command(**changes)
    assert lifecycle_of(run) == lifecycle
    state = state_of(run, b"d", tombstoned=False)
    assert state == w.ReconcileCommandState(UUID, lifecycle, run.last_seq, 1, False, b"d")


def test_without_any_revision_it_is_the_first() -> None:
    assert revision_of(make_run()) == 1


def test_the_figures_follow_what_happens() -> None:
    retention = Retention()
    for uuid in (UUID, OTHER):
        command = make_retained(make_command(uuid))
        assert command is not None
        retention.put(command)
    assert (retention.running, retention.queued, len(retention)) == (0, 2, 2)
    first = retention.get(UUID)
    assert first is not None
    output = e.OutputProduced(e.Stream.STDOUT, b"x")
    exit = e.RunFinished(Outcome(RunState.FAILED, Reason.EXITED))
    for recorded in happened(e.StateChanged(RunState.STARTING), output, output):
        retention.see(first, recorded)
    assert (retention.running, retention.queued) == (1, 1)
    retention.see(first, happened(exit, first=4)[0])
    assert (retention.running, retention.queued, first.last) == (0, 1, 4)
    retention.drop(first)
    retention.drop(first)
    assert (retention.running, retention.queued, len(retention)) == (0, 1, 1)
    assert retention.of(first.run) is None


@given(histories())
def test_following_a_run_comes_to_what_its_row_says(history: tuple[e.Recorded, ...]) -> None:
    run = make_command()
    followed = make_retained(run)
    assert followed is not None
    retention = Retention()
    retention.put(followed)
    for recorded in history:
        run = evolve(run, recorded.event)
        retention.see(followed, recorded)
    last = history[-1].seq if history else Seq(0)
    read = make_retained(attrs.evolve(run, last_seq=last))
    assert read is not None
    assert followed.last == read.last
    assert sorted(followed.approvals) == sorted(read.approvals) or read.last
    if not read.last:
        assert followed.running == read.running
    fresh = Retention()
    fresh.put(read)
    assert (retention.running, retention.queued) == (fresh.running, fresh.queued)


def test_bytes_of_scripts_under_way_are_counted() -> None:
    retention = Retention()
    command = make_retained(make_command(spec=scripted()))
    assert command is not None
    assert command.assembly is not None
    command.assembly.data += b"ab"
    retention.put(command)
    assert retention.script_bytes == 2


@pytest.mark.limit("protocols/rvbox/retained.BURIED")
def test_i9_so_many_that_are_done_with_are_remembered() -> None:
    kept = Retention()
    command = make_retained(make_command())
    assert command is not None
    for number in range(BURIED + 3):
        kept.bury(attrs.evolve(command, uuid=f"{number}"))
    assert len(kept.buried) == BURIED
    assert next(iter(kept.buried)) == "3"
