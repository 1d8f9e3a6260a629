"""Templates put each value in once, as it is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.commands import Prompt, Script, ShellCommand, ToolCall
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.templates import NAMES, Name, TemplateError, check_names, parse, values_of
from fleetgate.core.worker import InputKind

names = st.sampled_from(sorted(NAMES[InputKind.PROMPT]))
parts = st.lists(st.text() | names.map(Name))


def _written(part: str | Name) -> str:
    if isinstance(part, Name):
        return "{" + part.name + "}"
    return part.replace("{", "{{").replace("}", "}}")


@given(parts, st.fixed_dictionaries({name: st.text() for name in NAMES[InputKind.PROMPT]}))
def test_every_name_is_replaced_once_by_its_value_as_it_is(
    parts: list[str | Name], values: dict[str, str]
) -> None:
    template = parse("".join(map(_written, parts)))
    expected = "".join(part if isinstance(part, str) else values[part.name] for part in parts)
    assert template.fill(values.__getitem__) == expected


@given(st.text(alphabet="{}prompt$`'\"\\ ;|&\n"))
def test_a_value_is_never_read_as_a_template_and_never_quoted(text: str) -> None:
    template = parse("{prompt}")
    assert template.fill(values_of(Prompt(text))) == text


@given(st.text(alphabet="{}ab"))
def test_a_template_that_is_read_accounts_for_every_brace(text: str) -> None:
    try:
        template = parse(text)
    except TemplateError:
        return  # which braces are refused, and how, is the next test's matter
    literal = "".join(part for part in template.parts if isinstance(part, str))
    names = sum(isinstance(part, Name) for part in template.parts)
    doubled = literal.count("{") + literal.count("}")
    assert text.count("{") + text.count("}") == 2 * doubled + 2 * names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a { b", "a lone { at character 3; write {{ for a brace"),
        ("b }", "a lone } at character 3; write }} for a brace"),
        ("{prompt", "a lone { at character 1; write {{ for a brace"),
    ],
)
def test_a_lone_brace_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse(text)
    assert str(caught.value) == message


def test_whole_is_the_single_name() -> None:
    assert parse("{input}").whole == "input"
    assert parse(" {input}").whole is None
    assert parse("{input}{name}").whole is None
    assert parse("").whole is None


def test_unknown_names_are_refused_with_those_that_exist() -> None:
    with pytest.raises(TemplateError) as caught:
        check_names(parse("{prmpt}").names, InputKind.PROMPT)
    assert str(caught.value) == (
        "{prmpt} is nothing that a prompt input has; it has {effort}, {messages}, {model}, "
        "{prompt}, {provider}, {system}. Write {{ and }} for braces"
    )
    with pytest.raises(TemplateError, match=r"and \{input\.MEMBER\}"):
        check_names(parse("{line}").names, InputKind.TOOL)
    check_names(parse("{name} {input} {input.command}").names, InputKind.TOOL)


@pytest.mark.parametrize(
    ("given_input", "template", "expected"),
    [
        (
            Prompt("p", "s", "claude", "m", "high"),
            "{system}/{provider}/{model}/{effort}",
            "s/claude/m/high",
        ),
        (Prompt("p"), "[{system}][{effort}]", "[][]"),
        (
            Prompt("p", messages=({"role": "user", "content": "ä"},)),
            "{messages}",
            '[{"role":"user","content":"ä"}]',
        ),
        (
            ShellCommand(line="ls | wc", cwd="/srv", shell="bash"),
            "{cwd}:{shell}:{line}",
            "/srv:bash:ls | wc",
        ),
        (ShellCommand(argv=("a", "b c", "$d")), "{line}", "a 'b c' '$d'"),
        (ShellCommand(line="cat", stdin="ä".encode()), "{stdin}", "ä"),
        (ShellCommand(line="cat"), "<{stdin}>", "<>"),
        (
            ToolCall("bash", {"command": "ls", "n": 1}),
            "{name} {input.command} {input.n}",
            "bash ls 1",
        ),
        (ToolCall("x", {"a": (1, None, True)}), "{input}", '{"a":[1,null,true]}'),
    ],
)
def test_values_of_each_input(
    given_input: Prompt | ShellCommand | ToolCall, template: str, expected: str
) -> None:
    assert parse(template).fill(values_of(given_input)) == expected


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).filter(lambda value: value is not None and not isinstance(value, str))
)
def test_values_that_are_no_text_are_written_as_json(value: object) -> None:
    filled = parse("{input}").fill(values_of(ToolCall("t", value)))  # type: ignore[arg-type]
    assert json.loads(filled) == value


@pytest.mark.parametrize(
    ("given_input", "name", "hint"),
    [
        (ShellCommand(script=Script(1, bytes(32))), "line", "uploaded script"),
        (ShellCommand(line="cat", stdin=b"\xff"), "stdin", "not UTF-8"),
        (ToolCall("t", {"a": 1}), "input.b", r"wants \{input.b\}"),
        (ToolCall("t", "text"), "input.b", r"wants \{input.b\}"),
    ],
)
def test_values_that_this_input_does_not_have(
    given_input: ShellCommand | ToolCall, name: str, hint: str
) -> None:
    with pytest.raises(UnsupportedInput, match=hint):
        values_of(given_input)(name)
