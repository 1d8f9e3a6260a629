"""A client's open requests."""

import pytest

from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency.codec import decode_client
from fleetgate.protocols.agency.encode import FrameTooLarge
from fleetgate.protocols.agency.requests import Requests
from fleetgate.protocols.agency.testing import yes
from fleetgate.protocols.api import NO_STEPS, RemoteProtocolError, Report, Steps


def nothing(response: wire.ServerResponse, now: int) -> Steps:
    return NO_STEPS


def id_of(frame: bytes) -> int:
    message = decode_client(frame, 4)
    assert isinstance(message, wire.ClientFrame)
    return message.request_id


def test_numbers_go_from_1_up_and_round_without_0() -> None:
    requests = Requests(10)
    sent = [requests.ask(wire.ListRuns(), nothing, 0).frame for _ in range(3)]
    assert [id_of(frame) for frame in sent] == [1, 2, 3]
    requests._next = 2**64 - 1
    sent = [requests.ask(wire.ListRuns(), nothing, 0).frame for _ in range(2)]
    assert [id_of(frame) for frame in sent] == [2**64 - 1, 1]


def test_an_answer_goes_to_its_request_once() -> None:
    requests = Requests(10)

    def answered(response: wire.ServerResponse, now: int) -> Steps:
        return (Report(type(response).__name__, str(now)),)

    requests.ask(wire.DetachRun("a"), nothing, 0)
    requests.ask(wire.DetachRun("b"), answered, 0)
    assert requests.answer(yes(2), 7) == (Report("Accepted", "7"),)
    assert requests.answer(yes(2), 8) == NO_STEPS
    assert requests.answer(yes(9), 8) == NO_STEPS


@pytest.mark.parametrize("response", [wire.Accepted(), wire.SessionInterrupted(True)])
def test_an_answer_of_another_kind_is_a_fault_of_the_daemon(
    response: wire.ServerResponse,
) -> None:
    requests = Requests(10)
    requests.ask(wire.ListRuns(), nothing, 0)
    with pytest.raises(RemoteProtocolError, match="answered ListRuns with"):
        requests.answer(wire.Response(1, response), 1)


def test_each_answer_starts_the_wait_anew_and_the_last_one_ends_it() -> None:
    requests = Requests(10)
    assert requests.deadline is None
    requests.ask(wire.DetachRun("a"), nothing, 100)
    requests.ask(wire.DetachRun("b"), nothing, 105)
    assert requests.deadline == 110
    requests.answer(yes(1), 108)
    assert requests.deadline == 118
    requests.answer(yes(2), 109)
    assert requests.deadline is None


def test_what_does_not_fit_was_not_asked() -> None:
    requests = Requests(10)
    message = wire.InjectMessage("r", "x" * wire.MAX_TEXT, "k")
    with pytest.raises(FrameTooLarge):
        requests.ask(message, nothing, 0)
    assert requests.deadline is None
    assert id_of(requests.ask(wire.ListRuns(), nothing, 0).frame) == 1
