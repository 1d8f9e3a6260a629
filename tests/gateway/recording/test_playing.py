"""From a file to a verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from fleetgate.gateway.recording import form
from fleetgate.gateway.recording.comparing import Difference
from fleetgate.gateway.recording.live import Place
from fleetgate.gateway.recording.playing import Differs, Wanted, play_at, read_part, replay
from fleetgate.gateway.recording.reading import OtherForm, Unusable


def link(number: int, protocol: str = "agency", dialler: str = "controller") -> dict[str, Any]:
    return {
        "event": "link",
        "link": number,
        "time": 1,
        "protocol": protocol,
        "entry": "e",
        "path": "",
        "dialler": dialler,
    }


def written(path: Path, *items: Any, **protocols: str) -> str:
    lines = (form.header(0, protocols or {"agency": "0.3", "rvbox": "1.0"}), *items)
    path.write_text("".join(json.dumps(each) + "\n" for each in (*lines, form.end(9, 0, 0))))
    return str(path)


@pytest.mark.parametrize(
    ("word", "side", "dials"),
    [
        ("client", "controller", True),
        ("daemon", "worker", False),
        ("controller", "controller", True),
        ("worker", "worker", False),
    ],
)
def test_a_side_has_our_word_and_the_protocols(
    tmp_path: Path, word: str, side: str, dials: bool
) -> None:
    part = read_part(Wanted(written(tmp_path / "r", link(1)), word))
    assert (part.side, part.dials, part.adapter.name) == (side, dials, "agency")


def test_links_are_chosen_where_there_are_several_kinds(tmp_path: Path) -> None:
    path = written(tmp_path / "r", link(1), link(2, "rvbox", "worker"))
    with pytest.raises(Unusable, match="holds agency and rvbox; choose with --link N: 1 is agency"):
        read_part(Wanted(path, "worker"))
    assert read_part(Wanted(path, "server", links={2})).adapter.name == "rvbox"
    path = written(tmp_path / "r", link(1), link(2, dialler="worker"))
    with pytest.raises(Unusable, match="dialled by either side"):
        read_part(Wanted(path, "worker"))
    assert read_part(Wanted(path, "worker", links=[2])).dials


def test_links_that_are_not_there_are_answered_with_those_that_are(tmp_path: Path) -> None:
    path = written(tmp_path / "r", link(1), link(2))
    with pytest.raises(Unusable, match=r"holds no link 7, 9; it has 1, 2$"):
        read_part(Wanted(path, "worker", links=[9, 7]))


@pytest.mark.limit("gateway/recording/playing.MOST_NAMED")
def test_of_many_links_some_are_named(tmp_path: Path) -> None:
    many = [link(number, "agency" if number % 2 else "rvbox") for number in range(1, 1000)]
    path = written(tmp_path / "r", *many)
    with pytest.raises(Unusable, match=r"it has 1, 2, 3, 4, 5, 6, 7, 8, …$"):
        read_part(Wanted(path, "worker", links=[5000]))
    with pytest.raises(Unusable, match=r"7 is agency, 8 is rvbox, …$"):
        read_part(Wanted(path, "worker"))


@pytest.mark.parametrize(
    ("items", "side", "said"),
    [
        ((), "worker", "holds no link"),
        (
            (link(1),),
            "deamon",
            "agency has no such side; known: controller, worker, client, daemon",
        ),
        ((link(1, "unheard-of"),), "worker", "holds unheard-of, which is not known here"),
    ],
)
def test_what_cannot_be_played_is_said(tmp_path: Path, items: Any, side: str, said: str) -> None:
    with pytest.raises(Unusable) as caught:
        read_part(Wanted(written(tmp_path / "r", *items), side))
    assert said in str(caught.value)


def test_another_version_of_the_protocol_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OtherForm, match=r"made with agency 0\.2"):
        read_part(Wanted(written(tmp_path / "r", link(1), agency="0.2"), "worker"))


async def test_it_is_played_at_a_place(tmp_path: Path, autojump_clock: MockClock) -> None:
    path = written(tmp_path / "r", link(1))
    verdict = await play_at(Wanted(path, "worker", patience=3), Place("memory:nobody-comes", True))
    assert verdict.difference == Difference(0, "link 1", "", "a link", "nothing within 3 s")


def test_for_tests_a_difference_is_raised(tmp_path: Path) -> None:
    path = written(tmp_path / "r", link(1))
    with pytest.raises(Differs, match=r"link 1.*expected a link") as caught:
        replay(Wanted(path, "worker", patience=0.01), Place("memory:nobody-comes", True))
    assert caught.value.difference.got == "nothing within 0.01 s"
