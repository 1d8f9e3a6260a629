"""Approvals and questions, both ways."""

import pytest

from fleetgate.core.events import ApprovalRequested, Decision
from fleetgate.core.json import Json
from fleetgate.protocols.kodelet import ui
from fleetgate.protocols.kodelet.state import INTERACTIVE, PERSISTENT
from fleetgate.protocols.kodelet.wire import Owner, Question, UiResponse

QUESTION = Question("q", "Name?", placeholder="p", options=("a", "b"), default_value="d")


@pytest.mark.parametrize("method", sorted(INTERACTIVE))
def test_nobody_is_there(method: str) -> None:
    answer = ui.unavailable(method)
    assert answer.status == "unavailable"
    assert INTERACTIVE[method] in answer.reason


@pytest.mark.parametrize("method", sorted(PERSISTENT))
def test_no_surface_is_taken(method: str) -> None:
    assert ui.no_surface(method).accepted is False


@pytest.mark.parametrize("method", ["ui.input", "ui.confirm", "ui.select"])
def test_a_question_crosses_the_gateway_and_is_the_same_but_for_its_id(method: str) -> None:
    event = ui.to_approval(method, QUESTION, "fallback")
    assert (event.approval, event.title) == ("q", "Name?")
    again, question = ui.from_approval(event, 2)
    assert again == method
    assert question.id == "runner-ui-ZmxlZXRnYXRlADIAcQ"
    assert (question.title, question.options) == ("Name?", ("a", "b"))


def test_a_question_without_names() -> None:
    event = ui.to_approval("ui.confirm", Question(), "runner:2")
    assert (event.approval, event.title) == ("runner:2", "confirmation")


@pytest.mark.limit("protocols/kodelet/ui._LONGEST")
def test_a_long_question_is_shown_as_far_as_an_event_holds() -> None:
    event = ui.to_approval("ui.confirm", Question("q", "é" * 99_999, message="m" * 99_999), "f")
    assert len(event.title.encode()) == 16_384
    assert isinstance(event.detail, dict)
    assert event.detail["message"] == "m" * 16_384
    assert not ui.too_long(Question("q", "é" * 99_999), "f")


@pytest.mark.parametrize(
    ("question", "wire"),
    [
        (Question("q" * 65_536), "f"),
        (Question(options=("é",) * 32_768), "f"),
        (Question(default_value="é" * 32_768), "f"),
        (Question(), "f" * 65_537),
        (Question("q"), "f" * 65_536),
    ],
)
def test_ids_a_default_or_options_that_cannot_be_cut(question: Question, wire: str) -> None:
    assert ui.too_long(question, wire)


@pytest.mark.parametrize(
    ("detail", "message"),
    [
        (None, ""),
        ("rm x", "rm x"),
        ({"a": 1}, '{"a":1}'),
        ({"kind": "select", "options": 1}, '{"kind":"select","options":1}'),
    ],
)
def test_any_other_approval_is_to_be_confirmed(detail: Json, message: str) -> None:
    method, question = ui.from_approval(ApprovalRequested("a", "", detail), 1)
    assert (method, question.title, question.message) == ("ui.confirm", "Allow?", message)


@pytest.mark.parametrize(
    ("method", "decision", "value", "answer"),
    [
        ("ui.confirm", Decision.ALLOW_SIMILAR, None, UiResponse("submitted", confirmed=True)),
        ("ui.confirm", Decision.VALUE, "no", UiResponse("submitted")),
        ("ui.confirm", Decision.VALUE, "Yes", UiResponse("submitted", confirmed=True)),
        ("ui.confirm", Decision.DENY, None, UiResponse("submitted")),
        ("ui.input", Decision.ALLOW_ONCE, None, UiResponse("submitted", "d")),
        ("ui.input", Decision.VALUE, "", UiResponse("submitted", "")),
        ("ui.select", Decision.DENY, None, UiResponse("dismissed")),
    ],
)
def test_decisions(method: str, decision: Decision, value: str | None, answer: UiResponse) -> None:
    assert ui.from_decision(method, QUESTION.default_value, decision, value) == answer


@pytest.mark.parametrize(
    ("method", "response", "decision"),
    [
        ("ui.confirm", UiResponse("submitted", confirmed=True), (Decision.ALLOW_ONCE, None)),
        ("ui.confirm", UiResponse("submitted"), (Decision.DENY, None)),
        ("ui.input", UiResponse("submitted", "x"), (Decision.VALUE, "x")),
        ("ui.select", UiResponse("dismissed", "x"), (Decision.DENY, None)),
        ("ui.input", UiResponse("timeout"), (Decision.DENY, None)),
        ("ui.input", UiResponse(), (Decision.DENY, None)),
    ],
)
def test_answers(method: str, response: UiResponse, decision: tuple[Decision, str | None]) -> None:
    assert ui.to_decision(method, response) == decision


def test_who_asks() -> None:
    assert ui.owner(3) == Owner("fleetgate", 3)
