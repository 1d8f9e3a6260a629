"""The frames for people."""

from __future__ import annotations

import pytest

from fleetgate.protocols.explaining import Explained, Whence
from fleetgate.protocols.kodelet.explain import _OPEN, SHOWING, KodeletExplainer
from fleetgate.protocols.kodelet.testing import ask, beat, no, tell, yes

RUNNER, PLANE = Whence("worker"), Whence("controller")


def test_answers_are_named_by_what_they_answer() -> None:
    explainer = KodeletExplainer()
    assert explainer.explain(ask("server:1", "run.open", {"runId": "r"}), PLANE).name == "run.open"
    assert explainer.explain(ask("server:1", "ui.notify", {}), RUNNER).name == "ui.notify"
    assert explainer.explain(yes("server:1", None), RUNNER).name == "run.open result"
    assert explainer.explain(no("server:1", -1), PLANE).name == "ui.notify error"
    stray = explainer.explain(yes("server:1", None), RUNNER)
    assert (stray.name, stray.rule) == ("result", "")


def test_without_a_sender_a_method_tells_it() -> None:
    explainer = KodeletExplainer()
    assert explainer.explain(beat()).sender == "worker"
    assert explainer.explain(ask("1", "run.open", {})).sender == "controller"
    assert explainer.explain(tell("operation.cancel", {})).sender is None


def test_the_answer_to_an_unnamed_senders_request_is_known() -> None:
    explainer = KodeletExplainer()
    explainer.explain(ask("1", "run.open", {}))
    answer = explainer.explain(yes("1", None))
    assert (answer.name, answer.sender) == ("run.open result", "worker")


@pytest.mark.parametrize("named", [True, False])
def test_what_is_entered_where_it_is_secret_is_taken_out(named: bool) -> None:
    explainer = KodeletExplainer()
    asking, answering = (RUNNER, PLANE) if named else (Whence(), Whence())

    def answered(id: str, secret: bool) -> Explained:
        request = {"title": "Key?", "secret": secret}
        explainer.explain(ask(id, "ui.input", {"runId": "r", "request": request}), asking)
        return explainer.explain(yes(id, {"status": "submitted", "value": "s3cr3t"}), answering)

    hidden = answered("a", True)
    assert hidden.redacted == 1
    assert hidden.frame is not None
    assert b"s3cr3t" not in hidden.frame
    assert "s3cr3t" not in str(hidden.body)
    assert b"s3cr3t" in (answered("b", False).frame or b"")


@pytest.mark.limit("protocols/kodelet/explain._OPEN")
def test_requests_that_nobody_answers_are_bounded() -> None:
    explainer = KodeletExplainer()
    for number in range(_OPEN + 10):
        explainer.explain(ask(str(number), "run.open", {}), PLANE)
    assert len(explainer._open) == _OPEN


@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        (b'{"jsonrpc":"1.0","method":"x"}', 'expected jsonrpc "2.0"'),
        (b"[]", "expected an object"),
        (b"{", "not JSON at character"),
        (b'{"jsonrpc":"2.0","id":7,"method":"x"}', "expected a string that is not blank"),
    ],
)
def test_a_bad_frame_is_shown_with_its_rule(frame: bytes, rule: str) -> None:
    assert rule in KodeletExplainer().explain(frame, RUNNER).rule


def test_answers_and_the_way_back() -> None:
    explainer = KodeletExplainer()
    explained = explainer.explain(yes("1", {"a": 1.5}), RUNNER)
    assert explainer.answers(explained)
    assert not explainer.answers(explainer.explain(beat(), RUNNER))
    assert explainer.explain(explainer.encode(explained.body, RUNNER)).body == explained.body
    assert SHOWING.dials("/x") == "worker"
