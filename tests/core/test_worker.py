"""What a worker is: kinds of input, and the words of its liveness."""

from typing import Any, get_args

import attrs
import pytest
from hypothesis import given

from fleetgate.core import commands as c
from fleetgate.core.ids import WorkerId
from fleetgate.core.testing import inputs
from fleetgate.core.worker import InputKind, Liveness, ProviderReport, WorkerInfo, kind_of

NAMES = {c.Prompt: "prompt", c.ShellCommand: "shell", c.ToolCall: "tool"}


@given(inputs())
def test_every_input_has_its_kind(value: c.Input) -> None:
    assert kind_of(value).value == NAMES[type(value)]


def test_there_is_a_kind_for_each_input_and_no_other() -> None:
    assert set(NAMES) == set(get_args(c.Input))
    assert {kind.value for kind in InputKind} == set(NAMES.values())


@pytest.mark.parametrize("words", [InputKind, Liveness])
def test_the_word_of_a_member_is_its_name(words: Any) -> None:
    assert all(member.value == member.name.lower() for member in words)


def test_a_worker_promises_nothing_that_it_does_not_say() -> None:
    """What an adapter leaves out must be the careful choice: an input is handed over
    once, a timeout is enforced by us, questions are answered from what it announced."""
    info = WorkerInfo(WorkerId("hosts/a"), "hosts", frozenset({InputKind.SHELL}))
    promised = (info.numbered_input, info.enforces_timeout, info.asks, info.exclusive)
    assert not any(promised)
    assert info.grace is None
    assert info.providers == ()


def test_an_unknown_provider_is_not_called_authenticated() -> None:
    report = ProviderReport("claude", installed=True)
    assert report.auth_state == "unknown"
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(report, "auth_state", "ok")  # noqa: B010 - a plain write is a type error
