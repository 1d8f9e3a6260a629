"""The reference pages name every command, option and key, and their TOML is right."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from fleetgate.core.worker import InputKind
from fleetgate.gateway.admin import api
from fleetgate.gateway.cli import make_parser
from fleetgate.gateway.config import ConfigError, parse
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.settings import GatewaySettings

DOCS = Path(__file__).parents[1] / "docs"
CLI = (DOCS / "reference" / "cli.md").read_text()
CONFIG = (DOCS / "reference" / "config.md").read_text()


def _commands() -> dict[str, argparse.ArgumentParser]:
    for action in make_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("the parser has no commands")


@pytest.mark.parametrize("name", _commands())
def test_every_command_and_its_options_are_there(name: str) -> None:
    assert re.search(rf"`{name}[ `]", CLI), name
    options = {
        option
        for action in _commands()[name]._actions
        for option in action.option_strings
        if option.startswith("--") and option != "--help"
    }
    for option in options:
        assert option in CLI, option


def test_every_request_of_the_admin_socket_is_there() -> None:
    wanted = re.findall(r"`(?:GET|POST) (/v1/[^`]*)`", api.__doc__ or "")
    assert len(wanted) == 14
    for path in wanted:
        assert path in CLI, path


def test_every_key_of_gateway_is_there_with_its_default() -> None:
    for field in attrs.fields(GatewaySettings):
        row = re.search(rf"^\| `{field.name}` \|.*\| (.*) \|$", CONFIG, re.MULTILINE)
        assert row is not None, field.name
        if isinstance(field.default, int | float):
            assert f"`{field.default:g}`" == row.group(1) or f"`{field.default}`" == row.group(1)


def test_every_kind_of_input_is_there() -> None:
    for kind in InputKind:
        assert f"adapt.{kind.value}" in CONFIG


def _blocks() -> Iterator[tuple[str, str]]:
    for path in sorted(DOCS.rglob("*.md")):
        for block in re.findall(r"```toml\n(.*?)```", path.read_text(), re.DOTALL):
            yield path.name, block


ENTRIES = """
[gateway]
journal = "memory:"
[[north]]
name = "gui"
protocol = "agency"
listen = "unix:a"
[[north]]
name = "edge"
protocol = "agency"
listen = "unix:b"
"""

HOSTS = '[[south]]\nname = "hosts"\nprotocol = "rvbox"\nlisten = "ws://127.0.0.1:1"\n'


@pytest.mark.parametrize(("page", "block"), list(_blocks()))
def test_every_piece_of_toml_is_right(page: str, block: str) -> None:
    around = ENTRIES if 'name = "hosts"' in block else ENTRIES + HOSTS
    try:
        parse(around + block, page, adapters())
    except ConfigError as error:
        pytest.fail(str(error))
