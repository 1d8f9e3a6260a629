"""docs/reference/python.md has every public name, and its examples work."""

from __future__ import annotations

import importlib
import re
import runpy
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "python_reference.py"))
PAGE = (ROOT / "docs" / "reference" / "python.md").read_text()

pytest_plugins = ["pytester"]


def test_the_page_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert TOOL["main"](["--check"]) == 0, capsys.readouterr().err


def test_a_page_without_a_place_for_a_module_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"has no place for fleetgate\.gateway\.fakes"):
        TOOL["rendered"]("nothing")


@pytest.mark.parametrize("module", TOOL["MODULES"])
def test_the_list_is_what_the_module_has_for_everybody(module: str) -> None:
    _, _, rest = PAGE.partition(f"<!-- {module} -->")
    listed = re.findall(r"^\| \*\*`(\w+)`\*\*", rest.partition("<!-- end -->")[0], re.MULTILINE)
    public = importlib.import_module(module)
    assert listed == sorted(public.__all__)
    assert set(listed) <= set(dir(public))
    with pytest.raises(AttributeError):
        _ = public.NoSuchName


def test_every_example_is_a_test_that_passes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 5
    for number, block in enumerate(blocks):
        pytester.makepyfile(**{f"test_example_{number}": block})
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    plugins = (TOOL["PLUGIN"], "pytest_trio.plugin", "pytest_asyncio.plugin")
    words = [word for plugin in plugins for word in ("-p", plugin)]
    with tempfile.TemporaryDirectory() as place:  # a socket's path must not be long
        done = pytester.runpytest_subprocess(*words, f"--basetemp={place}/t", timeout=120)
    done.assert_outcomes(passed=5)
