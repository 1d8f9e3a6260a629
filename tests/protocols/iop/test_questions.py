"""What a node is asked. The answers as a link sees them are in test_southbound."""

from __future__ import annotations

from typing import Any

import pytest

from fleetgate.core import commands as c
from fleetgate.core.errors import WorkerFailed
from fleetgate.protocols.api import Respond, Send
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.questions import Questions
from fleetgate.protocols.iop.settings import EdgeSettings


def asked(native: Any) -> w.NodeCommandRequest:
    questions = Questions(EdgeSettings(adapter="mock", target="m"), Deadlines())
    (send,) = questions.ask(1, c.ReadUsage("x", native={"iop": native}), None, 0)
    assert isinstance(send, Send)
    request = codec.decode_edge(send.frame)
    assert isinstance(request, w.NodeCommandRequest)
    return request


@pytest.mark.parametrize("native", [None, "x", {}, {"timeout_sec": "1", "metadata": 5}])
def test_a_question_that_came_otherwise_has_the_entrys_adapter(native: Any) -> None:
    assert asked(native) == w.NodeCommandRequest("ask 1", 1, "mock", "m")


def test_an_answer_without_usage_or_error_says_so() -> None:
    questions = Questions(EdgeSettings(), Deadlines())
    questions.ask(1, c.ReadUsage("x"), None, 0)
    (respond,) = questions.answered(w.NodeCommandResponse("ask 1"))
    assert isinstance(respond, Respond)
    assert isinstance(respond.reports, WorkerFailed)
    assert questions.overdue("ask 1") == ()
