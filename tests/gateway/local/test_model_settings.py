"""Addresses and patience of model servers, and what may come with a run."""

from __future__ import annotations

from typing import Any

import pytest

from fleetgate.gateway.config_entries import Secret
from fleetgate.gateway.config_reader import Flawed, read
from fleetgate.gateway.local.model_settings import OllamaSettings, VllmSettings, with_pushed
from fleetgate.gateway.local.work import Declined


@pytest.mark.parametrize(
    "url", ["http://h", "https://h:1/", "http://[::1]:11434", "http://10.0.0.1:8000/models/a"]
)
def test_addresses(url: str) -> None:
    assert read(OllamaSettings, {"base_url": url}, ()).url == url.rstrip("/")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "expected http://HOST"),
        ("h:8000", "expected http://HOST"),
        ("ftp://h", "expected http://HOST"),
        ("http://", "expected http://HOST"),
        ("http://h:x", "is no URL"),
        ("http://h:99999", "is no URL"),
        ("http://[::1", "is no URL"),
        ("http://u:secret@h", "holds credentials"),
        ("http://h?x=1", "is the base of other addresses"),
        ("http://h/a b", "is the base of other addresses"),
        ("http://h/\nx", "is the base of other addresses"),
    ],
)
def test_what_is_no_address_is_named_without_it(url: str, words: str) -> None:
    with pytest.raises(Flawed) as caught:
        read(OllamaSettings, {"base_url": url}, ())
    (flaw,) = caught.value.flaws
    assert flaw.path == ("base_url",)
    assert words in flaw.message
    assert "secret@" not in flaw.message


@pytest.mark.parametrize("seconds", [0, -1, 1e9])
def test_patience_has_a_bound(seconds: float) -> None:
    with pytest.raises(Flawed, match="expected seconds above 0"):
        read(VllmSettings, {"silence_timeout": seconds}, ())


@pytest.mark.parametrize(
    "endpoint", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"]
)
def test_the_version_is_put_once(endpoint: str) -> None:
    assert VllmSettings(endpoint).url == "http://h:1/v1"


def test_what_came_with_a_run_stands_in_place_of_our_own() -> None:
    own = OllamaSettings("http://own", "m", 5, 50)
    assert with_pushed(own, {}) is own
    pushed = with_pushed(own, {"base_url": "http://other", "silence_timeout": 7})
    assert pushed == OllamaSettings("http://other", "m", 5, 7)


def test_our_token_goes_to_our_endpoint_only() -> None:
    own = VllmSettings("http://own", token=Secret(env="T"))
    assert with_pushed(own, {"endpoint": "http://own/v1"}).token == Secret(env="T")
    assert with_pushed(own, {"model": "m"}).token == Secret(env="T")
    assert with_pushed(own, {"endpoint": "http://other"}).token is None


@pytest.mark.parametrize(
    ("pushed", "words"),
    [
        ({"base_url": "x"}, "invalid_argument: config.base_url: expected http://HOST"),
        ({"base": "x"}, "invalid_argument: config.base: unknown key; did you mean base_url?"),
        ({"token": {"env": "HOME"}}, "a secret does not come with a run"),
    ],
)
def test_what_cannot_come_with_a_run(pushed: dict[str, Any], words: str) -> None:
    with pytest.raises(Declined) as caught:
        with_pushed(OllamaSettings(), pushed)
    assert words in str(caught.value)
