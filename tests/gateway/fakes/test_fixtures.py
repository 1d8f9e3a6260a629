"""What the plugin's fixtures are, without pytest around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.fakes.cli import FAKES
from fleetgate.gateway.fakes.fixtures import NEEDED, OFFERED, offered
from fleetgate.gateway.fakes.options import BadOption


def test_there_is_one_for_each_fake() -> None:
    assert set(OFFERED) == set(FAKES)
    assert set(NEEDED) <= set(FAKES)


def test_it_starts_when_it_is_used_and_others_beside_it_when_it_is_called() -> None:
    with offered("agency-daemon") as daemon:
        other = daemon(script=[{"match": ".", "do": [{"finish": {"exit": 1}}]}])
        assert daemon.address == other.address  # the first is the one that was started first
        third = daemon()
        assert third.address != other.address
        with offered("agency-client") as client:
            fake = client(socket=other.address.removeprefix("unix:"))
            fake.start("r", {"prompt": "x"})
            assert client.wait("r")["state"] == "failed"
            assert [run["run"] for run in client.runs] == ["r"]
    places = [Path(each.address.removeprefix("unix:")).parent for each in (other, third)]
    assert [place.exists() for place in places] == [False, False]


@pytest.mark.parametrize("name", NEEDED)
def test_one_whose_peer_only_the_test_knows_says_how_to_name_it(name: str) -> None:
    with offered(name) as fixture, pytest.raises(BadOption, match=rf"\({NEEDED[name]}=…\)"):
        fixture.expect("link")


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("agency-daemon", {"sokcet": "x"}, "did you mean socket?"),
        ("kodelet-control-plane", {"heartbeat": 3}, "did you mean heartbeat_ms?"),
        ("iop-edge", {"token": ["=x"]}, "got no token"),
    ],
)
def test_a_wrong_option_is_named(name: str, options: dict[str, object], said: str) -> None:
    with offered(name) as fixture, pytest.raises(BadOption) as wrong:
        fixture(**options)
    assert said in str(wrong.value)


def test_looking_at_it_starts_nothing() -> None:
    with offered("rvbox-client") as fixture:
        assert not hasattr(fixture, "_pytestfixturefunction")
        assert "Fixture" in repr(fixture)


def test_a_runner_and_its_control_plane_meet() -> None:
    with offered("kodelet-control-plane") as plane, offered("kodelet-runner") as runner:
        runner(server=plane.address)
        plane.expect("worker", state="ready")
        plane.start("r", {"tool": "echo", "arguments": {"a": 1}})
        assert plane.wait("r")["outcome"]["text"] == '{"a": 1}'
