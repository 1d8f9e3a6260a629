"""What an attempt saw."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from fleetgate.gateway.tck.seen import LONGEST, MOST_FRAMES, Seen, hexed, show_with, shown


async def test_frames_have_their_time_direction_and_link(autojump_clock: MockClock) -> None:
    seen = Seen()
    await trio.sleep(1.5)
    seen.add(2, True, "hello")
    seen.add(2, False, "gone", note=True)
    assert [frame.line() for frame in seen.frames] == ["   1.500 2 -> hello", "   1.500 2 -- gone"]


async def test_the_first_and_the_last_are_kept(autojump_clock: MockClock) -> None:
    seen = Seen()
    for number in range(10_000):
        seen.add(1, False, str(number))
    texts = [frame.text for frame in seen.frames]
    assert len(texts) == MOST_FRAMES + 1
    assert (texts[0], texts[-1]) == ("0", "9999")
    assert texts[MOST_FRAMES // 2] == f"{10_000 - MOST_FRAMES} frames left out"


async def test_a_frame_is_cut_and_fit_for_a_terminal(autojump_clock: MockClock) -> None:
    seen = Seen()
    seen.add(1, False, "\x1b[31m\n" + "x" * 10_000)
    text = seen.frames[0].text
    assert text.startswith("^[[31m^J")
    assert len(text) < LONGEST + 50


def test_bytes_are_shown() -> None:
    assert hexed(b"\x00\xff") == "00 ff"
    assert hexed(bytes(100)).endswith("(100 bytes)")
    assert shown(b"\x00a'") == "\\x00a'"
    assert shown(bytes(1000)).endswith("(1000 bytes)")


@pytest.mark.parametrize("sent", [True, False])
def test_a_protocol_shows_its_frames_with_the_rule_that_refuses_them(sent: bool) -> None:
    show = show_with("agency", "worker")
    assert "refused" not in show(b'\0{"requestId":1,"type":"list_runs"}', True)
    assert "list_runs" in show(b'\0{"requestId":1,"type":"list_runs"}', True)
    assert "refused" in show(b"\0\xff", sent)
    assert "00 ff" in show(b"\0\xff", sent)
