"""Bytes in pieces, as text."""

from __future__ import annotations

import codecs

from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.events import Stream
from fleetgate.protocols.utf8 import Utf8, streams

PIECES = st.lists(st.binary(max_size=3) | st.text(max_size=2).map(str.encode), max_size=8)


@given(PIECES, st.integers(1, 3))
def test_pieces_are_decoded_as_the_library_does(pieces: list[bytes], cut: int) -> None:
    ours, theirs = Utf8(), codecs.getincrementaldecoder("utf-8")("replace")
    whole = b"".join(pieces)
    for piece in (*pieces, *(whole[at : at + cut] for at in range(0, len(whole), cut))):
        assert ours.decode(piece) == theirs.decode(piece)
    assert ours.decode(b"", final=True) == theirs.decode(b"", final=True)
    assert ours.decode(whole, final=True) == theirs.decode(whole, final=True)


def test_streams_do_not_share_a_character() -> None:
    texts = streams()
    assert texts[Stream.STDOUT].decode("ä".encode()[:1]) == ""
    assert texts[Stream.STDERR].decode("ä".encode()) == "ä"
    assert texts[Stream.STDOUT].decode("ä".encode()[1:]) == "ä"
