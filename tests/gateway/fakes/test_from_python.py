"""Options as keywords."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fleetgate.gateway.fakes.from_python import keywords, make_peer, script_of_rules
from fleetgate.gateway.fakes.options import BadOption, Parser
from fleetgate.gateway.local.script import ECHO


def test_a_keyword_is_an_option_of_the_command_line() -> None:
    parser = Parser()
    parser.add_argument("--lease-grace-ms", type=int)
    parser.add_argument("--frames", action="store_true")
    assert keywords(parser) == ["lease_grace_ms"]


def test_each_form_of_an_option_reaches_the_fake(tmp_path: Path) -> None:
    peer = make_peer(
        "rvbox-server",
        {
            "listen": "ws://127.0.0.1:0/agent",
            "token": ["-t=host"],
            "set": {"hello_timeout": 0.5},
            "seed": 7,
            "record": tmp_path / "r",
            "state": None,
        },
    )
    entry = peer.around.entry
    assert [(grant.token.read(), grant.id) for grant in entry.tokens] == [("-t", "host")]
    assert entry.settings.hello_timeout == 0.5
    assert peer.around.record == str(tmp_path / "r")
    assert peer.around.journal == "memory:"
    assert peer.around.frames


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("agency-client", {}, "required: socket"),
        ("agency-client", {"socket": "s", "sead": 1}, "sead: .* did you mean seed?"),
        ("agency-client", {"socket": "s", "frames": True}, "frames: agency-client has no such"),
        ("agency-client", {"socket": "s", "seed": "x"}, "argument seed: invalid int value"),
        ("agency-client", {"socket": "s", "fault": ["dropafter=1"]}, "did you mean drop_after?"),
        ("agency-client", {"socket": "s", "set": {"nothing": 1}}, "no setting has this name"),
        ("agency-daemon", {"socket": "s", "script": [{"match": "("}]}, r"when\[1\]"),
        ("agency-daemon", {"socket": "s", "script": "/nowhere.toml"}, "nowhere"),
        (
            "rvbox-client",
            {"connect": "memory:x", "client_id": "h", "state": "s", "exec": True, "script": "s"},
            "not allowed with",
        ),
    ],
)
def test_what_makes_no_sense_is_said(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        make_peer(name, options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"listen": "ws://127.0.0.1:0/a", "set": {"hello_timout": 3}}, "set hello_timout: "),
        ({"listen": "memory"}, "listen: 'memory' is no address"),
    ],
)
def test_what_is_wrong_is_said_of_the_keyword(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadOption) as caught:
        make_peer("rvbox-server", options)
    assert str(caught.value).startswith(said)


def test_a_script_is_made_of_rules() -> None:
    script = script_of_rules([{"match": "x", "do": [{"text": "y"}, {"finish": {"exit": 1}}]}])
    assert len(script.rules[0].steps) == 2
    assert script_of_rules(ECHO) is ECHO
    with pytest.raises(BadOption, match=r"when\[1\]\.do\[1\].*did you mean text\?"):
        script_of_rules([{"match": "x", "do": [{"txet": "y"}]}])
