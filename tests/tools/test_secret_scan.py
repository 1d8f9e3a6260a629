"""What is committed holds no secret, and one that was would be found."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "secret_scan.py"


@pytest.fixture(scope="module")
def scan() -> ModuleType:
    spec = importlib.util.spec_from_file_location("secret_scan", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


A, B = "aB3dE5gH7jK9mN1pQ3sT", "5uV7wX9yZ1bC3dF5hJ7k"
"""Together long enough for each kind; apart, so that this file holds none of them."""

SAMPLES = {
    "a private key": "-----BEGIN RSA PRIVATE " + f"KEY-----\n{A}",
    "an AWS key": "AKIA" + "ABCDEFGH12345678",
    "a GitHub token": "ghp_" + A + B[:16],
    "a GitLab token": "glpat-" + A,
    "a Slack token": "xoxb-" + A,
    "a Google key": "AIza" + A + B[:15],
    "a key of a model's API": "sk-ant-" + A + B,
    "a PyPI token": "pypi-" + "AgEI" + A + B,
    "an npm token": "npm_" + A + B[:16],
    "a JSON web token": f"eyJ{A}." + f"eyJ{A}.{B}",
    "a password in a URL": "https://me:" + "hush4hush-hush@h",
    "a random word that is called a secret": "api_key = " + f"'{A}{B}'",
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_each_kind_is_found_with_its_line(kind: str, scan: ModuleType) -> None:
    found = list(scan.findings(f"one\n{SAMPLES[kind]} \nthree\n"))
    assert (2, kind) in found
    assert set(SAMPLES) >= set(scan.KINDS)


@pytest.mark.parametrize(
    "text",
    [
        "token = read_the_token_of_this_entry_now",
        'tokens = [{ token = { file = "secrets/one" }, id = "host-1" }]',
        "token: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1",
        "http://127.0.0.1:8080/a@b",
        f"api_key = '{A}{B}'  # no secret: drawn for this test",
    ],
)
def test_what_only_looks_like_one(text: str, scan: ModuleType) -> None:
    assert list(scan.findings(text)) == []


def test_nothing_that_is_committed_is_a_secret() -> None:
    ran = subprocess.run(
        [sys.executable, str(TOOL)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "0 found\n")


def test_a_secret_is_told_by_its_place_and_never_shown(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(SAMPLES["a GitHub token"])
    ran = subprocess.run(
        [sys.executable, str(TOOL), str(path)], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (1, f"{path}:1: a GitHub token\n1 found\n")
