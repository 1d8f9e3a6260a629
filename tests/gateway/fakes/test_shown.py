"""Which fakes a failed test shows."""

from __future__ import annotations

import attrs

from fleetgate.gateway.fakes.shown import MOST_FAKES, Board


@attrs.define
class Told:
    """A fake, as far as it is shown."""

    name: str = "fake"
    over: bool = False
    asked: list[int] = attrs.field(factory=list[int])
    said: tuple[str, ...] = ("a line", "another")

    def title(self) -> str:
        return self.name

    def lines(self, since: int) -> list[str]:
        self.asked.append(since)
        return list(self.said)


def test_none_is_kept_unless_somebody_shows_them() -> None:
    board = Board()
    board.add(Told())
    assert list(board.sections()) == []


def test_of_a_test_only_what_happened_in_it_is_shown() -> None:
    board = Board()
    board.keep()
    wide, own = Told("wide"), Told("own", over=True)
    board.add(wide)
    board.add(own)
    assert list(board.sections()) == [("wide", "a line\nanother"), ("own", "a line\nanother")]
    board.begin()
    assert [title for title, _ in board.sections()] == ["wide"]
    assert wide.asked[0] == 0
    assert wide.asked[-1] > 0


def test_silent_fakes_are_not_shown_and_many_are_bounded() -> None:
    board = Board()
    board.keep()
    board.add(Told(said=()))
    assert list(board.sections()) == []
    for number in range(MOST_FAKES + 5):
        board.add(Told(str(number)))
    assert len(list(board.sections())) == MOST_FAKES
