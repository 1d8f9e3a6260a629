"""What an agent prints for the genuine daemon."""

from __future__ import annotations

import json

import pytest

from fleetgate.gateway.bench import agent


def test_it_prints_so_many_texts_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    agent.main(["--model", "m", "-p", "130 64", "--verbose"])
    first, *texts, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["type"], first["subtype"]) == ("system", "init")
    assert len(texts) == 130
    assert {len(text["event"]["delta"]["text"]) for text in texts} == {64}
    assert last["type"] == "result"
