import hashlib

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.script import Assembly, Upload
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

DATA = bytes(range(256)) * 600
ROOM = 1 << 30


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def upload(data: bytes = DATA) -> Upload:
    return Upload("u", data, digest(data))


def assembly(data: bytes = DATA) -> Assembly:
    return Assembly(w.ScriptRef(len(data), digest(data)))


def feed(into: Assembly, messages) -> list[w.ControlError]:
    errors = []
    for message in messages:
        if isinstance(message, w.ScriptChunk):
            errors.append(into.add(message, ROOM))
        else:
            errors.append(into.commit(message))
    return [error for error in errors if error is not None]


@given(st.integers(0, 200_000), st.integers(1, 200_000))
def test_what_one_side_cuts_the_other_puts_together(size: int, window: int) -> None:
    data = (DATA * 2)[:size]
    ours, theirs = upload(data), assembly(data)
    while not ours.done:
        messages = list(ours.next(window))
        assert messages
        chunks = [m for m in messages if isinstance(m, w.ScriptChunk)]
        assert all(len(chunk.data) <= limits.SCRIPT_CHUNK for chunk in chunks)
        assert sum(len(chunk.data) for chunk in chunks) < window + limits.SCRIPT_CHUNK
        assert feed(theirs, messages) == []
    assert theirs.data == data
    assert not list(ours.next(window))


def test_a_restart_begins_at_the_first_byte() -> None:
    ours = upload()
    list(ours.next(ROOM))
    ours.restart()
    again = list(ours.next(ROOM))
    assert isinstance(again[0], w.ScriptChunk)
    assert again[0].offset == 0
    assert ours.attempts == 2
    assert feed(assembly(), again) == []


def chunks() -> list[w.ScriptChunk]:
    return [m for m in upload().next(ROOM) if isinstance(m, w.ScriptChunk)]


def test_a_chunk_out_of_order_leaves_the_position() -> None:
    theirs = assembly()
    first, second, third = chunks()
    assert theirs.add(first, ROOM) is None
    for wrong in (third, first):
        error = theirs.add(wrong, ROOM)
        assert error is not None
        assert error.code == Code.OUT_OF_ORDER
    assert theirs.add(second, ROOM) is None
    assert theirs.add(third, ROOM) is None
    assert theirs.data == DATA


def test_a_chunk_with_a_wrong_sum_begins_the_upload_again() -> None:
    theirs = assembly()
    first, second, _ = chunks()
    theirs.add(first, ROOM)
    error = theirs.add(attrs.evolve(second, sha256=bytes(32)), ROOM)
    assert error is not None
    assert error.code == Code.CHECKSUM_MISMATCH
    assert theirs.data == b""
    assert feed(theirs, upload().next(ROOM)) == []


@pytest.mark.limit("protocols/rvbox/limits.SCRIPT_CHUNK")
def test_a_chunk_over_64_kib_is_an_invalid_argument() -> None:
    data = bytes(limits.SCRIPT_CHUNK + 1)
    error = assembly(data).add(w.ScriptChunk("u", 0, data, digest(data)), ROOM)
    assert error is not None
    assert error.code == Code.INVALID_ARGUMENT


def test_more_than_was_announced_begins_again() -> None:
    theirs = Assembly(w.ScriptRef(3, digest(b"abc")))
    error = theirs.add(w.ScriptChunk("u", 0, b"abcd", digest(b"abcd")), ROOM)
    assert error is not None
    assert error.code == Code.CHECKSUM_MISMATCH


def test_without_memory_for_it_a_chunk_is_refused_and_the_position_kept() -> None:
    theirs = assembly()
    first, second, _ = chunks()
    theirs.add(first, ROOM)
    error = theirs.add(second, len(second.data) - 1)
    assert error is not None
    assert error.code == Code.RESOURCE_EXHAUSTED
    assert theirs.add(second, len(second.data)) is None


def test_a_commit_must_be_what_was_announced_and_what_came() -> None:
    wrong = [
        w.ScriptCommit("u", len(DATA) + 1, digest(DATA)),
        w.ScriptCommit("u", len(DATA), bytes(32)),
    ]
    for commit in wrong:
        theirs = assembly()
        assert feed(theirs, chunks()) == []
        assert [error.code for error in feed(theirs, [commit])] == [Code.CHECKSUM_MISMATCH]
        assert theirs.data == b""
    early = feed(assembly(), [*chunks()[:2], w.ScriptCommit("u", len(DATA), digest(DATA))])
    assert [error.code for error in early] == [Code.CHECKSUM_MISMATCH]
    lying = Assembly(w.ScriptRef(3, digest(b"abd")))
    lying.add(w.ScriptChunk("u", 0, b"abc", digest(b"abc")), ROOM)
    error = lying.commit(w.ScriptCommit("u", 3, digest(b"abd")))
    assert error is not None
    assert error.code == Code.CHECKSUM_MISMATCH
