"""The requests of `ui.*`: what each may say, and what is refused as a bad type (W 12.1, 12.3)."""

from typing import Any

import pytest

from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet.state import INTERACTIVE, PERSISTENT
from fleetgate.protocols.kodelet.ui_requests import read_question
from fleetgate.protocols.kodelet.wire import Question

FRAME = {
    "sequence": 1,
    "lines": ["plain", None, {"spans": [{"text": "t", "style": {"bold": True}}, {"text": "u"}]}],
}
OPTIONS = {
    "width": 80,
    "height": "75%",
    "maxWidth": None,
    "maxHeight": "0.5%",
    "anchor": "topLeft",
    "offsetX": -1,
    "margin": {"top": 1},
    "nonCapturing": True,
}


@pytest.mark.parametrize(
    ("method", "request_", "question"),
    [
        ("ui.input", {"id": "q", "required": True}, Question(id="q", required=True)),
        ("ui.confirm", {"title": "?", "required": 5}, Question(title="?")),
        ("ui.select", {"options": ["a", None]}, Question(options=("a", ""))),
        ("ui.notify", {"message": "m", "id": 5}, Question(message="m")),
        ("ui.notify", None, Question()),
    ],
)
def test_a_question_has_the_members_of_its_method(
    method: str, request_: Any, question: Question
) -> None:
    assert read_question(method, request_) == question


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("ui.widget.set", {"scopeId": "s", "id": "w", "placement": "anywhere", "frame": FRAME}),
        ("ui.widget.frame", {"id": "w", "frame": FRAME}),
        ("ui.widget.remove", {"id": "w", "sequence": 2**64 - 1}),
        ("ui.transcript.append", {"title": "t", "message": "m"}),
        ("ui.surface.open", {"id": "s", "options": OPTIONS, "frame": FRAME}),
        ("ui.surface.frame", {"id": "s", "frame": {"sequence": 1, "lines": None}}),
        ("ui.surface.close", {"id": "s", "sequence": 1}),
    ],
)
def test_what_is_only_looked_at(method: str, request_: Any) -> None:
    for value in (request_, {}, None, {**request_, "future": 1}):
        assert read_question(method, value) is None


def test_every_method_has_its_request() -> None:
    for method in (*INTERACTIVE, *PERSISTENT):
        with pytest.raises(Malformed, match="request: expected an object"):
            read_question(method, 5)


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("ui.input", {"required": "yes"}),
        ("ui.select", {"options": [1]}),
        ("ui.widget.set", {"frame": {"sequence": -1}}),
        ("ui.widget.set", {"frame": {"sequence": 1.0}}),
        ("ui.widget.frame", {"frame": {"lines": "x"}}),
        ("ui.widget.frame", {"frame": {"lines": [5]}}),
        ("ui.widget.frame", {"frame": {"lines": [{"spans": ["x"]}]}}),
        ("ui.widget.frame", {"frame": {"lines": [{"spans": [{"style": {"bold": 1}}]}]}}),
        ("ui.widget.remove", {"sequence": "1"}),
        ("ui.transcript.append", {"message": ["m"]}),
        ("ui.surface.open", {"options": {"width": 0}}),
        ("ui.surface.open", {"options": {"width": True}}),
        ("ui.surface.open", {"options": {"height": "75"}}),
        ("ui.surface.open", {"options": {"maxWidth": "0%"}}),
        ("ui.surface.open", {"options": {"maxHeight": "100.5%"}}),
        ("ui.surface.open", {"options": {"margin": {"left": "1"}}}),
        ("ui.surface.close", {"id": 1}),
    ],
)
def test_bad_types(method: str, request_: Any) -> None:
    with pytest.raises(Malformed, match=r"^request: "):
        read_question(method, request_)
