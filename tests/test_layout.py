"""The tree is the architecture: rooms, links, mirrored tests, sizes, and the house's papers."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("core", "gateway", "protocols", "schemas", "transports")
PROTOCOLS = ("agency", "iop", "kodelet", "rvbox")
ADAPTER_FILES = {"wire", "codec", "state", "translate", "northbound", "southbound"}

UNTESTED: dict[str, str] = {}
"""Source files without a test file of their own, and why. The list can only shrink: a
file that has its test, or is gone, must leave it."""

TALL: dict[str, str] = {}
"""Source files above 400 lines, and why. This list can only shrink, too."""

NURSERIES = {"serve.py", "house.py", "keeper.py", "connection.py"}
"""Files at the top of gateway/ that open one, as docs/adr/0007 says why."""

MOST_LINES = 400
LONGEST_FUNCTION = 60


def sources() -> Iterator[Path]:
    """What people write: no generated code, no `__init__.py` (see the glossary test)."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if path.name != "__init__.py" and not path.stem.endswith("_pb2"):
                yield path.relative_to(ROOT)


def protocol_folders() -> list[str]:
    return sorted(name for name in PROTOCOLS if (ROOT / "protocols" / name).is_dir())


# --- rooms


def test_the_import_name_is_five_relative_links() -> None:
    package = ROOT / "src" / "fleetgate"
    links = {path.name: path.readlink() for path in package.iterdir() if path.is_symlink()}
    assert links == {room: Path("..", "..", room) for room in ROOMS}, (
        "this checkout has no symbolic links; on Windows use WSL"
    )
    files = {path.name for path in package.iterdir() if path.is_file() and not path.is_symlink()}
    assert files == {"__init__.py", "__main__.py", "py.typed"}


def test_the_type_checkers_see_every_room() -> None:
    """pyright walks through no link, so a room that is not named is not checked."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    rooms = {f"src/fleetgate/{room}" for room in ROOMS}
    assert set(tool["pyright"]["include"]) == {"src/fleetgate", *rooms}
    assert tool["mypy"]["packages"] == ["fleetgate"]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_opens_with_a_glossary_and_no_code(room: str) -> None:
    tree = ast.parse((ROOT / room / "__init__.py").read_text())
    assert len(tree.body) == 1
    nouns = re.findall(r"^\w[\w ,/`*.]*$\n    \S", ast.get_docstring(tree) or "", re.MULTILINE)
    assert len(nouns) >= 5


@pytest.mark.parametrize("name", protocol_folders())
def test_every_protocol_folder_has_the_same_files(name: str) -> None:
    there = {path.stem for path in (ROOT / "protocols" / name).glob("*.py")}
    assert there >= ADAPTER_FILES


@pytest.mark.parametrize("name", protocol_folders())
def test_no_protocol_names_another(name: str) -> None:
    others = re.compile(rf"\b({'|'.join(set(PROTOCOLS) - {name})})\b", re.IGNORECASE)
    naming = {
        f"{path.relative_to(ROOT)}:{number}"
        for path in (ROOT / "protocols" / name).rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if others.search(line)
    }
    assert naming == set()


PAIRED: dict[str, str] = {
    "gateway/registry.py": "the list of protocols",
    "gateway/promise.py": "what is promised for each protocol's workers, as one table",
    "gateway/fakes": "one module for each fake, and their list",
    "gateway/demo": "shows pairs",
    "gateway/bench": "measures pairs",
}
"""Where a file may name two protocols, and why. This list can only shrink, too."""


def test_there_is_no_code_for_a_pair_of_protocols() -> None:
    names = re.compile(rf"\b({'|'.join(PROTOCOLS)})\b", re.IGNORECASE)
    paired = {
        str(path)
        for path in sources()
        if path.parts[0] in ("core", "gateway", "protocols")
        and len({found.lower() for found in names.findall((ROOT / path).read_text())}) > 1
    }
    allowed = {path: reason for path in paired for reason in PAIRED if path.startswith(reason)}
    assert paired - set(allowed) == set(), "a bridge is one translation in and another out"
    assert set(PAIRED) - set(allowed.values()) == set(), "take these out of the list"


# --- tests mirror the rooms


def test_every_source_file_has_its_test_file() -> None:
    missing = {str(path) for path in sources() if not _test_of(path).is_file()}
    assert missing - set(UNTESTED) == set(), "write the mirrored test file"
    assert set(UNTESTED) - missing == set(), "the list of exemptions only shrinks: take these out"


def _test_of(path: Path) -> Path:
    return ROOT / "tests" / path.with_name(f"test_{path.name}")


def test_tests_are_no_packages() -> None:
    """A tests/core/__init__.py would be imported in place of the room."""
    assert list((ROOT / "tests").rglob("__init__.py")) == []


# --- tasks


def test_nurseries_are_opened_where_the_tree_of_tasks_says() -> None:
    opening = {
        path.name for path in (ROOT / "gateway").glob("*.py") if "open_nursery(" in path.read_text()
    }
    assert opening == NURSERIES


# --- what is promised


def test_each_invariant_has_a_property_test_of_its_own_name() -> None:
    """I1 to I12 of docs/README.md: a name has the one number that it stands for."""
    proven = {
        found[1]
        for path in ("tests/core/test_hub_invariants.py", "tests/gateway/test_connection.py")
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.FunctionDef)
        and (found := re.match(r"test_(i\d+)_(?!i\d)", node.name))
        and any(_is_drawn(decorator) for decorator in node.decorator_list)
    }
    table = (ROOT / "docs" / "README.md").read_text()
    promised = {name.lower() for name in re.findall(r"^\| (I\d+) ", table, re.MULTILINE)}
    assert promised == {f"i{number}" for number in range(1, 13)}
    assert proven == promised


def _is_drawn(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Name) and called.id in ("given", "whatever")


# --- sizes


def test_no_file_is_taller_than_its_reason() -> None:
    tall = {
        str(path) for path in sources() if len((ROOT / path).read_text().splitlines()) > MOST_LINES
    }
    assert tall - set(TALL) == set(), f"more than {MOST_LINES} lines: split it, or say why not"
    assert set(TALL) - tall == set(), "the list of tall files only shrinks: take these out"


def test_no_function_is_longer_than_the_wall() -> None:
    long = {
        f"{path}:{node.lineno} {node.name}"
        for path in sources()
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    }
    assert long == set()


# --- the papers


def _recipes() -> dict[str, list[str]]:
    """The justfile's recipes and the lines of each."""
    just = [str(Path(sys.executable).with_name("just")), "--dump", "--dump-format=json"]
    done = subprocess.run(just, cwd=ROOT, check=True, capture_output=True, text=True)
    return {
        name: ["".join(map(str, line)) for line in recipe["body"]]
        for name, recipe in json.loads(done.stdout)["recipes"].items()
    }


