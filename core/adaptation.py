"""What a run's input becomes where its workers take another kind: values and pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias, Union

import attrs

from fleetgate.core.commands import Input, Prompt, RunSpec, ShellCommand, ToolCall
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.json import Json
from fleetgate.core.templates import Template, TemplateError, Values, check_names, values_of
from fleetgate.core.values import value
from fleetgate.core.worker import InputKind, kind_of


@value
class ToCommand:
    """Becomes a command: exactly one of `argv`, whose items never meet a shell, and `line`.

    In a line only `{line}` may stand beside other text: any other value would be read by
    the worker's shell there. A line that is one name, such as `{prompt}`, says that the
    value is a command line.

    Raises: `TemplateError`.
    """

    argv: tuple[Template, ...] | None = None
    line: Template | None = None
    stdin: Template | None = None
    shell: str = ""

    def __attrs_post_init__(self) -> None:
        if (self.argv is None) == (self.line is None):
            raise TemplateError("a command needs exactly one of argv and line")
        if self.argv == ():
            raise TemplateError("argv is empty; its first item is the program")
        if self.argv is not None and self.shell:
            raise TemplateError("argv never goes through a shell; shell goes with line")
        if self.line is not None and self.line.whole is None and self.line.names - {"line"}:
            raise TemplateError(
                "a value inside a line would be read by the shell; use argv, which is not"
            )

    @property
    def names(self) -> frozenset[str]:
        """The names that its templates mention."""
        return _names((*(self.argv or ()), self.line, self.stdin))


@value
class ToPrompt:
    """Becomes a prompt."""

    text: Template
    system: Template | None = None

    @property
    def names(self) -> frozenset[str]:
        """The names that its templates mention."""
        return _names((self.text, self.system))


TemplateTree: TypeAlias = Union[  # noqa: UP007 - a string is not an operand of `|`
    None, bool, int, float, Template, Sequence["TemplateTree"], Mapping[str, "TemplateTree"]
]
"""JSON whose strings are templates. One that is a single name stands for the value itself,
so that `{input}` is an object where the tool's input is one."""


@value
class ToTool:
    """Becomes a call of the tool `name`."""

    name: str
    input: TemplateTree = None

    @property
    def names(self) -> frozenset[str]:
        """The names that its templates mention."""
        return _names(_leaves(self.input))


Target: TypeAlias = ToCommand | ToPrompt | ToTool


@value
class Adaptation:
    """What becomes of each kind of input; None: it stays what it is.

    Raises: `TemplateError` for a name that the kind of input does not have.
    """

    prompt: Target | None = None
    shell: Target | None = None
    tool: Target | None = None

    def __attrs_post_init__(self) -> None:
        for kind in InputKind:
            target = self.target(kind)
            if target is not None:
                check_names(target.names, kind)

    def target(self, kind: InputKind) -> Target | None:
        """What an input of `kind` becomes."""
        match kind:
            case InputKind.PROMPT:
                return self.prompt
            case InputKind.SHELL:
                return self.shell
            case InputKind.TOOL:
                return self.tool


AS_IT_IS: Final = Adaptation()


def rewrite(adaptation: Adaptation, spec: RunSpec) -> RunSpec:
    """The spec with its input as the adaptation writes it; the same one if it says nothing.

    Raises: `UnsupportedInput` where the templates want what this input does not have, or
    leave out an earlier conversation or standard input that it does have.
    """
    target = adaptation.target(kind_of(spec.input))
    if target is None:
        return spec
    _check_carried(spec.input, target)
    values = values_of(spec.input)
    match target:
        case ToCommand():
            return attrs.evolve(spec, input=_command(spec, target, values))
        case ToPrompt():
            prompt = _prompt(spec.input, target, values)
            return attrs.evolve(spec, input=prompt, workspace=_workspace(spec))
        case ToTool():
            called = ToolCall(target.name, _fill_tree(target.input, values))
            return attrs.evolve(spec, input=called, workspace=_workspace(spec))


def _check_carried(given: Input, target: Target) -> None:
    """Refuse to drop what a run says, as opposed to how it wants it done."""
    match given, target:
        case Prompt(messages=said), ToCommand() | ToTool() if said:
            lost, name = "an earlier conversation", "messages"
        case ShellCommand(stdin=said), ToPrompt() | ToTool() if said:
            lost, name = "standard input", "stdin"
        case _:
            return
    if name not in target.names:
        raise UnsupportedInput(
            f"the run brings {lost}, which the route's `adapt` leaves out; put {{{name}}} into it"
        )


def _command(spec: RunSpec, target: ToCommand, values: Values) -> ShellCommand:
    old = spec.input if isinstance(spec.input, ShellCommand) else ShellCommand()
    stdin = _fill(target.stdin, values)
    return ShellCommand(
        line=_fill(target.line, values),
        argv=None if target.argv is None else tuple(t.fill(values) for t in target.argv),
        shell="" if target.argv is not None else target.shell or old.shell,
        cwd=old.cwd or next(iter(spec.workspace), ""),
        stdin=old.stdin if stdin is None else stdin.encode(),
        merge_stderr=old.merge_stderr,
    )


def _prompt(given: Input, target: ToPrompt, values: Values) -> Prompt:
    old = given if isinstance(given, Prompt) else Prompt("")
    system = old.system if target.system is None else target.system.fill(values)
    return attrs.evolve(old, text=target.text.fill(values), system=system)


def _workspace(spec: RunSpec) -> tuple[str, ...]:
    """A command's directory is what an agent calls its workspace."""
    if not spec.workspace and isinstance(spec.input, ShellCommand) and spec.input.cwd:
        return (spec.input.cwd,)
    return spec.workspace


def _fill(template: Template | None, values: Values) -> str | None:
    return None if template is None else template.fill(values)


def _fill_tree(tree: TemplateTree, values: Values) -> Json:
    if isinstance(tree, Template):
        return tree.fill(values) if tree.whole is None else values(tree.whole)
    if isinstance(tree, Mapping):
        return {key: _fill_tree(member, values) for key, member in tree.items()}
    if isinstance(tree, Sequence) and not isinstance(tree, str):
        return tuple(_fill_tree(item, values) for item in tree)
    return tree


def _names(templates: Iterable[Template | None]) -> frozenset[str]:
    return frozenset(name for each in templates if each is not None for name in each.names)


def _leaves(tree: TemplateTree) -> Iterable[Template]:
    if isinstance(tree, Template):
        yield tree
    elif isinstance(tree, Mapping):
        for member in tree.values():
            yield from _leaves(member)
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for item in tree:
            yield from _leaves(item)
