"""Settings that sentences name."""

from __future__ import annotations

import attrs
import pytest

from fleetgate.gateway.promise import showing
from fleetgate.gateway.promise_settings import Setting, figure, named_in
from fleetgate.gateway.registry import adapters


@attrs.frozen
class _Settings:
    grace: float = 30.0
    retained: int = 10
    cut: bool = False
    path: str = "/"
    needed: int = attrs.field(kw_only=True)


MADE = _Settings(grace=5.0, needed=1)


def test_numbers_and_switches_that_are_named_are_found_once() -> None:
    first, second = "back within grace, or grace again, and cut", "the path, retained, needed"
    found = named_in([first, second], {"south.x": MADE})
    assert found == (
        Setting("south.x.grace", "grace", 5.0, 30.0, first),
        Setting("south.x.cut", "cut", False, False, first),
        Setting("south.x.retained", "retained", 10, 10, second),
    )


def test_of_two_holders_the_first_counts_and_what_is_no_settings_class_has_none() -> None:
    holders = {"none": None, "a": MADE, "b": _Settings(grace=1.0, needed=1)}
    assert [each.key for each in named_in(["grace"], holders)] == ["a.grace"]
    assert named_in(["grace"], {"none": None, "text": "grace"}) == ()


def test_a_word_is_no_setting_for_having_the_name_of_one() -> None:
    """`control = true` serves control clients, and weakens nothing that they are promised."""
    edge = adapters(())["iop"].southbound.settings(control=True)
    sentences = attrs.astuple(showing("iop", True))
    found = [each.name for each in named_in(sentences, {"south.edge": edge})]
    assert any("control client" in sentence for sentence in sentences)
    assert "control" not in found
    assert "cancel_on_disconnect" in found


@pytest.mark.parametrize(
    ("name", "value", "default", "weaker"),
    [
        ("grace", 5.0, 30.0, True),
        ("grace", 30.0, 30.0, False),
        ("grace", 60.0, 30.0, False),
        ("grace", 0, 30, True),
        ("replay_bound", 0, 2048, False),
        ("replay_bound", 1, 2048, True),
        ("cut", True, False, True),
        ("cut", False, False, False),
    ],
)
def test_what_is_weaker_than_by_default(
    name: str, value: object, default: object, weaker: bool
) -> None:
    assert Setting("key", name, value, default, "sentence").weaker is weaker


@pytest.mark.parametrize(
    ("value", "said"), [(86400.0, "86400"), (1048576, "1048576"), (0.25, "0.25"), (0, "0")]
)
def test_a_figure_is_what_a_file_has(value: float, said: str) -> None:
    assert figure(value) == said
