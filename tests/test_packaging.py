"""What is built is what is in the tree: sdist first, then the wheel from the sdist."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from fleetgate import __version__

ROOT = Path(__file__).parent.parent
ROOMS = ("core", "gateway", "protocols", "schemas", "transports")


def tree() -> set[str]:
    """Every file that the package has, by its name in the package."""
    package = ROOT / "src" / "fleetgate"
    own = {path.name for path in package.iterdir() if path.is_file()}
    inside = {
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    return {f"fleetgate/{name}" for name in own | inside}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-P", "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_sdist_is_a_plain_tree_without_links(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as sdist:
        assert [member.name for member in sdist if not member.isfile()] == []
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {f"src/{name}" for name in tree()} <= names
    assert {"LICENSE", "README.md", "pyproject.toml", "tests/test_packaging.py"} <= names


def test_the_wheel_has_every_file_of_the_tree_and_no_other(wheel: zipfile.ZipFile) -> None:
    """Through the sdist: hatchling leaves out, without a word, what it reached by another
    name before, and only this way shows it."""
    info = f"fleetgate-{__version__}.dist-info"
    names = {name for name in wheel.namelist() if not name.startswith(info)}
    assert names == tree()
    assert f"{info}/licenses/LICENSE" in wheel.namelist()


def test_the_wheel_carries_types_and_schemas(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert "fleetgate/py.typed" in names
    protos = {str(path.relative_to(ROOT)) for path in (ROOT / "schemas").rglob("*.proto")}
    assert protos
    assert {f"fleetgate/{name}" for name in protos} <= set(names)


def test_what_is_in_the_wheel_runs(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """From the wheel's own files: as `python -m fleetgate`, and as the script's function."""
    wheel.extractall(tmp_path)
    (scripts,) = tmp_path.glob("*.dist-info/entry_points.txt")
    assert "gateway = fleetgate.gateway.cli:main" in scripts.read_text()
    where = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import fleetgate"
    module = f"{where}, runpy; assert fleetgate.__file__.startswith({str(tmp_path)!r})"
    for run in (
        "sys.argv = ['gateway', 'version']; runpy.run_module('fleetgate', run_name='__main__')",
        "sys.argv = ['gateway', 'version']; from fleetgate.gateway.cli import main; main()",
    ):
        done = subprocess.run(
            [sys.executable, "-P", "-c", f"{module}; {run}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert __version__ in done.stdout
