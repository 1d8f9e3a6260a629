"""Every example is a config that can be served, and does what its comments say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trustme

from fleetgate.core.commands import Prompt, RunSpec, ShellCommand
from fleetgate.gateway.check import check, load_usable
from fleetgate.gateway.config import Config
from fleetgate.gateway.house import router_of
from fleetgate.gateway.registry import adapters

EXAMPLES = Path(__file__).parents[1] / "examples"
CONFIGS = sorted(EXAMPLES.glob("*.toml"))
"""Not all that lies there: README's tour leaves a journal and sockets beside them."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the examples name: certificates, tokens, directories, a script, a program."""
    authority = trustme.CA()
    leaf = authority.issue_cert("gateway.example")
    for name in ("tls", "secrets", "state", "projects"):
        (tmp_path / name).mkdir()
    (tmp_path / "tls" / "gateway.pem").write_bytes(leaf.cert_chain_pems[0].bytes())
    (tmp_path / "tls" / "gateway.key").write_bytes(leaf.private_key_pem.bytes())
    for name in ("hosts-ca.pem", "plane-ca.pem"):
        (tmp_path / "tls" / name).write_bytes(authority.cert_pem.bytes())
    (tmp_path / "secrets" / "build-7").write_text("one\n")
    (tmp_path / "plane-token").write_text("two\n")
    monkeypatch.setenv("PLANE_TOKEN", "three")
    (tmp_path / "rehearsal.toml").touch()
    (tmp_path / "claude").touch(mode=0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def _load(place: Path, name: str) -> Config:
    text = (EXAMPLES / name).read_text().replace("/var/lib/fleetgate", str(place / "state"))
    path = place / name
    path.write_text(text)
    return load_usable(path, adapters())


def test_there_are_examples() -> None:
    names = {path.name for path in CONFIGS}
    assert names == {"agency-to-rvbox.toml", "fleet-mtls.toml", "laptop.toml", "workstation.toml"}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_an_example_can_be_served_and_has_no_loose_ends(
    place: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [object()])
    findings = check(_load(place, path.name), adapters())
    assert findings.problems == ()
    assert findings.warnings == ()
    for words in findings.routes:
        assert any("refused" not in became for became in words.inputs.values())


def test_a_prompt_becomes_a_program(place: Path) -> None:
    router = router_of(_load(place, "agency-to-rvbox.toml"), adapters())
    to, spec = router.route("gui", RunSpec(Prompt("rm -rf '$HOME'; {x}", provider="claude")))
    assert to == "hosts"
    assert spec.input == ShellCommand(argv=("claude", "-p", "rm -rf '$HOME'; {x}"))


def test_the_operator_chooses_a_pool_by_label(place: Path) -> None:
    router = router_of(_load(place, "fleet-mtls.toml"), adapters())
    spec = RunSpec(ShellCommand(line="uname -a"))
    assert router.route("admin", spec)[0] == "hosts"
    labelled = RunSpec(ShellCommand(line="uname -a"), labels={"pool": "guests"})
    to, chosen = router.route("admin", labelled)
    assert (to, chosen.timeout) == ("guests", 900 * 10**9)
    assert router.route("plane", spec) == ("hosts", spec)


def test_a_command_line_becomes_a_prompt(place: Path) -> None:
    router = router_of(_load(place, "laptop.toml"), adapters())
    command = ShellCommand(line="fix the build\n", stdin=b"log")
    to, spec = router.route("plane", RunSpec(command))
    assert to == "agents"
    assert spec.input == Prompt("fix the build\nlog")
    assert spec.workspace == ("/home/me/project",)


def test_a_prompt_stays_on_the_workstation(place: Path) -> None:
    router = router_of(_load(place, "workstation.toml"), adapters())
    assert router.route("gui", RunSpec(Prompt("x", provider="claude")))[0] == "agents"
    assert router.route("admin", RunSpec(Prompt("x")))[0] == "models"
    assert router.route("admin", RunSpec(ShellCommand(line="ls")))[0] == "rehearsal"
