"""What every protocol's explainer keeps to, whichever it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.registry import adapters
from fleetgate.protocols.explaining import (
    NOWHERE,
    SPEAKERS,
    Explained,
    Explainer,
    Showing,
    Whence,
    other,
    workers_dial,
)

ALL = {name: adapter.showing for name, adapter in adapters(()).items()}


@pytest.mark.parametrize("name", ALL)
@given(frame=st.binary(max_size=60), sender=st.sampled_from([None, *SPEAKERS]))
def test_any_bytes_are_explained(name: str, frame: bytes, sender: str | None) -> None:
    whence = Whence(sender)  # type: ignore[arg-type]
    explained = ALL[name].explainer().explain(frame, whence)
    assert explained.readable or explained.rule
    assert explained.readable == (explained.frame is not None)
    if explained.frame is not None:
        again = ALL[name].explainer().explain(explained.frame, whence)
        assert again.frame == explained.frame  # what is kept has nothing left to take out
        assert again.body == explained.body


@pytest.mark.parametrize("name", ALL)
def test_each_names_its_version_and_who_dials(name: str) -> None:
    assert ALL[name].version
    assert ALL[name].dials("") in SPEAKERS


def test_a_protocol_from_elsewhere_shows_nothing() -> None:
    showing = Showing()
    explained = showing.explainer().explain(b"x")
    assert explained == Explained(rule="the frames of this protocol cannot be shown")
    assert not Explainer().answers(explained)
    assert workers_dial("") == showing.dials("/x")
    with pytest.raises(ValueError, match="cannot be written"):
        Explainer().encode({}, NOWHERE)
    assert [other(each) for each in SPEAKERS] == ["worker", "controller"]


@pytest.mark.parametrize("name", ALL)
def test_a_side_has_a_word_of_ours_and_one_of_its_protocol(name: str) -> None:
    showing = ALL[name]
    assert [showing.side(each) for each in SPEAKERS] == list(SPEAKERS)
    assert sorted(showing.sides.values()) == sorted(SPEAKERS)
    assert all(showing.side(word) == speaker for word, speaker in showing.sides.items())
    assert showing.side("nobody") is None
    assert Showing().side("client") is None
