"""What a pool names on this machine is looked at before anything is served."""

from __future__ import annotations

from pathlib import Path

from fleetgate.gateway.check_local import local_problems, local_warnings
from fleetgate.gateway.config import Config, load

TEXT = """\
[gateway]
journal = "memory:"
[[local]]
name = "here"
adapters = ["mock"]
directory = "work"
workspace_root = "root"
script = "s.toml"
"""


def config_in(path: Path, more: str = "") -> Config:
    (path / "gw.toml").write_text(TEXT + more)
    return load(path / "gw.toml", {})


def test_what_is_there_is_no_problem(tmp_path: Path) -> None:
    for name in ("work", "root"):
        (tmp_path / name).mkdir()
    (tmp_path / "s.toml").touch()
    config = config_in(tmp_path, '[[route]]\nfrom = "*"\nto = "here"\n')
    assert list(local_problems(config)) == []
    assert list(local_warnings(config)) == []


def test_what_is_not_there_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('[[when]]\nmatch = "a"\ndo = [{ txt = "" }]\n')
    config = config_in(tmp_path)
    assert [(each.line, each.key, each.message) for each in local_problems(config)] == [
        (6, "local.here.directory", f"there is no directory {tmp_path}/work"),
        (7, "local.here.workspace_root", f"there is no directory {tmp_path}/root"),
        (
            8,
            "local.here.script",
            f"{tmp_path}/s.toml:3: when[1].do[1].txt: no step has this name; did you mean text?",
        ),
    ]


def test_a_pool_that_no_route_leads_to_is_told(tmp_path: Path) -> None:
    (problem,) = local_warnings(config_in(tmp_path))
    assert (problem.line, problem.key) == (3, "local.here")


def test_a_program_that_is_not_on_the_path_is_told(tmp_path: Path) -> None:
    (tmp_path / "gw.toml").write_text("""\
[gateway]
journal = "memory:"
[[local]]
name = "here"
adapters = ["cli"]
[local.cli.a]
command = "sh"
[local.cli.b]
command = "no-such-program"
[local.cli.c]
command = "./maybe-there"
[[route]]
from = "*"
to = "here"
""")
    (warning,) = local_warnings(load(tmp_path / "gw.toml", {}))
    assert (warning.line, warning.key) == (9, "local.here.cli.b.command")
    assert "no program of the name no-such-program is on the PATH" in warning.message
