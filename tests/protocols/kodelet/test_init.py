"""The adapter as the registry knows it."""

from fleetgate.core.worker import InputKind
from fleetgate.protocols.kodelet import ADAPTER


def test_what_runners_take() -> None:
    assert ADAPTER.southbound.inputs == {InputKind.TOOL, InputKind.SHELL}
    assert ADAPTER.name == "kodelet"
