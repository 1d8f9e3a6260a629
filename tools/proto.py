"""Make schemas/**/*_pb2.py and *_pb2.pyi from the .proto files beside them.

    python tools/proto.py            write them
    python tools/proto.py --check    compare with what is there; 1 and the names where they differ

protoc (from grpcio-tools) gives the stubs and each file's serialized descriptor. The
modules around the descriptors are ours, because protoc's own are tied to a runtime at
least as new as itself, put everything into the process's default descriptor pool, and
import one another by proto path.
"""

import argparse
import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
from google.protobuf import descriptor_pb2

ROOT = Path(__file__).resolve().parent.parent
PRIVATE = "rvbox/"
"""Proto paths that stay out of the default pool: `rvbox/v1/common.proto` is a
reconstruction, so a process may well hold another file of that name."""
OURS = "fleetgate/"
"""The prefix of our own files' proto paths; the protocols' files keep their published paths."""
BYTES_PER_LINE = 64
CURE = "run `just proto` with the grpcio-tools of constraints.txt; protoc's stubs vary"


@attrs.frozen
class Source:
    """A .proto file: its place in `schemas`, and the path by which protobuf knows it."""

    file: Path
    proto_path: str

    @property
    def stem(self) -> Path:
        """Where its generated files go, without their suffix."""
        return self.file.with_name(self.file.stem + "_pb2")


def sources(schemas: Path) -> list[Source]:
    """Every .proto file under `schemas`."""
    found: list[Source] = []
    for file in sorted(schemas.rglob("*.proto")):
        place = file.relative_to(schemas).as_posix()
        found.append(Source(file, OURS + place if place.startswith("journal/") else place))
    return found


def generate(schemas: Path) -> dict[Path, str]:
    """All generated files, by path.

    Raises: `SystemExit` where protoc refuses a file; it has said why.
    """
    made: dict[Path, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        given, out = Path(scratch, "in"), Path(scratch, "out")
        found = sources(schemas)
        _run_protoc(found, given, out)
        for source in found:
            base = str(out / source.proto_path.removesuffix(".proto"))
            made[source.stem.with_suffix(".pyi")] = _stub(Path(base + "_pb2.pyi").read_text())
            serialized = _descriptor_in(Path(base + "_pb2.py").read_text())
            made[source.stem.with_suffix(".py")] = _module(source, serialized)
    return made


def _run_protoc(found: Sequence[Source], given: Path, out: Path) -> None:
    out.mkdir()
    for source in found:
        copy = given / source.proto_path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(source.file.read_bytes())
    protoc = [sys.executable, "-m", "grpc_tools.protoc"]
    options = [f"-I{given}", f"--python_out={out}", f"--pyi_out={out}"]
    if subprocess.run([*protoc, *options, *(s.proto_path for s in found)]).returncode:
        raise SystemExit("protoc refused the files; its own words are above")


def _descriptor_in(module: str) -> bytes:
    """The serialized descriptor that protoc wrote into a module, byte for byte: then a
    user's own code for the same file is equal to ours and loads beside it."""
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
            return node.value
    raise SystemExit("protoc's Python output holds no serialized descriptor; its form has changed")


def _module(source: Source, serialized: bytes) -> str:
    private = source.proto_path.startswith(PRIVATE)
    needed = descriptor_pb2.FileDescriptorProto.FromString(serialized).dependency
    imports = sorted(_imports(needed, private), key=lambda line: line.split(" as ")[0])
    pool = "POOL" if private else "descriptor_pool.Default()"
    return "\n".join(
        [
            f'"""Made by tools/proto.py from {source.proto_path}. Change that file instead."""',
            "# pyright: reportUnusedImport=false",
            "# What the file imports must be in the pool before it.",
            "",
            *imports,
            "",
            "DESCRIPTOR = load(",
            f"    {pool},",
            "    globals(),",
            *(f"    {piece!r}" for piece in _pieces(serialized)),
            ")",
            "",
        ]
    )


def _imports(needed: Sequence[str], private: bool) -> Iterator[str]:
    yield "from fleetgate.schemas.loading import load"
    if private:
        yield "from fleetgate.schemas.rvbox.v1.pool import POOL"
    else:
        yield "from google.protobuf import descriptor_pool"
    for path in needed:
        folder, _, name = path.removesuffix(".proto").rpartition("/")
        if not path.startswith("google/protobuf/"):
            yield f"from {_package(folder)} import {name}_pb2 as _{name}"
        elif not private:
            yield f"from google.protobuf import {name}_pb2 as _{name}"


def _package(folder: str) -> str:
    return "fleetgate.schemas." + folder.removeprefix(OURS).replace("/", ".")


def _pieces(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), BYTES_PER_LINE):
        yield data[at : at + BYTES_PER_LINE]


def _stub(text: str) -> str:
    """protoc's stub with our imports, and with the bare `Mapping` that strict checkers
    refuse given its arguments."""

    def rewritten(match: re.Match[str]) -> str:
        folder = match[1].replace(".", "/")
        return match[0] if folder == "google/protobuf" else f"from {_package(folder)} import "

    text = re.sub(r"^from ([\w.]+) import (?=\w+_pb2 )", rewritten, text, flags=re.MULTILINE)
    text = text.replace(", _Mapping]]", ", _Mapping[str, _Any]]]")
    if "_Any" in text:
        text = text.replace("from typing import ", "from typing import Any as _Any, ", 1)
    return text


def differing(made: dict[Path, str], schemas: Path) -> list[Path]:
    """Generated files that are missing, differ, or belong to no .proto file any more."""
    there = {p for suffix in ("py", "pyi") for p in schemas.rglob(f"*_pb2.{suffix}")}
    stale = [p for p, text in made.items() if not p.exists() or p.read_text() != text]
    return sorted([*stale, *(there - made.keys())])


def main(arguments: Sequence[str] | None = None, schemas: Path = ROOT / "schemas") -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check: bool = parser.parse_args(arguments).check
    made = generate(schemas)
    found = differing(made, schemas)
    for path in found:
        if check:
            name = path.relative_to(schemas.parent)
            sys.stderr.write(f"{name} is not what its .proto makes: {CURE}\n")
        elif path in made:
            path.write_text(made[path])
        else:
            path.unlink()
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main())
