"""The protocol with nothing to it keeps the rules of all protocols."""

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.testing import SeenHouse, plain_adapter
from fleetgate.protocols.testing import check_adapter


def test_the_plain_protocol_is_an_adapter_like_any_other() -> None:
    check_adapter(plain_adapter())


def test_observers_of_one_entry_are_one() -> None:
    house = SeenHouse()
    entry = Entry("north", "gui", "plain", "memory:gui", True, None)
    assert house.entry(entry) is house.entry(entry)
