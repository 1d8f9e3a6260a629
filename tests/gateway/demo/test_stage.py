"""The stage: its config is one that `gateway serve` takes."""

from __future__ import annotations

import shutil

from fleetgate.gateway.check import load_usable
from fleetgate.gateway.demo.stage import free_port, set_stage
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


def test_a_free_port_is_a_port() -> None:
    assert 1024 <= free_port() < 65536
