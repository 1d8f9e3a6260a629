"""Adapter, configuration and directory of a run, or why it is declined."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetgate.core.commands import Input, Prompt, RunSpec, ShellCommand, ToolCall
from fleetgate.core.ids import SessionId
from fleetgate.core.json import Json
from fleetgate.gateway.local.choosing import Choice, choose, plain, profile_of
from fleetgate.gateway.local.cli_profile import CompletionMarker, profile_for
from fleetgate.gateway.local.model_settings import OllamaSettings, VllmSettings, with_pushed
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.gateway.local.work import Declined
from fleetgate.protocols.iop.config import apply, read_config
from fleetgate.protocols.iop.wire import RunRequest, SessionMode

PROMPT = Prompt("hi")


def pushed(**members: Json) -> RunSpec:
    return RunSpec(PROMPT, native={"profile": members})


def declined(spec: RunSpec, pool: LocalPool) -> str:
    with pytest.raises(Declined) as caught:
        choose(spec, pool)
    return str(caught.value)


# --- adapters


@pytest.mark.parametrize(
    ("spec", "adapter", "target"),
    [
        (RunSpec(PROMPT), "ollama", ""),
        (RunSpec(ShellCommand("ls")), "shell", ""),
        (RunSpec(ToolCall("t")), "mock", ""),
        (RunSpec(PROMPT, labels={"adapter": "mock", "target": "t"}), "mock", "t"),
        (RunSpec(ShellCommand("ls"), labels={"adapter": "mock"}), "mock", ""),
        (pushed(adapter="mock", target="m"), "mock", "m"),
        (
            RunSpec(
                PROMPT,
                labels={"adapter": "ollama", "target": "no"},
                native={"profile": {"adapter": "mock", "target": "yes"}},
            ),
            "mock",
            "yes",
        ),
    ],
)
def test_the_adapter_is_named_or_the_first_that_takes_the_input(
    spec: RunSpec, adapter: str, target: str
) -> None:
    choice = choose(spec, LocalPool("here", ("shell", "ollama", "mock")))
    assert (choice.adapter, choice.target) == (adapter, target)


@pytest.mark.parametrize(
    ("given", "name", "words"),
    [
        (PROMPT, "cli", "unsupported_adapter: the adapter 'cli' is not enabled here; here has "),
        (PROMPT, "shell", "unsupported_input: shell takes no prompt input here"),
        (ToolCall("t"), "", "unsupported_input: here takes no tool input here"),
    ],
)
def test_an_adapter_that_is_not_there_or_takes_something_else(
    given: Input, name: str, words: str
) -> None:
    spec = RunSpec(given, labels={"adapter": name})
    assert words in declined(spec, LocalPool("here", ("shell", "ollama")))


def test_the_session_and_whether_it_must_exist() -> None:
    pool = LocalPool("here", ("mock",))
    one = choose(pushed(session="s", session_mode="require"), pool)
    assert (one.session, one.must_exist) == ("s", True)
    two = choose(RunSpec(PROMPT, session=SessionId("mine")), pool)
    assert (two.session, two.must_exist) == ("mine", False)
    assert choose(RunSpec(PROMPT, resume="theirs"), pool).session == "theirs"


# --- what is pushed


def test_numbers_of_senders_that_know_only_one_kind_are_whole_where_they_are() -> None:
    assert plain({"a": (1.0, 2.5, True, None, "1")}) == {"a": [1, 2.5, True, None, "1"]}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("x", "invalid_argument: profile: expected a table, got a string"),
        ({"adaptor": "x"}, "profile.adaptor: unknown key; did you mean adapter?"),
        ({"session_mode": "x"}, "profile.session_mode: expected one of"),
        ({"config": 3}, "profile.config: expected a table, got a number"),
    ],
)
def test_a_profile_that_is_none(given: Json, words: str) -> None:
    with pytest.raises(Declined) as caught:
        profile_of(RunSpec(PROMPT, native={"profile": given}))
    assert words in str(caught.value)


def test_what_an_iop_edge_pushes_is_understood(tmp_path: Path) -> None:
    """The words are chosen in two rooms that do not know each other; here they meet."""
    marked = {"command": "cat", "persistent": True, "completion_marker": {"line": "END"}}
    adapters = [
        {"type": "cli", "enabled": True, "cli": {"profiles": {"p": marked}}},
        {"type": "ollama", "enabled": True, "ollama": {"base_url": "http://h"}},
        {"type": "vllm", "enabled": True, "settings": {"endpoint": "http://h"}},
    ]
    table = {"adapters": adapters, "runtime": {"workspace_root": str(tmp_path)}}
    applied = apply(read_config(table), ("cli", "ollama", "vllm"))
    pool = LocalPool("here", ("cli", "ollama", "vllm"))

    def chosen(adapter: str, **members: object) -> Choice:
        request = RunRequest(run_id="r", adapter=adapter, target="p", **members)
        profile = applied.profile(request)
        return choose(RunSpec(PROMPT, native={"profile": profile}), pool)

    choice = chosen("cli", session_id="s", session_mode=SessionMode.REQUIRE_EXISTING)
    assert (choice.session, choice.must_exist, choice.root) == ("s", True, str(tmp_path))
    name, profile = profile_for(choice.target, choice.config, {})
    assert (name, profile.completion_marker) == ("p", CompletionMarker("END"))
    ollama, vllm = chosen("ollama"), chosen("vllm")
    assert not ollama.must_exist
    assert with_pushed(OllamaSettings(), ollama.config).url == "http://h"
    assert with_pushed(VllmSettings(), vllm.config).url == "http://h/v1"


# --- directories


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a directory, a link within and links out of it."""
    (tmp_path / "root" / "in" / "deep").mkdir(parents=True)
    (tmp_path / "root-2").mkdir()
    (tmp_path / "root" / "file").touch()
    (tmp_path / "root" / "inside").symlink_to("in/deep")
    (tmp_path / "root" / "out").symlink_to(tmp_path)
    (tmp_path / "root" / "self").symlink_to(".")
    (tmp_path / "root" / "in" / "away").symlink_to("../../root-2")
    (tmp_path / "root" / "loop").symlink_to("loop")
    (tmp_path / "link").symlink_to("root")
    return tmp_path / "root"


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("", ""),
        (".", ""),
        ("in", "in"),
        ("in/../in", "in"),
        ("inside", "in/deep"),
        ("inside/..", "in"),
        ("in/", "in"),
        ("{root}/", ""),
        ("self/in", "in"),
        ("{root}", ""),
        ("{root}/in", "in"),
        ("{root}/../link/in", "in"),
    ],
)
@pytest.mark.parametrize("through", ["root", "link", "root/", "link/.", "root-2/../root"])
def test_a_workspace_below_the_root(root: Path, named: str, found: str, through: str) -> None:
    spec = RunSpec(PROMPT, (named.format(root=root),) if named else ())
    pool = LocalPool("here", ("mock",), workspace_root=str(root.parent / through))
    choice = choose(spec, pool)
    assert Path(choice.directory) == root / found
    assert choice.root == str(root)