RECIPES = {
    "ci",
    "fmt",
    "lint",
    "types",
    "imports",
    "test",
    "cov",
    "proto",
    "proto-check",
    "wheel",
    "interop",
    "bench",
    "deep-fuzz",
    "chaos",
}


def test_just_ci_is_what_ci_runs() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    recipes = _recipes()
    assert set(recipes) >= RECIPES
    assert recipes["ci"] == ["bash .ci/run"]
    (gates,) = re.findall(r"^ *for recipe in (.*); do$", script, re.MULTILINE)
    assert set(gates.split()) <= set(recipes)
    assert {"lint", "types", "imports", "proto-check", "cov-report", "interop"} <= set(
        gates.split()
    )


def test_the_readme_begins_with_the_two_commands_and_ci_runs_the_second() -> None:
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)
    commands = [line for block in blocks[:2] for line in block.splitlines() if line]
    assert len(commands) == 2
    demo, tests = commands
    install = r"python3 -m venv \.venv && \.venv/bin/pip install -q -c constraints\.txt"
    assert re.fullmatch(install + r" \. && \.venv/bin/gateway demo", demo)
    assert re.fullmatch(install + r" -e '\.\[dev\]' && \.venv/bin/python -P -m pytest", tests)
    (pattern,) = re.findall(r"grep -E '(.*)' README\.md", (ROOT / ".ci" / "run").read_text())
    assert [line for line in readme.splitlines() if re.search(pattern, line)] == [tests]


def test_the_constraints_pin_all_that_is_asked_for_and_name_no_host() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [re.fullmatch(r"([\w.-]+)==([\w.]+)", line) for line in lines]
    assert all(pins), [line for line, pin in zip(lines, pins, strict=True) if not pin]
    pinned = {_normal(pin[1]) for pin in pins if pin}
    assert _asked_for() <= pinned
    locks = {
        "uv.lock",
        "poetry.lock",
        "pdm.lock",
        "Pipfile.lock",
        "Cargo.lock",
        "package-lock.json",
    }
    assert locks.isdisjoint(path.name for path in ROOT.iterdir())


def _asked_for() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    return {_normal(re.split(r"[\[><=]", item)[0]) for item in asked}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_dependency_has_its_reason_beside_it() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    listed = re.findall(r'^  "([\w.-]+)(?:\[\w+\])?>=[^"]*",(.*)$', text, re.MULTILINE)
    assert {_normal(name) for name, _ in listed} == _asked_for()
    assert [name for name, reason in listed if not re.search(r"# \w+", reason)] == []


def test_a_changelog_fragment_says_what_kind_it_is() -> None:
    fragments = {path.name for path in (ROOT / "changelog.d").iterdir()} - {"README.md"}
    kinds = "added|changed|fixed|removed|security"
    assert {name for name in fragments if not re.fullmatch(rf"\d\d+\.({kinds})\.md", name)} == set()
    assert fragments


def test_decisions_are_numbered_and_each_fits_a_page() -> None:
    names = sorted(path.name for path in (ROOT / "docs" / "adr").glob("*.md"))
    assert [name[:5] for name in names] == [f"{at:04}-" for at in range(1, len(names) + 1)]
    for name in names:
        text = (ROOT / "docs" / "adr" / name).read_text()
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
            "Context",
            "Decision",
            "Consequences",
        ]
        assert len(text.splitlines()) <= 60, name


def test_each_decision_is_in_the_list_of_decisions_by_its_title() -> None:
    listed = (ROOT / "docs" / "README.md").read_text().partition("## Decisions\n\n")[2]
    wanted: list[str] = []
    for path in sorted((ROOT / "docs" / "adr").glob("*.md")):
        number, _, title = path.read_text().partition("\n")[0].removeprefix("# ").partition(". ")
        assert number == str(int(path.name[:4]))
        wanted.append(f"{number}. [{title}](adr/{path.name})")
    assert listed.splitlines() == wanted


def pages() -> list[Path]:
    return [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("changelog.d/*.md")]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_in_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_document_is_in_the_table_of_documents() -> None:
    table = (ROOT / "docs" / "README.md").read_text()
    loose = {path.relative_to(ROOT / "docs") for path in ROOT.glob("docs/**/*.md")}
    kept = {path for path in loose if path.parts[0] not in ("adr", "divergence", "README.md")}
    assert {str(path) for path in kept if f"({path})" not in table} == set()


def test_the_licence_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
