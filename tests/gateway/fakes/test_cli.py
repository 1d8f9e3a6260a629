"""Which fake to play."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

from fleetgate.gateway.fakes.cli import FAKES, run
from fleetgate.gateway.registry import BUILTIN


@pytest.mark.parametrize("name", FAKES)
def test_every_fake_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert f"gateway fake {name}" in capsys.readouterr().out


def test_the_fakes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert run([]) == 2
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed and words in listed for name, words in FAKES.items())


HOST = ("rvbox-client", "--connect", "ws://h:1/agent", "--client-id", "h", "--state", "s")
WHERE = ("--server", "http://127.0.0.1:1", "--workspace", "w", "--state", "s")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["agency-clinet"], "did you mean agency-client?"),
        (["agency-client"], "--socket"),
        (["agency-client", "--socket", "x", "--set", "nothing=1"], "no setting"),
        (["rvbox-client", "--client-id", "h"], "required"),
        (
            ["agency-daemon", "--socket", "x", "--exec"],
            "--exec: this fake has no such option; iop-node and rvbox-client have it",
        ),
        ([*HOST, "--sede", "3"], "--sede: no option has this name; did you mean --seed?"),
        ([*HOST, "--xyzzy=s3cret"], "--xyzzy: no option has this name; see --help\n"),
        ([*HOST, "--set", "session_timeout=x"], "session_timeout: expected a number, got 'x'"),
        (["rvbox-server", "--listen", "ws://127.0.0.1:0/agent", "--token", "x"], "TOKEN=ID"),
        (["kodelet-runner", "--server", "ftp://h", "--workspace", "w", "--state", "s"], "http"),
        (
            [*HOST, "--max-running", "0"],
            "--max-running: expected a whole number, 1 or more, got",
        ),
        ([*HOST, "--client-id", "a b"], "--client-id: expected 1 to 128 printable ASCII"),
        ([*HOST, "--client-id", ""], "--client-id: expected 1 to 128 printable ASCII"),
        ([*HOST, "--max-queued", "-1"], "--max-queued: expected a whole number, 0 or more"),
        ([*HOST, "--token", "bad token!"], "--token: expected one or more visible ASCII"),
        (["kodelet-control-plane", "--listen", "h:x"], "--listen: "),
        (["kodelet-control-plane", "--listen", "h:1", "--token", "bad token!"], "A-Z, a-z, 0-9"),
        (["kodelet-control-plane", "--listen", "h:1", "--token", ""], "one or more of A-Z"),
        (
            ["kodelet-runner", *WHERE, "--token", "bad token!"],
            "--token: a token of kodelet is one or more of A-Z, a-z, 0-9, '-', '.', '_' and '~'",
        ),
    ],
)
def test_bad_arguments_are_exit_code_2(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(argv) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "bad token!" not in said


def test_a_state_that_cannot_be_kept_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    words = ["agency-client", "--socket", f"{tmp_path}/s", "--state", f"{tmp_path}/file/d"]
    assert run(words) == 1
    assert f"the journal {tmp_path}/file/d/journal.db cannot be" in capsys.readouterr().err


@pytest.mark.parametrize("fake", ["agency-client", "agency-daemon"])
def test_a_socket_whose_path_is_too_long_cannot_be_had_and_is_exit_code_1(
    fake: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([fake, "--socket", "s" * 200]) == 1
    assert "choose a shorter one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rvbox-client", "--connect", "http://x"], "--connect: 'http://x' is no address: wanted"),
        (["rvbox-client", "--connect", "ws://h:0/a"], "port 0 is for listening"),
        (
            ["rvbox-client", "--connect", "grpc://h:1"],
            "--connect: rvbox is not carried over gRPC; use unix:, tcp:, tls:, ws: or wss:",
        ),
        (["agency-client", "--socket", "a\nb"], "a control character"),
    ],
)
def test_where_nobody_can_be_is_said_before_anything_is_done(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    more = ["--client-id", "h", "--exec"] if words[0] == "rvbox-client" else []
    assert run([*words, *more, "--state", str(state)]) == 2
    assert said in capsys.readouterr().err
    assert not state.exists()


# --- what one imports

ALONE = {
    "agency-client": (["--socket", "{}/s"], "south"),
    "agency-daemon": (["--socket", "{}/d/s"], "north"),
    "iop-edge": (["--listen", "grpc://127.0.0.1:0", "--token", "t"], "south"),
    "iop-node": (["--connect", "grpc://127.0.0.1:1", "--token", "t"], "north"),
    "kodelet-control-plane": (["--listen", "127.0.0.1:0"], "south"),
    "kodelet-runner": (
        ["--server", "http://127.0.0.1:1", "--workspace", "{}", "--state", "{}/k"],
        "north",
    ),
    "rvbox-client": (
        ["--connect", "ws://127.0.0.1:1/agent", "--client-id", "c", "--state", "{}/r"],
        "north",
    ),
    "rvbox-server": (["--listen", "ws://127.0.0.1:0/agent"], "south"),
}
"""Each fake with the least options, nobody at its other end, and the side that it plays."""

CARRIED: dict[str, set[str]] = {
    "agency": set(),
    "iop": {"asyncio", "grpclib", "h2", "trio_asyncio"},
    "kodelet": {"h11", "importlib.metadata", "trio_websocket"},
    "rvbox": {"h11", "importlib.metadata", "trio_websocket"},
}
"""What the carriage of each protocol brings, of what is `HEAVY`."""

HEAVY = {
    *("asyncio", "grpclib", "h11", "h2", "httpx", "importlib.metadata", "rich", "structlog"),
    *("tomllib", "trio_asyncio", "trio_websocket"),
    "fleetgate.gateway.admin",
    "fleetgate.gateway.config_routes",
    "fleetgate.gateway.local.cli",
    "fleetgate.gateway.local.models",
    "fleetgate.gateway.local.pool",
    "fleetgate.gateway.tck",
    "fleetgate.protocols.kodelet.metadata_types",
    "fleetgate.protocols.kodelet.ui_requests",
}
"""Some milliseconds of a start each, and of no use to a fake; but see `CARRIED`."""


LISTING = """
import attrs, json, sys
from fleetgate.gateway.fakes.cli import run
assert run(sys.argv[1:]) == 0
made = [each for module in list(sys.modules.values()) for each in vars(module).values()
        if isinstance(each, type) and attrs.has(each) and each.__module__ == module.__name__]