@pytest.mark.parametrize(
    "named",
    [
        "..",
        "../",
        "in/../..",
        "out",
        "out/",
        "out/root-2",
        "/",
        "{root}-2",
        "{root}/../root-2",
        "self/..",
        "self/self/../",
        "inside/../../..",
        "in/away",
        "in/away/",
        "in/away/.",
    ],
)
def test_a_workspace_outside(root: Path, named: str) -> None:
    spec = RunSpec(PROMPT, (named.format(root=root),))
    pool = LocalPool("here", ("mock",), workspace_root=str(root))
    assert declined(spec, pool).startswith("workspace_outside_root: the workspace lies outside")


@pytest.mark.parametrize("named", ["none", "file", "loop", "in/\0"])
def test_a_workspace_that_is_no_directory(root: Path, named: str) -> None:
    pool = LocalPool("here", ("mock",), workspace_root=str(root))
    assert declined(RunSpec(PROMPT, (named,)), pool).startswith("invalid_argument: ")


def test_without_a_root_a_workspace_is_anywhere_and_starts_at_the_directory(root: Path) -> None:
    pool = LocalPool("here", ("mock",), directory=str(root))
    assert choose(RunSpec(PROMPT), pool).directory == str(root)
    assert choose(RunSpec(PROMPT, ("in",)), pool).directory == str(root / "in")
    assert choose(RunSpec(PROMPT, ("..",)), pool).directory == str(root.parent)
    assert choose(RunSpec(PROMPT), LocalPool("here", ("mock",))).directory == os.getcwd()


def test_a_pushed_root_stands_in_place_of_the_directory(root: Path) -> None:
    pool = LocalPool("here", ("mock",), directory="/")
    spec = pushed(workspace_root=str(root))
    assert choose(spec, pool).directory == str(root)


def test_a_pushed_root_narrows_our_own_and_never_widens_it(root: Path) -> None:
    pool = LocalPool("here", ("mock",), workspace_root=str(root))
    narrow = RunSpec(PROMPT, ("..",), native={"profile": {"workspace_root": str(root / "in")}})
    assert declined(narrow, pool).startswith("workspace_outside_root")
    said = declined(pushed(workspace_root=str(root.parent)), pool)
    assert "outside the one that this machine allows" in said
    assert "absolute path" in declined(pushed(workspace_root="in"), pool)


def test_a_command_s_own_directory_stays_in_the_root_too(root: Path) -> None:
    pool = LocalPool("here", ("shell",), workspace_root=str(root))
    inside = RunSpec(ShellCommand("ls", cwd="deep"), ("in",))
    assert choose(inside, pool).directory == str(root / "in")
    for cwd in ("../..", "away", "away/", "../self/..", "/", f"{root}/../root-2"):
        outside = RunSpec(ShellCommand("ls", cwd=cwd), ("self/in",))
        assert "the working directory lies outside" in declined(outside, pool)


def test_a_directory_that_is_not_there_is_named_as_it_was_given(root: Path) -> None:
    pool = LocalPool("p", ("shell",), directory=str(root))
    run = ShellCommand("ls")
    said = declined(RunSpec(run, ("none",)), pool)
    assert said == (
        "invalid_argument: the workspace 'none', of the run, its entry or set.workspace of its "
        "route, is no directory that exists here; make it, or name another"
    )
    assert f"'{'x' * 200}…'" in declined(RunSpec(run, ("x" * 300,)), pool)
    rooted = LocalPool("p", ("shell",), workspace_root=str(root))
    said = declined(RunSpec(ShellCommand("ls", cwd="none")), rooted)
    assert "the working directory 'none' is no directory" in said
    nowhere = LocalPool("p", ("shell",), directory=str(root / "none"))
    said = declined(RunSpec(run), nowhere)
    assert "the directory where runs work that name no workspace is no directory" in said
