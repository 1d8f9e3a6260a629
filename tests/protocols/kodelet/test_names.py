"""Derived names: the same for the same, and of the form that the genuine ones have."""

import re

from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.kodelet import names

INSTANCE = "00000000-0000-4000-8000-000000000000"


@given(st.lists(st.tuples(st.text(max_size=4), st.text(max_size=4)), unique=True, max_size=8))
def test_identities_and_ids_are_one_to_one(identities: list[tuple[str, str]]) -> None:
    trimmed = {(host.strip(), path.strip()) for host, path in identities if "\0" not in host + path}
    ids = {names.runner_id(INSTANCE, host, path) for host, path in trimmed}
    assert len(ids) == len(trimmed)


def test_surrounding_space_is_no_identity() -> None:
    assert names.runner_id("i", " h ", "/w\n") == names.runner_id("i", "h", "/w")


def test_forms() -> None:
    for made, form in (
        (names.runner_id(INSTANCE, "h", "/w"), r"runner_[\w-]{16}"),
        (names.host_id(INSTANCE), r"host_[\w-]{24}"),
        (names.connection_id(bytes(16)), r"conn_[\w-]{16}"),
        (names.run_id(INSTANCE, "gui/r1"), r"run_[\w-]{24}"),
    ):
        assert re.fullmatch(form, made)


def test_the_example_of_a_question_s_id() -> None:
    assert names.ui_id("ext", 2, "q1") == "runner-ui-ZXh0ADIAcTE"
