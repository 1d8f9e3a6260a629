import hashlib

import pytest

from fleetgate.core.commands import Prompt, RunSpec, Script, ShellCommand
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.events import RunState
from fleetgate.protocols.rvbox.assigned import DIGEST, Assigned, Standing, make_command, note_digest
from fleetgate.protocols.rvbox.testing import OTHER, UUID, make_run


def test_a_command_stands_where_the_journal_says() -> None:
    new = make_command(make_run())
    assert (new.standing, new.taken, new.running, new.revision) == (Standing.UNSENT, 0, False, 1)
    run = make_run(accepted=True, native_seq=9, state=RunState.RUNNING, inputs=3, canceling=True)
    old = make_command(run)
    assert (old.standing, old.taken, old.committed, old.acked) == (Standing.TAKEN, 9, 9, 9)
    assert (old.running, old.inputs, old.canceling) == (True, 3, True)
    assert old.dispatch == new.dispatch


def test_the_digest_is_stored_once_and_never_computed_again() -> None:
    new = make_command(make_run())
    assert not new.stored
    note = note_digest(new)
    assert new.stored
    assert (note.run, note.name) == (UUID, DIGEST)
    old = make_command(make_run(notes={note.name: note.value}, accepted=True))
    assert old.stored
    assert old.dispatch == new.dispatch
    earlier = make_command(make_run(notes={DIGEST: "ab" * 32}))
    assert earlier.dispatch.immutable_request_sha256 == b"\xab" * 32
    for bad in (5, "zz"):
        assert not make_command(make_run(notes={DIGEST: bad})).stored


def test_a_command_with_a_script_has_an_upload() -> None:
    script = Script(3, hashlib.sha256(b"abc").digest(), data=b"abc")
    spec = RunSpec(ShellCommand(script=script))
    assert make_command(make_run(spec=spec)).upload is not None
    assert make_command(make_run()).upload is None


def test_what_is_no_shell_command_is_refused() -> None:
    with pytest.raises(UnsupportedInput):
        make_command(make_run(spec=RunSpec(Prompt("hi"))))


def test_the_books_tell_who_waits_for_an_answer_and_who_for_room() -> None:
    books = Assigned(known_ended=10)
    one, two = make_command(make_run(UUID)), make_command(make_run(OTHER))
    for command in (one, two):
        books.add(command)
        books.asked(command, now=5)
    assert books.unanswered == {UUID: 5, OTHER: 5}
    books.taken(one)
    books.refused_full(two)
    assert books.unanswered == {}
    assert books.room_taken == 1
    assert (one.standing, two.standing) == (Standing.TAKEN, Standing.FULL)
    books.asked(two, now=6)
    assert not books.full
    assert two.standing is Standing.ASKED


def test_of_the_ended_only_so_many_are_remembered() -> None:
    books = Assigned(known_ended=2)
    for n in range(3):
        command = make_command(make_run(f"run-{n}"))
        command.taken = n
        books.add(command)
        books.end(command)
    assert [ended.last for ended in books.ended.values()] == [1, 2]
    assert not books.by_uuid
    assert not books.by_run
