"""What the lane builds: our crate over the genuine ones, and the genuine daemon."""

import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from programs import Program, alone, run

CRATE = Path(__file__).parent / "crate"
DAEMON = "0.1.6"


@pytest.fixture(scope="session")
def crate(cache: Path) -> Path:
    """Our program, built from a copy of its crate. Cargo does nothing where nothing changed."""
    with alone(cache):
        copy = cache / "crate"
        shutil.copytree(CRATE, copy, dirs_exist_ok=True)
        run(["cargo", "build", "--target-dir", cache / "target"], cwd=copy)
    return cache / "target" / "debug" / "fleetgate-interop-agency"


@pytest.fixture(scope="session")
def crates(crate: Path, cache: Path) -> list[str]:
    """The genuine crates that `crate` was really built from. The lock file knows: `cargo metadata`
    asks for those of every platform, too, of which a build fetches none."""
    with alone(cache):  # or another worker may just build, and half of the file is read
        packages = tomllib.loads((cache / "crate" / "Cargo.lock").read_text())["package"]
    met = ("agency-proxy-client", "agency-proxy-protocol", "serde_json")
    return [f"{each['name']} {each['version']}" for each in packages if each["name"] in met]


@pytest.fixture(scope="session")
def daemon(cache: Path) -> Path:
    """The genuine daemon's program, from its package."""
    with alone(cache):
        program = cache / f"daemon-{DAEMON}" / "bin" / "agency-proxy"
        if not program.exists():
            words = ["cargo", "install", "--locked", "--version", DAEMON, "agency-proxy"]
            run([*words, "--root", program.parents[1], "--target-dir", cache / "target-daemon"])
    return program


@pytest.fixture
def oracle(
    crate: Path, crates: list[str], record_property: Callable[[str, object], None]
) -> Iterator[Program]:
    """The genuine types behind a line protocol."""
    for name in crates:
        record_property("peer", name)
    with Program([crate, "oracle"]) as program:
        yield program
