"""Which gateway is asked, and what is said when it does not work."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from fleetgate.gateway.admin.client import AdminClient, AdminError, Unreachable
from fleetgate.gateway.commands.asking import UsageError, ask, find_admin


def test_the_command_line_goes_before_the_environment(tmp_path: Path) -> None:
    config = tmp_path / "gw.toml"
    config.write_text('[gateway]\njournal = "sqlite:/var/j.db"\n')
    environment = {"GATEWAY_ADMIN": "unix:/from/environment"}
    both = Namespace(admin="unix:/given", config=str(config))
    assert find_admin(both, environment) == "unix:/given"
    only_config = Namespace(admin=None, config=str(config))
    assert find_admin(only_config, environment) == "unix:/var/j.db.admin/socket"
    neither = Namespace(admin=None, config=None)
    assert find_admin(neither, environment) == "unix:/from/environment"


def test_without_any_of_them_it_says_what_to_write() -> None:
    with pytest.raises(UsageError, match="--admin ADDRESS or --config FILE"):
        find_admin(Namespace(admin=None, config=None), {})


def test_what_is_no_address_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="--admin: 'foo' is no address; use unix:PATH or"):
        find_admin(Namespace(admin="foo", config=None), {})
    with pytest.raises(UsageError, match="GATEWAY_ADMIN: 'foo' is no address"):
        find_admin(Namespace(admin=None, config=None), {"GATEWAY_ADMIN": "foo"})


def test_a_config_that_cannot_be_read_is_said_with_its_line(tmp_path: Path) -> None:
    config = tmp_path / "gw.toml"
    config.write_text("[gateway]\n")
    with pytest.raises(UsageError, match=r"gw\.toml:1: gateway\.journal: is missing"):
        find_admin(Namespace(admin=None, config=str(config)), {})


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (AdminError("conflict", "taken\x1b[2J"), 7, "gateway: taken^[[2J (conflict)\n"),
        (Unreachable("nobody"), 8, "gateway: nobody\n"),
        (ExceptionGroup("", [ExceptionGroup("", [Unreachable("x")])]), 8, "gateway: x\n"),
        (BaseExceptionGroup("", [KeyboardInterrupt()]), 130, ""),
    ],
)
def test_errors_become_words_and_codes(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def question(_: AdminClient) -> int:
        raise error

    arguments = Namespace(admin="unix:/x", config=None)
    assert ask(arguments, question, refused=7, unreachable=8) == code
    assert capsys.readouterr().err == said


def test_other_errors_are_not_hidden() -> None:
    async def question(_: AdminClient) -> int:
        raise ExceptionGroup("", [ZeroDivisionError("a bug")])

    with pytest.raises(ZeroDivisionError, match="a bug"):
        ask(Namespace(admin="unix:/x", config=None), question)


def test_no_gateway_named_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GATEWAY_ADMIN", raising=False)

    async def question(_: AdminClient) -> int:
        raise AssertionError("nobody is to be asked")

    assert ask(Namespace(admin=None, config=None), question) == 2
    assert "which gateway?" in capsys.readouterr().err
