"""A script file, and which of its rules a run meets."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.core.commands import Input, Prompt, Script, ShellCommand, ToolCall
from fleetgate.gateway.config import ConfigError
from fleetgate.gateway.local.script import ECHO, load_script, parse_script, text_of
from fleetgate.gateway.local.script_steps import Finish, say_text

SCRIPT = """
[[when]]
match = "^deploy"
do = [{ text = "deploying" }, { finish = { exit = 1 } }]

[[when]]
match = "deploy|ls -l"
do = [{ text = "second" }]

[usage]
daily_limit = "10 %"
metadata = { plan = "pro" }
delay_ms = 250
"""


@pytest.mark.parametrize(
    ("given", "first"),
    [
        (Prompt("deploy it"), "deploying"),
        (Prompt("please deploy"), "second"),
        (ShellCommand(argv=("ls", "-l", "a b")), "second"),
        (ShellCommand(line="deploy now"), "deploying"),
        (ToolCall("deploy", {"x": 1}), "deploying"),
        (Prompt("other"), "other"),
        (ToolCall("deplo", {"x": "ü"}), '{"x": "ü"}'),
    ],
)
def test_the_first_rule_that_fits_counts_and_no_rule_echoes(given: Input, first: str) -> None:
    script = parse_script(SCRIPT, "s.toml")
    assert script.steps_for(given)[0] == say_text(first)


def test_a_rule_has_its_steps_in_order_and_usage_its_answer() -> None:
    script = parse_script(SCRIPT, "s.toml")
    assert script.steps_for(Prompt("deploy"))[1] == Finish(1)
    assert script.usage is not None
    assert script.usage.report == {"daily_limit": "10 %", "metadata": {"plan": "pro"}}
    assert script.usage.delay == 0.25
    assert parse_script("", "s.toml") == ECHO


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (ShellCommand(argv=("echo", "a b")), "echo 'a b'"),
        (ShellCommand(script=Script(2, b"", data=b"l\xff")), "l\ufffd"),
        (ShellCommand(script=Script(2, b"")), ""),
        (ToolCall("t"), "null"),
    ],
)
def test_an_input_as_text(given: Input, text: str) -> None:
    assert text_of(given) == text


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("x = \ny = 1", ["s.toml:1: is not TOML: Invalid value"]),
        ("[[wen]]\n", ["s.toml:1: wen: unknown key; did you mean when?"]),
        ("when = 3\n", ["s.toml:1: when: expected an array, got a number"]),
        ('[[when]]\nmatch = "a"\n', ["s.toml:1: when[1].do: is missing"]),
        (
            '[[when]]\nmatch = "("\ndo = [\n  { text = "a" },\n  { txt = "b" },\n]\n'
            "[usage]\ndaily_limits = 3\n",
            [
                "s.toml:2: when[1].match: is no regular expression: missing ), "
                "unterminated subpattern at position 0",
                "s.toml:5: when[1].do[2].txt: no step has this name; did you mean text?",
                "s.toml:8: usage.daily_limits: unknown key; did you mean daily_limit?",
            ],
        ),
        (
            '[[when]]\nmatch = "("\ndo = []',
            [
                "s.toml:2: when[1].match: is no regular expression: missing ), "
                "unterminated subpattern at position 0"
            ],
        ),
        (
            '[usage]\ndelay_ms = "1"\n',
            ["s.toml:2: usage.delay_ms: expected milliseconds, 0 to 86400000, got a string"],
        ),
    ],
)
def test_problems_name_file_line_and_key(text: str, problems: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_script(text, "s.toml")
    assert list(caught.value.lines()) == problems


def test_a_file_is_read_and_one_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SCRIPT)
    assert load_script(path) == parse_script(SCRIPT, str(path))
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_script(tmp_path / "none.toml")
