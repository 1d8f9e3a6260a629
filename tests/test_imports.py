"""Who may import whom: what import-linter cannot say, and that what it says bites."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("core", "gateway", "protocols", "schemas", "transports")
VALUES = frozenset(
    {
        "answers",
        "commands",
        "errors",
        "events",
        "ids",
        "json",
        "run",
        "sequence",
        "session",
        "values",
        "worker",
    }
)
"""The value half of the core."""

PURE = frozenset(
    {
        *("__future__", "collections", "enum", "hashlib", "operator", "reprlib", "types"),
        *("typing", "attrs"),
    }
)
"""What a value may be made of: nothing here waits, measures time or draws lots."""


def contracts() -> list[dict[str, Any]]:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    found: list[dict[str, Any]] = tool["importlinter"]["contracts"]
    return found


def contract(kind: str, source: str = "") -> dict[str, Any]:
    (found,) = (
        item
        for item in contracts()
        if item["type"] == kind and (not source or source in item["source_modules"])
    )
    return found


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports; `from fleetgate.core import run` is one of run."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module in {f"fleetgate.{room}" for room in ROOMS}:
                yield from (f"{module}.{alias.name}" for alias in node.names)
            else:
                yield module


# --- values


@pytest.mark.parametrize("name", sorted(VALUES))
def test_a_value_is_made_of_values(name: str) -> None:
    allowed = {f"fleetgate.core.{other}" for other in VALUES}
    for module in imported(ROOT / "core" / f"{name}.py"):
        assert module in allowed or module.split(".")[0] in PURE, module


def test_the_contract_lists_the_values() -> None:
    listed = set(contract("forbidden", "fleetgate.core.run")["source_modules"])
    assert listed >= {f"fleetgate.core.{name}" for name in VALUES}
    assert {
        name for name in listed if not (ROOT / f"{name[10:].replace('.', '/')}.py").is_file()
    } == set()


def test_the_values_do_not_need_the_engine() -> None:
    """Importing them loads no event loop and no third party but attrs."""
    program = (
        "import sys; before = set(sys.modules)\n"
        + "".join(f"import fleetgate.core.{name}\n" for name in sorted(VALUES))
        + "import json; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], check=True, capture_output=True, text=True
    )
    loaded = {name.split(".")[0] for name in json.loads(done.stdout)}
    third = loaded - set(sys.stdlib_module_names) - {"fleetgate"}
    assert third <= {"attr", "attrs"}
    assert "asyncio" not in loaded


# --- no async

ASYNC = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)


def without_async() -> list[Path]:
    """What must never wait: the protocols and the values."""
    return [
        *sorted((ROOT / "protocols").rglob("*.py")),
        *(ROOT / "core" / f"{name}.py" for name in sorted(VALUES)),
    ]


def asynchronous(tree: ast.AST) -> list[ast.AST]:
    comprehensions = [
        node for node in ast.walk(tree) if isinstance(node, ast.comprehension) and node.is_async
    ]
    return [*comprehensions, *(node for node in ast.walk(tree) if isinstance(node, ASYNC))]


@pytest.mark.parametrize("path", without_async(), ids=lambda path: str(path.relative_to(ROOT)))
def test_protocols_and_values_never_wait(path: Path) -> None:
    assert asynchronous(ast.parse(path.read_text())) == []
    assert "trio" not in {module.split(".")[0] for module in imported(path)}


@pytest.mark.parametrize(
    "text",
    [
        "async def f(): pass",
        "async def f():\n    await g()",
        "async def f():\n    return [x async for x in y]",
    ],
)
def test_the_search_for_async_finds_it(text: str) -> None:
    assert asynchronous(ast.parse(text))


# --- asyncio

ASYNCIO = frozenset({"asyncio", "trio_asyncio", "grpclib", "h2", "hyperframe", "hpack"})
"""asyncio, and what gRPC brings with it."""


def product() -> list[Path]:
    return [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def test_only_grpc_knows_of_asyncio() -> None:
    knowing = {
        str(path.relative_to(ROOT)): roots
        for path in product()
        if (roots := {module.split(".")[0] for module in imported(path)} & ASYNCIO)
    }
    # Tests of others may run on asyncio: a fake in a thread lets their loop go on.
    assert knowing.pop("gateway/fakes/beside.py") == {"asyncio"}
    assert all(re.fullmatch(r"transports/grpc_\w+\.py", name) for name in knowing), knowing
    asyncio = {name for name, roots in knowing.items() if roots & {"asyncio", "trio_asyncio"}}
    asyncio.remove("transports/grpc_http2_testing.py")  # what tests put in a connection's place
    own = ("connection", "loop", "parting")
    assert asyncio == {f"transports/grpc_{name}.py" for name in own}


def test_whoever_has_no_grpc_address_has_no_asyncio() -> None:
    """trio-asyncio replaces asyncio's loop policy in the whole process when it is imported."""
    program = (
        "import sys; import fleetgate.gateway.cli, fleetgate.transports.open; "
        "print({'trio_asyncio', 'grpclib', 'fleetgate.transports.grpc'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout == "set()\n"


# --- the contracts


def test_every_protocol_is_a_stranger_to_the_others() -> None:
    folders = {
        f"fleetgate.protocols.{path.parent.name}"
        for path in (ROOT / "protocols").glob("*/__init__.py")
    }
    assert set(contract("independence")["modules"]) == folders


PLANTED = {
    "fleetgate/core/run.py": "import os",
    "fleetgate/core/__init__.py": "import fleetgate.protocols.api",
    "fleetgate/core/hub.py": "import socket",
    "fleetgate/protocols/agency/wire.py": "import fleetgate.protocols.rvbox.wire",
    "fleetgate/protocols/api.py": "import fleetgate.helper",
    "fleetgate/helper.py": "import trio",
    "fleetgate/transports/api.py": "import fleetgate.core.run",
    "fleetgate/gateway/clock.py": "import fleetgate.schemas",
}
"""A breach of each contract; the one of the protocols goes by way of a third module."""


def test_a_breach_of_each_contract_is_caught(tmp_path: Path) -> None:
    """A contract that names a module that no longer exists, or ignores too much, would
    be kept by anything."""
    for room in ROOMS:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / room, tmp_path / "fleetgate" / room, ignore=ignore)
    for name in ("__init__.py", "__main__.py"):
        shutil.copy(ROOT / "src" / "fleetgate" / name, tmp_path / "fleetgate" / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, line in PLANTED.items():
        with (tmp_path / name).open("a") as file:
            file.write(f"\n{line}\n")
    program = (
        "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports_command"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-c",
            f"{program}; lint_imports_command()",
            "--no-cache",
            "--no-logo",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    verdicts = {item["name"]: f"{item['name']} BROKEN" in done.stdout for item in contracts()}
    assert verdicts == dict.fromkeys(verdicts, True), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("import core.run\n", "TID251"),
        ("from protocols import api\n", "TID251"),
        ("import gateway\n", "TID251"),
        ("from .run import Run\n", "TID252"),
    ],
)
def test_there_is_one_spelling_of_an_import(line: str, rule: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--stdin-filename", "core/some.py", "-"],
        cwd=ROOT,
        input=line,
        capture_output=True,
        text=True,
        check=False,
    )
    assert rule in done.stdout
