"""A terminal's output that can be read again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.kodelet.scrollback import Scrollback
from fleetgate.protocols.kodelet.workspace import TerminalOutput, decoded, encoded


def test_what_is_there_is_read_in_pieces_and_then_nothing_until_more_comes() -> None:
    made = Scrollback()
    assert made.read(0, 10) is None
    made.write(b"abcdef")
    assert made.read(0, 4) == TerminalOutput(encoded(b"abcd"), 4)
    assert made.read(4, 4) == TerminalOutput(encoded(b"ef"), 6)
    assert made.read(6, 4) is None


def test_the_end_is_told_once_everything_is_read() -> None:
    made = Scrollback()
    made.write(b"ab")
    made.finish(3)
    assert made.read(0, 1) == TerminalOutput(encoded(b"a"), 1)
    assert made.read(1, 1) == TerminalOutput(encoded(b"b"), 2, False, True, 3)
    assert made.read(2, 1) == TerminalOutput("", 2, False, True, 3)


@pytest.mark.limit("protocols/kodelet/workspace.KEPT")
def test_i9_what_is_old_is_dropped_and_a_cursor_to_it_is_moved() -> None:
    made = Scrollback(4)
    made.write(b"abc")
    made.write(b"def")
    assert (made.first, made.end) == (2, 6)
    assert made.read(0, 9) == TerminalOutput(encoded(b"cdef"), 6, True)


@given(st.lists(st.binary(max_size=9)), st.integers(1, 8), st.integers(1, 5))
def test_whoever_reads_on_has_a_suffix_of_everything(
    chunks: list[bytes], kept: int, limit: int
) -> None:
    made, seen, cursor = Scrollback(kept), b"", 0
    for chunk in chunks:
        made.write(chunk)
    made.finish(0)
    while True:
        output = made.read(cursor, limit)
        assert output is not None
        data = decoded(output.data)
        assert output.truncated == (output.next_cursor - len(data) > cursor)
        seen, cursor = seen + data, output.next_cursor
        if output.exited:
            break
    assert seen == b"".join(chunks)[-kept:]


def test_of_a_diff_the_first_is_kept() -> None:
    made = Scrollback(4)
    made.fill(b"ab")
    made.fill(b"cd")
    assert made.head(4) == (b"abcd", False)
    made.fill(b"e")
    assert made.head(4) == (b"abcd", True)
