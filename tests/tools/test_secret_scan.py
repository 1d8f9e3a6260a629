"""What is committed holds no secret, and one that was would be found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tool_loading import ROOT, load_tool

TOOL = ROOT / "tools" / "secret_scan.py"


@pytest.fixture(scope="module")
def scan() -> ModuleType:
    return load_tool("secret_scan")


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
    "a Stripe key": "sk_" + "live_" + A,
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


CALLED = "a random word that is called a secret"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("-----BEGIN PGP PRIVATE " + f"KEY BLOCK-----\nVersion: 1\n\n{A}", "a private key"),
        ('{"private_key": "-----BEGIN PRIVATE ' + f'KEY-----\\n{A}"}}', "a private key"),
        ('-H "Authorization: Bearer ' + f'{A}{B}"', CALLED),
        ("Authorization: Basic " + f"{A}=", CALLED),
        ('SECRET_KEY = "' + "0f1e2d3c4b5a69788796a5b4c3d2e1f0" + '"', CALLED),
        ("DB_PASSWORD=" + A, CALLED),
        ('password = "' + A[:16] + '!"', CALLED),
    ],
)
def test_other_forms_of_them(text: str, kind: str, scan: ModuleType) -> None:
    assert [found for _, found in scan.findings(text)] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer $TOKEN_OF_THE_GATEWAY",
        "Authorization: Bearer the-token-of-host-1-of-this-test",
        "password = the_password_of_2_hosts",
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
