"""The Playbook must fail where it should, else it proves nothing."""

# ruff: noqa: PT012 - a playbook is judged as a whole

from collections.abc import Sequence
from typing import Any

import pytest

from fleetgate.core.answers import Answer
from fleetgate.core.commands import ListRuns
from fleetgate.core.errors import RunNotFound
from fleetgate.core.events import MessageEnded, Recorded, TextProduced
from fleetgate.core.ids import RunId, Seq
from fleetgate.protocols.api import (
    Close,
    Connection,
    Opening,
    Pause,
    RemoteProtocolError,
    Resume,
    Send,
    Steps,
    Submit,
    Wake,
)
from fleetgate.protocols.testing import (
    SECOND,
    START,
    Playbook,
    Sent,
    Slot,
    number,
    slot,
)


class Echo(Connection):
    """Says what it hears; `ask`, `wait`, `bye` and `bad` do what they say."""

    def opened(self, opening: Opening, now: int) -> Steps:
        return [Send(b"hello " + opening.link.encode())]

    def receive(self, frame: bytes, now: int) -> Steps:
        match frame:
            case b"ask":
                return [Pause(), Submit(ListRuns(), reply_to=object())]
            case b"wait":
                return [Wake(now + SECOND)]
            case b"bye":
                return [Send(b"bye"), Close(1000, "bye")]
            case b"bad":
                raise RemoteProtocolError("bad frame", [Close(None, "bad frame")])
            case b"none":
                return []
        return [Send(frame)]

    def tick(self, now: int) -> Steps:
        return [Send(b"tick")]

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        return [Send(type(answer).__name__.encode()), Resume()]

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        return [Send(str(r.seq).encode()) for r in batch]


def make_playbook(connection: Connection | None = None) -> Playbook:
    return Playbook(connection or Echo(), decode=bytes.decode, encode=str.encode)


def test_a_conversation_that_goes_as_told_passes() -> None:
    with make_playbook() as play:
        play.opened(Opening(link="gui")).expect(Sent("hello gui"))
        play.receive("a").expect(Send(b"a"))
        play.receive(b"none")
        asked = slot()
        play.receive("ask").expect(Pause(), Submit(ListRuns(), reply_to=asked))
        play.reply(asked, RunNotFound("x")).expect(Sent("RunNotFound"), Resume())
        play.deliver(number("r", TextProduced("x"), MessageEnded(), first=4))
        play.expect(Sent("4"), Sent("5"))
        play.receive("wait").expect(Wake(START + SECOND))
        play.tick().expect(Sent("tick"))
        assert play.now == START + SECOND
        play.receive("bye").expect(Sent("bye"), Close(1000, "bye"))
        play.closed()


def test_another_step_than_expected_fails_and_shows_the_conversation() -> None:
    with pytest.raises(AssertionError) as failure, make_playbook() as play:
        play.opened().expect(Sent("hello entry"))
        play.receive("a").expect(Sent("b"))
    text = str(failure.value)
    assert ">> opened entry" in text
    assert "<< Sent(message='hello entry')" in text
    assert "- Sent(message='b')" in text
    assert "+ Sent(message='a')" in text


@pytest.mark.parametrize("steps", [(), (Sent("a"), Sent("a")), (Resume(),)])
def test_too_few_too_many_or_other_steps_fail(steps: tuple[Any, ...]) -> None:
    with pytest.raises(AssertionError, match="not what came"), make_playbook() as play:
        play.opened().expect(Sent("hello entry"))
        play.receive("a").expect(*steps)


def test_a_playbook_left_with_steps_that_nobody_expected_fails() -> None:
    with pytest.raises(AssertionError, match="nobody expected"), make_playbook() as play:
        play.opened()


def test_the_next_call_fails_while_steps_wait_to_be_expected() -> None:
    with pytest.raises(AssertionError, match="nobody expected"), make_playbook() as play:
        play.opened()
        play.receive("a")


def test_outside_its_context_a_playbook_does_nothing() -> None:
    with pytest.raises(AssertionError, match="context manager"):
        make_playbook().opened()


def test_the_test_s_own_error_is_not_hidden_by_the_playbook() -> None:
    with pytest.raises(ZeroDivisionError), make_playbook() as play:
        play.opened()
        raise ZeroDivisionError


def test_a_protocol_error_must_be_expected() -> None:
    with make_playbook() as play:
        play.opened().expect(Sent("hello entry"))
        play.receive("bad").fails(Close(None, "bad frame"), match="bad")
    with pytest.raises(AssertionError, match="RemoteProtocolError"), make_playbook() as play:
        play.opened().expect(Sent("hello entry"))
        play.receive("bad").expect(Close(None, "bad frame"))
    with pytest.raises(AssertionError, match="before it raised"), make_playbook() as play:
        play.opened().expect(Sent("hello entry"))
        play.receive("bad")
    with pytest.raises(AssertionError, match="raised no"), make_playbook() as play:
        play.opened().expect(Sent("hello entry"))
        play.receive("a").fails()
    with pytest.raises(AssertionError, match="not in the error"), make_playbook() as play:
        play.opened().expect(Sent("hello entry"))
        play.receive("bad").fails(Close(None, "bad frame"), match="else")


def test_the_driver_s_promises_are_the_playbook_s() -> None:
    with pytest.raises(AssertionError, match="pause"), make_playbook() as play:
        play.opened().take()
        play.receive("ask").take()
        play.receive("a")
    with pytest.raises(AssertionError, match="calls no more"), make_playbook() as play:
        play.opened().take()
        play.receive("bye").take()
        play.receive("a")
    with pytest.raises(AssertionError, match="no Wake"), make_playbook() as play:
        play.opened().take()
        play.tick()


def test_a_slot_keeps_the_first_value_it_meets() -> None:
    met = Slot()
    assert met == 1
    assert met != 2
    assert met.value == 1
    with pytest.raises(AssertionError, match="nothing was compared"):
        _ = Slot().value


def test_numbered_events_are_contiguous() -> None:
    assert [r.seq for r in number("r", MessageEnded(), MessageEnded(), first=7)] == [7, 8]
    assert number("r", MessageEnded()) == (Recorded(RunId("r"), Seq(1), START, MessageEnded()),)
