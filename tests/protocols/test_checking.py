"""check_adapter must find out what is wrong, else it proves nothing."""

from typing import Any

import attrs
import pytest

from fleetgate.core.answers import Answer
from fleetgate.core.commands import DescribeRun
from fleetgate.core.errors import Unavailable
from fleetgate.core.ids import RunId
from fleetgate.protocols.api import (
    Adapter,
    Close,
    Connection,
    Opening,
    RemoteProtocolError,
    Send,
    Side,
    Steps,
    Submit,
    Wake,
)
from fleetgate.protocols.carriage import Carriage
from fleetgate.protocols.checking import check_adapter
from fleetgate.protocols.testing import SECOND


@attrs.frozen(slots=True)
class Settings:
    size: int = 1


class Quiet(Connection):
    """Nothing is wrong with it."""

    def opened(self, opening: Opening, now: int) -> Steps:
        return [Wake(now + SECOND)]

    def receive(self, frame: bytes, now: int) -> Steps:
        if len(frame) > 20:
            raise RemoteProtocolError("too long", [Close(None, "too long")])
        return [Submit(DescribeRun(RunId("r")), reply_to=1), Send(frame)]

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        assert isinstance(answer, Unavailable)
        return []


class Raising(Quiet):
    def receive(self, frame: bytes, now: int) -> Steps:
        raise ValueError(frame)


class Talkative(Quiet):
    def receive(self, frame: bytes, now: int) -> Steps:
        return [Close(None, ""), Send(b"more")]


class Oversize(Quiet):
    def receive(self, frame: bytes, now: int) -> Steps:
        return [Send(b"x" * 300)]


class Alien(Quiet):
    def receive(self, frame: bytes, now: int) -> Steps:
        return ["send"]  # type: ignore[list-item]


class Late(Quiet):
    def closed(self, reason: str, now: int) -> Steps:
        return [Send(b"too late")]


def make_adapter(kind: type[Connection], settings: type[Any] = Settings) -> Adapter:
    def carriage(_: Any) -> Carriage:
        return Carriage("lines", 256)

    side = Side(settings, lambda _: kind(), carriage)
    return Adapter("test", side, side)


def test_a_sound_adapter_passes() -> None:
    check_adapter(make_adapter(Quiet), north=[b"a", b"bcdefgh"], south=[b"", b"i" * 19], rounds=50)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Raising, "only RemoteProtocolError"),
        (Talkative, "after a Close"),
        (Oversize, "limit 256"),
        (Alien, "is no step"),
        (Late, "may not ask for"),
    ],
)
def test_an_unsound_adapter_is_found_out(kind: type[Connection], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_adapter(make_adapter(kind), rounds=5)


def test_settings_that_need_an_argument_are_found_out() -> None:
    @attrs.frozen(slots=True)
    class Needy:
        size: int

    with pytest.raises(AssertionError, match="has no default"):
        check_adapter(make_adapter(Quiet, Needy))


def test_a_connection_that_is_shared_is_found_out() -> None:
    one = Quiet()
    side = Side(Settings, lambda _: one, lambda _: Carriage("lines", 256))
    with pytest.raises(AssertionError, match="same connection twice"):
        check_adapter(Adapter("test", side, side))
