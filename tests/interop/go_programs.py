"""The peers in Go, built once: generated code first, made of our own .proto files.

The sources lie in `go/`; they are copied to the cache, for nothing that is generated belongs in
the tree. Versions are those of `go/go.mod`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from programs import alone, run

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE.parent.parent / "schemas"
MODULE = "fleetgate.example/interop"
PLUGINS = (
    "google.golang.org/protobuf/cmd/protoc-gen-go",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc",
)
PACKAGES = {
    "iop": ("iop/runtime.proto", "iop/link.proto"),
    "rvbox": ("rvbox/v1/common.proto", "rvbox/v1/agent.proto"),
}


@pytest.fixture(scope="session")
def programs(cache: Path) -> Path:
    """The folder with the programs."""
    return build(cache)


def build(cache: Path) -> Path:
    """The folder with the programs. Two builds at a time wait for each other; one whose sources
    did not change takes a second."""
    folder = cache.parent / "go"
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        work = folder / "work"
        shutil.copytree(HERE / "go", work, dirs_exist_ok=True)
        run(["go", "build", "-o", "bin/", *PLUGINS], cwd=work)
        for package, files in PACKAGES.items():
            generate(work, package, files)
        run(["go", "build", "-o", "bin/", "./iop", "./kodelet", "./rvbox", "./websocket"], cwd=work)
        return work / "bin"


def generate(work: Path, package: str, files: tuple[str, ...]) -> None:
    """protoc's Go of some files, as one package."""
    place = f"{MODULE}/gen/{package};{package}"
    options = []
    for plugin in ("go", "go-grpc"):
        options += [f"--plugin=bin/protoc-gen-{plugin}", f"--{plugin}_out=."]
        options += [f"--{plugin}_opt=module={MODULE}"]
        options += [f"--{plugin}_opt=M{file}={place}" for file in files]
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{SCHEMAS}"]
    run([*protoc, *options, *files], cwd=work)


def versions(program: Path, *modules: str) -> list[str]:
    """The compiler and some modules as they are in a program."""
    said = run(["go", "version", "-m", program])
    compiler = re.search(r": (go\S+)", said)
    assert compiler is not None
    found = [compiler[1]]
    for module in modules:
        version = re.search(rf"\sdep\s+{re.escape(module)}\s+(\S+)", said)
        assert version is not None, module
        found.append(f"{module} {version[1]}")
    return found


def install(cache: Path, package: str, version: str) -> Path:
    """A program of others, built once: the path of it."""
    folder = cache.parent / "go" / "installed"
    folder.mkdir(parents=True, exist_ok=True)
    of_version = folder / version  # or another version would be taken for this one
    program = of_version / package.rpartition("/")[2]
    with alone(folder):
        if not program.exists():
            command = ["go", "install", f"{package}@{version}"]
            run(command, env=os.environ | {"GOBIN": str(of_version), "GOFLAGS": ""})
    return program


def version_of(program: Path) -> str:
    """Name and version of the module that a program was made of."""
    said = run(["go", "version", "-m", program])
    found = re.search(r"\smod\s+(\S+)\s+(\S+)", said)
    assert found is not None
    return f"{found[1]} {found[2]}"
