"""What 0.5.36 adds, as it is carried."""

import pytest

from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import workspace as ws
from fleetgate.protocols.kodelet.structs import read, write


def test_bytes_go_out_and_come_in() -> None:
    assert ws.decoded(ws.encoded(b"\x00\xff")) == b"\x00\xff"
    for text in ("a", "a b=", "\u00e9"):
        with pytest.raises(Malformed):
            ws.decoded(text)


@pytest.mark.parametrize(("asked", "given"), [(0, 28), (-1, 28), (5, 5), (400, 400), (401, 400)])
def test_a_terminal_has_a_size(asked: int, given: int) -> None:
    assert ws.size_of(asked, ws.ROWS) == given


def test_an_exit_code_of_0_and_none_are_the_same_on_the_wire() -> None:
    over = {"nextCursor": 3, "exited": True, "exitCode": 2}
    assert write(read(ws.TerminalOutput, over)) == over
    assert write(ws.TerminalOutput(next_cursor=3, exited=True, exit_code=0)) == {
        "nextCursor": 3,
        "exited": True,
    }