files = [getattr(getattr(each.__repr__, "__code__", None), "co_filename", "") for each in made]
compiled = [each.__module__ for each, file in zip(made, files) if file.startswith("<attrs")]
print(json.dumps({"modules": sorted(sys.modules), "compiled": compiled}), file=sys.stderr)
"""
"""A fake, which names at its end its modules, and that of each class with methods of its own."""


@attrs.frozen
class Loaded:
    """What a fake has loaded by the time it ends."""

    name: str
    modules: set[str]
    compiled: Counter[str]


@pytest.fixture(scope="module", params=FAKES)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    name, directory = request.param, tmp_path_factory.mktemp("alone")
    words = [name, *(word.format(directory) for word in ALONE[name][0])]
    done = subprocess.run(
        [sys.executable, "-P", "-c", LISTING, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stderr.splitlines()[-1])
    return Loaded(name, set(told["modules"]), Counter(told["compiled"]))


def test_a_fake_imports_one_side_of_its_own_protocol_and_no_carriage_that_it_does_not_use(
    loaded: Loaded,
) -> None:
    modules, facing = loaded.modules, ALONE[loaded.name][1]
    protocol = loaded.name.partition("-")[0]
    assert {f"fleetgate.protocols.{each}" for each in BUILTIN} & modules == {
        f"fleetgate.protocols.{protocol}"
    }
    sides = {f"fleetgate.protocols.{protocol}.{each}bound" for each in ("north", "south")}
    assert sides & modules == {f"fleetgate.protocols.{protocol}.{facing}bound"}
    plays = {"fleetgate.gateway.local.script", "fleetgate.gateway.local.worker"}
    assert plays & modules == (plays if facing == "north" else set())
    assert HEAVY & modules == CARRIED[protocol]


def test_where_a_fake_makes_many_classes_they_share_what_few_values_need(loaded: Loaded) -> None:
    """Each that does not is a quarter of a millisecond of its start (docs/adr/0020)."""
    ours = {
        module: classes
        for module, classes in loaded.compiled.items()
        if module.startswith("fleetgate.") and not module.startswith("fleetgate.transports.")
    }
    assert ours
    assert {module: classes for module, classes in ours.items() if classes > 3} == {}


SERVER = ("fake", "rvbox-server", "--listen", "ws://127.0.0.1:0/agent")


def closing(*redirections: str) -> list[str]:
    """A fake whose standard input, output or error is closed, or leads elsewhere."""
    shell = f'exec "$@" {" ".join(redirections)}'
    return ["sh", "-c", shell, "sh", sys.executable, "-P", "-m", "fleetgate", *SERVER]


@pytest.mark.parametrize("closed", [("<&-",), ("</dev/null", ">&-"), ("<&-", ">&-", "2>&-")])
def test_a_fake_whose_files_are_closed_is_one_that_was_asked_to_end(closed: Sequence[str]) -> None:
    done = subprocess.run(closing(*closed), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "Invalid" in done.stderr) == (0, False), done.stderr


def test_a_fake_whose_output_is_lost_says_so() -> None:
    """Its input is open: that nobody reads it is no reason to end, but a full disk is."""
    with subprocess.Popen(
        closing(">/dev/full"), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as fake:
        assert fake.wait(60) == 1
        assert fake.stderr is not None
        assert "its standard output cannot be written: No space left" in fake.stderr.read()
