"""Which fakes a failed test shows."""

from __future__ import annotations

import attrs

from fleetgate.gateway.fakes.shown import MOST_FAKES, Board


@attrs.define
class Told:
    """A fake, as far as it is shown."""

    name: str = "fake"
    over: bool = False
    asked: list[tuple[int, bool]] = attrs.field(factory=list[tuple[int, bool]])
    said: tuple[str, ...] = ("a line", "another")

    def heading(self) -> str:
        return self.name

    def lines(self, since: int, whole: bool) -> list[str]:
        self.asked.append((since, whole))
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
    assert wide.asked[0] == (0, False)
    assert wide.asked[-1][0] > 0


def test_lines_are_whole_where_that_is_wanted() -> None:
    board = Board()
    board.keep(whole=True)
    fake = Told()
    board.add(fake)
    list(board.sections())
    assert fake.asked == [(0, True)]


def test_what_has_nothing_to_tell_is_left_out_and_many_are_bounded() -> None:
    board = Board()
    board.keep()
    board.add(Told(said=()))
    assert list(board.sections()) == []
    for number in range(MOST_FAKES + 5):
        board.add(Told(str(number)))
    assert len(list(board.sections())) == MOST_FAKES
