"""What an edge sets at a node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from fleetgate.core.commands import RunSpec, ShellCommand
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.config import apply, enabled_types, read_config
from fleetgate.protocols.iop.errors import Refused
from fleetgate.protocols.iop.testing import payloads

KNOWN = ("mock", "cli", "ollama", "vllm")
CLI = w.CLIAdapterConfig({"sh": w.CLIProfileConfig("sh", ("-c",), startup_idle_timeout_ms=5)})


@given(payloads(w.RegisterResponse))
def test_a_configuration_is_read_from_what_it_is_as_json(answer: w.RegisterResponse) -> None:
    config = answer.config or w.NodeConfigPayload()
    concurrency = config.runtime.concurrency if config.runtime else 0
    if concurrency < 0 or not all(adapter.type for adapter in config.adapters):
        with pytest.raises(ValueError, match="config"):
            read_config(codec.to_json(config))
    else:
        assert read_config(codec.to_json(config)) == config


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ([], "expected an object"),
        ({"adapter": []}, "unknown key adapter; known: adapters, runtime"),
        ({"adapters": [{"type": "cli", "enabled": "yes"}]}, "true or false"),
        ({"adapters": [{"enabled": True}]}, "an adapter has a type"),
        ({"adapters": [{"type": "x", "cli": {}, "vllm": {}}]}, "at most one"),
        (
            {"adapters": [{"type": "cli", "cli": {"profiles": {"p": {"cmd": "x"}}}}]},
            "unknown key cmd",
        ),
        ({"runtime": {"concurrency": -1}}, "from 0 to"),
        ({"runtime": {"concurrency": 1.5}}, "an integer"),
    ],
)
def test_a_mistake_is_named(table: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        read_config(table)


def test_without_adapters_nothing_is_restricted() -> None:
    assert enabled_types(w.NodeConfigPayload()) is None
    some = (w.AdapterConfig("cli", True), w.AdapterConfig("vllm"))
    assert enabled_types(w.NodeConfigPayload(some)) == {"cli"}


def profile(applied: Any, **request: Any) -> Any:
    return applied.profile(w.RunRequest("r", **request))


def test_a_node_without_a_configuration_runs_anything_anywhere() -> None:
    for config in (None, w.NodeConfigPayload()):
        applied = apply(config, KNOWN)
        assert (applied.root, applied.at_once, applied.unsupported) == ("", None, ())
        assert profile(applied, adapter="whatever", target="t", session_id="s") == {
            "adapter": "whatever",
            "target": "t",
            "config": {},
            "workspace_root": "",
            "session": "s",
            "session_mode": "create",
        }


def test_the_typed_configuration_wins_over_settings_and_those_stand_alone() -> None:
    settings = {"base_url": "http://x", "n": 1.5}
    config = w.NodeConfigPayload(
        (
            w.AdapterConfig("cli", True, settings, cli=CLI),
            w.AdapterConfig("ollama", True, settings),
            w.AdapterConfig("mock", True),
            w.AdapterConfig("vllm", False, vllm=w.VllmAdapterConfig("http://y")),
        ),
        w.NodeRuntimeConfig(3, "/work"),
    )
    applied = apply(config, KNOWN)
    assert applied.at_once == 3
    (sh,) = profile(applied, adapter="cli", session_mode=2)["config"]["profiles"].values()
    assert sh == {"command": "sh", "args": ["-c"], "startup_idle_timeout_ms": 5}
    assert profile(applied, adapter="cli", session_mode=2)["session_mode"] == "require"
    assert profile(applied, adapter="ollama")["config"] == settings
    assert profile(applied, adapter="mock")["config"] == {}
    assert profile(applied, adapter="mock")["workspace_root"] == "/work"
    for adapter in ("vllm", "", "quantum"):
        with pytest.raises(Refused, match="unsupported_adapter"):
            profile(applied, adapter=adapter)


ROOTED = apply(w.NodeConfigPayload(runtime=w.NodeRuntimeConfig(0, "/work/x")), KNOWN)


@pytest.mark.parametrize(
    ("named", "where"),
    [
        ("", "/work/x"),
        ("/work/x", "/work/x"),
        ("/work/x/", "/work/x"),
        (".", "/work/x"),
        ("./", "/work/x"),
        ("a/b", "/work/x/a/b"),
        ("a//b/", "/work/x/a/b"),
        ("/work/x/a", "/work/x/a"),
        ("a/../b", "/work/x/b"),
        ("a/..", "/work/x"),
        ("/work/x/a/../../x/b", "/work/x/b"),
        ("..a", "/work/x/..a"),
        ("//work/x", "/work/x"),
        ("///work//x/a", "/work/x/a"),
    ],
)
def test_a_workspace_lies_in_the_root(named: str, where: str) -> None:
    assert ROOTED.workspace(named) == where


@pytest.mark.parametrize(
    "named",
    [
        "..",
        "../",
        "a/../..",
        "a/../../",
        "../x2",
        "../x/../y",
        "//work/x/..",
        "../../work/x2",
        "/",
        "/work",
        "/work/x2",
        "/work/x/../y",
    ],
)
def test_a_workspace_outside_the_root_is_refused(named: str) -> None:
    with pytest.raises(Refused, match=r"^workspace_outside_root: .* root /work/x; name one"):
        ROOTED.workspace(named)


@pytest.mark.parametrize("root", ["{at}/root", "{at}/root/", "{at}//root/.", "{at}/none/../root"])
@pytest.mark.parametrize("named", ["self/..", "self/../x", "a/self/../..", "in/../in", "self/"])
def test_what_lies_in_the_root_by_its_words_lies_there_on_a_disk_too(
    tmp_path: Path, root: str, named: str
) -> None:
    """`self/..` is the root by its words. Behind a link to the root the system takes it for what
    the root lies in."""
    (tmp_path / "root" / "a").mkdir(parents=True)
    (tmp_path / "root" / "in").mkdir()
    for link in (tmp_path / "root" / "self", tmp_path / "root" / "a" / "self"):
        link.symlink_to(tmp_path / "root")
    set_ = w.NodeConfigPayload(runtime=w.NodeRuntimeConfig(0, root.format(at=tmp_path)))
    applied = apply(set_, KNOWN)
    given = Path(applied.workspace(named))
    assert ".." not in given.parts
    assert given.resolve().is_relative_to(tmp_path / "root")


def test_a_run_is_placed_with_all_its_directories() -> None:
    shell = ShellCommand("ls", cwd="self/../c")
    placed = ROOTED.placed(RunSpec(shell, ("a/../b", "/work/x/d/")))
    assert placed.workspace == ("/work/x/b", "/work/x/d")
    assert placed.input == ShellCommand("ls", cwd="/work/x/b/c")
    assert ROOTED.placed(RunSpec(shell)).workspace == ("/work/x",)
    assert ROOTED.placed(RunSpec(ShellCommand("ls"))).input == ShellCommand("ls")
    anywhere = RunSpec(shell, ("a/../b",))
    assert apply(None, KNOWN).placed(anywhere) == anywhere
    for spec in (
        RunSpec(ShellCommand("ls", cwd="../.."), ("a",)),
        RunSpec(ShellCommand("ls", cwd="/etc"), ("a",)),
        RunSpec(shell, ("a", "../b")),
    ):
        with pytest.raises(Refused, match="workspace_outside_root"):
            ROOTED.placed(spec)


def test_a_root_that_is_all_is_no_bound_and_none_leaves_it_as_written() -> None:
    everywhere = apply(w.NodeConfigPayload(runtime=w.NodeRuntimeConfig(0, "/")), KNOWN)
    assert everywhere.workspace("../etc") == "/etc"
    assert apply(None, KNOWN).workspace("../etc") == "../etc"


@pytest.mark.parametrize("root", ["work", "./work", "~"])
def test_a_root_that_is_relative_bounds_nothing_and_is_refused(root: str) -> None:
    applied = apply(w.NodeConfigPayload(runtime=w.NodeRuntimeConfig(0, root)), KNOWN)
    with pytest.raises(Refused, match="invalid_argument: workspace_root"):
        applied.workspace("a")


def test_an_unknown_type_is_told_once_and_may_not_run() -> None:
    unknown = w.AdapterConfig("quantum", True)
    applied = apply(w.NodeConfigPayload((unknown, unknown, w.AdapterConfig("mock", True))), KNOWN)
    assert applied.unsupported == ("quantum",)
    with pytest.raises(Refused):
        profile(applied, adapter="quantum")


def test_no_bound_is_none() -> None:
    config = w.NodeConfigPayload(runtime=w.NodeRuntimeConfig(0))
    assert apply(config, KNOWN).at_once is None


def test_with_a_bound_below_zero_no_run_is_taken() -> None:
    applied = apply(w.NodeConfigPayload(runtime=w.NodeRuntimeConfig(-7)), KNOWN)
    with pytest.raises(Refused, match=r"runtime.concurrency must be 0 .* -7 came") as refused:
        profile(applied)
    assert refused.value.code == "invalid_argument"


@pytest.mark.limit("protocols/iop/config.LONGEST_PATH")
def test_a_refusal_repeats_so_much_of_a_root() -> None:
    root = "/" + "x" * 3000
    rooted = apply(w.NodeConfigPayload(runtime=w.NodeRuntimeConfig(0, root)), KNOWN)
    with pytest.raises(Refused) as refused:
        rooted.workspace("/elsewhere")
    assert f" root {root[:256]}; name one" in refused.value.message
