"""Conversations keep to the runner and the profile that they began with (case 45)."""

import pytest

from fleetgate.protocols.kodelet.affinity import Affinities
from fleetgate.protocols.kodelet.wire import Agent, RunOpen


def asked(conversation: str, profile: str = "") -> RunOpen:
    return RunOpen("r", conversation, Agent(environment_profile=profile))


def test_case_45_a_conversation_is_bound_to_its_runner() -> None:
    made = Affinities()
    assert made.wrong_with(asked("c"), "A") is None
    made.bind(asked("c"), "A")
    assert made.wrong_with(asked("c"), "A") is None
    assert made.wrong_with(asked("c"), "B") == "conversation is bound to runner A"
    assert made.wrong_with(asked("d"), "B") is None


@pytest.mark.parametrize(
    ("first", "then", "fits"),
    [
        ("", "Default", True),
        ("DEFAULT", "", True),
        ("ci", "ci", True),
        ("ci", "", False),
        ("", "ci", False),
    ],
)
def test_case_45_and_to_its_profile(first: str, then: str, fits: bool) -> None:
    made = Affinities()
    made.bind(asked("c", first), "A")
    wrong = made.wrong_with(asked("c", then), "A")
    assert wrong == (
        None
        if fits
        else f'conversation environment profile is locked to "{first}"; cannot resume with "{then}"'
    )


@pytest.mark.limit("protocols/kodelet/affinity.BOUND")
def test_i9_so_many_are_remembered() -> None:
    made = Affinities(bound=2)
    for name in ("a", "b", "c"):
        made.bind(asked(name), "A")
    assert made.wrong_with(asked("a"), "B") is None
    assert made.wrong_with(asked("b"), "B") is not None
