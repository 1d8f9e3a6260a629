"""From an entry to a transport's options, and who a token speaks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.carrying import Gatekeeper, options_of
from fleetgate.gateway.config_entries import Entry, Grant, Secret, SecretUnreadable
from fleetgate.protocols.api import Carriage, WebSocketUse
from fleetgate.transports.api import Opening

USE = WebSocketUse(binary=True, path="/agent", subprotocols=("p",), ping_every=20, dead_after=60)


def test_options_join_the_entry_and_its_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T", "secret")
    entry = Entry("north", "n", "p", "ws://h:1/agent", False, None, token=Secret(env="T"))
    options = options_of(entry, Carriage("varint", 100, USE))
    assert (options.framing, options.limit, options.path) == ("varint", 100, "/agent")
    assert (options.ping_every, options.dead_after, options.binary) == (20, 60, True)
    assert options.headers == {"authorization": "Bearer secret"}
    assert options.authorize is None
    assert "secret" not in repr(options)


def test_a_missing_token_is_told_before_the_dial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("T", raising=False)
    entry = Entry("north", "n", "p", "ws://h:1/agent", False, None, token=Secret(env="T"))
    with pytest.raises(SecretUnreadable, match="T"):
        options_of(entry, Carriage("varint", 100, None))


def test_fault_16_a_token_is_read_anew_at_each_try(tmp_path: Path) -> None:
    file = tmp_path / "token"
    gate = Gatekeeper((Grant(Secret(file=str(file)), "host-1"),))
    assert gate.identify({"authorization": "Bearer one"}) is None
    file.write_text("one\n")
    assert gate.identify({"authorization": "bearer one"}) == "host-1"
    file.write_text("two\n")
    assert gate.identify({"authorization": "Bearer one"}) is None


def test_only_a_known_bearer_token_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T", "one")
    gate = Gatekeeper((Grant(Secret(env="T"), "host-1"),))
    for value in ("", "one", "Basic one", "Bearer", "Bearer ", "Bearer onee", "Bearer \N{SNOWMAN}"):
        assert gate.authorize(Opening(headers={"authorization": value})) == 401
    assert gate.authorize(Opening()) == 401
    assert gate.authorize(Opening(headers={"authorization": "Bearer one"})) is None
