"""The stage: its config is one that `gateway serve` takes."""

from __future__ import annotations

import random
import shutil
import socket
from pathlib import Path

import pytest

from fleetgate.gateway.check import load_usable
from fleetgate.gateway.demo.stage import LOWEST, free_port, free_ports, set_stage
from fleetgate.gateway.registry import adapters


def test_the_config_on_the_stage_can_be_served() -> None:
    stage = set_stage()
    try:
        config = load_usable(str(stage.config), adapters(()))
        assert [entry.name for entry in config.entries] == ["hosts", "gui"]
        assert config.north[0].address == f"unix:{stage.socket}"
        assert len(str(stage.socket)) < 100
        assert stage.executed("long") == 0
        (stage.marks / "long").write_text("x\nx\n")
        assert stage.executed("long") == 2
    finally:
        shutil.rmtree(stage.root)


def test_free_ports_are_different_and_nobody_is_given_one_who_asks_for_any() -> None:
    given = free_ports(40)
    assert len(set(given)) == 40
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        handed_out = any_port.getsockname()[1]
    assert all(port >= LOWEST for port in [*given, free_port()])
    if _begins_too_low():
        pytest.skip("this machine hands out every port, so there are none that it does not")
    assert handed_out > max(given)


def _begins_too_low() -> bool:
    known = Path("/proc/sys/net/ipv4/ip_local_port_range")
    return known.exists() and int(known.read_text().split()[0]) <= LOWEST


def test_a_port_where_somebody_listens_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([free_port(), *free_ports(2)])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", taken := next(drawn)))
        listener.listen()
        draws = iter([taken, *drawn])
        monkeypatch.setattr(random.SystemRandom, "randrange", lambda *_: next(draws))
        assert taken not in free_ports(2)
