"""`gateway version`."""

from __future__ import annotations

import json

import pytest

from fleetgate import __version__
from fleetgate.gateway.cli import main


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert f"fleetgate {__version__}" in capsys.readouterr().out
    assert main(["version", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fleetgate"] == __version__
