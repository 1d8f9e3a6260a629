"""What an input becomes, and what is refused rather than dropped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.adaptation import Adaptation, ToCommand, ToPrompt, ToTool, rewrite
from fleetgate.core.commands import Prompt, RunSpec, ShellCommand, ToolCall
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.templates import TemplateError, parse


def _argv(*items: str, stdin: str | None = None) -> ToCommand:
    return ToCommand(argv=tuple(map(parse, items)), stdin=None if stdin is None else parse(stdin))


@given(st.text())
def test_argv_gets_the_prompt_as_one_item_as_it_is(text: str) -> None:
    adaptation = Adaptation(prompt=_argv("claude", "-p", "{prompt}"))
    spec = rewrite(adaptation, RunSpec(Prompt(text)))
    assert spec.input == ShellCommand(argv=("claude", "-p", text))


@given(st.text(), st.text())
def test_values_do_not_meet_each_other(system: str, prompt: str) -> None:
    adaptation = Adaptation(prompt=_argv("a", "{system}:{prompt}"))
    spec = rewrite(adaptation, RunSpec(Prompt(prompt, system)))
    assert spec.input == ShellCommand(argv=("a", f"{system}:{prompt}"))


def test_everything_but_the_input_stays() -> None:
    spec = RunSpec(
        Prompt("hi"),
        workspace=("/srv/one", "/srv/two"),
        environment={"A": "b"},
        timeout=5,
        labels={"x": "y"},
        native={"iop": {"z": 1}},
    )
    done = rewrite(Adaptation(prompt=_argv("cat", stdin="{prompt}")), spec)
    assert done == RunSpec(
        ShellCommand(argv=("cat",), stdin=b"hi", cwd="/srv/one"),
        workspace=("/srv/one", "/srv/two"),
        environment={"A": "b"},
        timeout=5,
        labels={"x": "y"},
        native={"iop": {"z": 1}},
    )


def test_a_kind_without_target_is_the_same_object() -> None:
    spec = RunSpec(ShellCommand(line="ls"))
    assert rewrite(Adaptation(prompt=_argv("x")), spec) is spec


def test_a_command_becomes_a_prompt_and_its_directory_the_workspace() -> None:
    adaptation = Adaptation(shell=ToPrompt(parse("Run {line}"), parse("in {cwd}")))
    done = rewrite(adaptation, RunSpec(ShellCommand(argv=("ls", "a b"), cwd="/srv")))
    assert done == RunSpec(Prompt("Run ls 'a b'", "in /srv"), workspace=("/srv",))


def test_a_command_wrapped_in_a_command_keeps_the_rest() -> None:
    adaptation = Adaptation(shell=ToCommand(line=parse("nice {line}")))
    given_input = ShellCommand(
        line="make", shell="bash", cwd="/srv", stdin=b"\xff", merge_stderr=True
    )
    done = rewrite(adaptation, RunSpec(given_input))
    assert done.input == ShellCommand(
        line="nice make", shell="bash", cwd="/srv", stdin=b"\xff", merge_stderr=True
    )


def test_argv_never_names_a_shell() -> None:
    done = rewrite(
        Adaptation(shell=_argv("sh", "-c", "{line}")), RunSpec(ShellCommand(line="x", shell="bash"))
    )
    assert done.input == ShellCommand(argv=("sh", "-c", "x"))


def test_a_prompt_rewritten_as_a_prompt_keeps_its_conversation() -> None:
    said = ({"role": "user", "content": "before"},)
    done = rewrite(
        Adaptation(prompt=ToPrompt(parse("Be brief. {prompt}"))),
        RunSpec(Prompt("hi", "sys", "claude", "m", messages=said)),
    )
    assert done.input == Prompt("Be brief. hi", "sys", "claude", "m", messages=said)


def test_a_tool_call_takes_whole_values_as_values() -> None:
    tree = {"all": parse("{input}"), "one": (parse("{input.n}"), parse("n={input.n}")), "k": 3}
    done = rewrite(Adaptation(tool=ToTool("other", tree)), RunSpec(ToolCall("t", {"n": 7})))
    assert done.input == ToolCall("other", {"all": {"n": 7}, "one": (7, "n=7"), "k": 3})


@pytest.mark.parametrize(
    ("adaptation", "given_input", "hint"),
    [
        (
            Adaptation(prompt=_argv("x", "{prompt}")),
            Prompt("p", messages=({"role": "user"},)),
            r"an earlier conversation, .* put \{messages\} into it",
        ),
        (
            Adaptation(shell=ToPrompt(parse("{line}"))),
            ShellCommand(line="cat", stdin=b"data"),
            r"standard input, .* put \{stdin\} into it",
        ),
        (
            Adaptation(shell=ToTool("bash", {"command": parse("{line}")})),
            ShellCommand(line="cat", stdin=b"data"),
            r"standard input",
        ),
    ],
)
def test_I10_what_a_run_says_is_refused_rather_than_dropped(
    adaptation: Adaptation, given_input: Prompt | ShellCommand, hint: str
) -> None:
    with pytest.raises(UnsupportedInput, match=hint):
        rewrite(adaptation, RunSpec(given_input))


def test_what_a_template_mentions_is_carried() -> None:
    done = rewrite(
        Adaptation(shell=ToPrompt(parse("{line} < {stdin}"))),
        RunSpec(ShellCommand(line="cat", stdin=b"data")),
    )
    assert done.input == Prompt("cat < data")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ToCommand(), "a command needs exactly one of argv and line"),
        (
            lambda: ToCommand(argv=(parse("x"),), line=parse("y")),
            "a command needs exactly one of argv and line",
        ),
        (lambda: ToCommand(argv=()), "argv is empty; its first item is the program"),
        (
            lambda: ToCommand(argv=(parse("x"),), shell="bash"),
            "argv never goes through a shell; shell goes with line",
        ),
        (
            lambda: ToCommand(line=parse("claude -p {prompt}")),
            "a value inside a line would be read by the shell; use argv, which is not",
        ),
    ],
)
def test_commands_that_cannot_be(make: object, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value) == message


def test_a_line_may_be_one_value_or_hold_a_line() -> None:
    whole = rewrite(
        Adaptation(prompt=ToCommand(line=parse("{prompt}"))), RunSpec(Prompt("ls | wc"))
    )
    assert whole.input == ShellCommand(line="ls | wc")
    fixed = rewrite(Adaptation(prompt=ToCommand(line=parse("date"))), RunSpec(Prompt("x")))
    assert fixed.input == ShellCommand(line="date")


@pytest.mark.parametrize(
    "adaptation",
    [
        {"prompt": _argv("{line}")},
        {"shell": ToPrompt(parse("{line}"), parse("{prompt}"))},
        {"tool": ToTool("x", ({"deep": parse("{line}")},))},
    ],
)
def test_a_name_of_another_kind_is_refused_when_the_adaptation_is_made(
    adaptation: dict[str, ToCommand | ToPrompt | ToTool],
) -> None:
    with pytest.raises(TemplateError, match="is nothing that a"):
        Adaptation(**adaptation)
