"""What the values of this room are made of, as it is drawn."""

import json

from hypothesis import given

from fleetgate.core import drawn as d
from fleetgate.core.json import Json


def test_a_strategy_is_built_once() -> None:
    assert d.texts(max_size=3) is d.texts(max_size=3)


@given(d.texts())
def test_a_text_has_a_utf_8_form(text: str) -> None:
    assert text.encode().decode() == text


@given(d.json_values())
def test_json_has_a_text(value: Json) -> None:
    assert json.loads(json.dumps(value)) == value


@given(d.counts(), d.words(), d.perhaps(d.counts()))
def test_counts_and_names(count: int, word: str, some: int | None) -> None:
    assert 0 <= count <= d.LARGEST
    assert word
    assert some is None or some >= 0
