"""What a config names on this machine, and in the network."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
import trustme

from fleetgate.gateway.check import check, load_usable
from fleetgate.gateway.config import ConfigError, load, parse
from fleetgate.gateway.registry import adapters

HEAD = '[gateway]\njournal = "sqlite:j.db"\n'
SOUTH = '[[south]]\nname = "hosts"\nprotocol = "rvbox"\n'
NORTH = '[[north]]\nname = "gui"\nprotocol = "agency"\nlisten = "unix:run/gui.sock"\n'
DIALLER = '[[north]]\nname = "server"\nprotocol = "rvbox"\n'
ROUTE = '[[route]]\nfrom = "gui"\nto = "hosts"\n'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with certificates and a token."""
    authority = trustme.CA()
    leaf = authority.issue_cert("localhost")
    (tmp_path / "c.pem").write_bytes(leaf.cert_chain_pems[0].bytes())
    (tmp_path / "k.pem").write_bytes(leaf.private_key_pem.bytes())
    (tmp_path / "ca.pem").write_bytes(authority.cert_pem.bytes())
    (tmp_path / "token").write_text("t")
    monkeypatch.setenv("GW_TOKEN", "t")
    return tmp_path


def _whole(lines: str) -> str:
    """A config with an rvbox entry of these lines: the server where it listens, else a client."""
    if lines.startswith("listen"):
        return HEAD + SOUTH + lines + NORTH + ROUTE
    return HEAD + DIALLER + lines + SOUTH + 'listen = "ws://127.0.0.1:8443"\n' + NORTH + ROUTE


def _problems(place: Path, text: str) -> list[str]:
    path = place / "gw.toml"
    path.write_text(text)
    try:
        load_usable(path, adapters())
    except ConfigError as error:
        return [line.removeprefix(f"{path}:").replace(f"{place}/", "") for line in error.lines()]
    return []


TLS = 'listen = "wss://127.0.0.1:8443"\ntls = { certificate = "c.pem", key = "k.pem" }\n'


@pytest.mark.parametrize(
    "south",
    [
        'listen = "ws://127.0.0.1:8443"\n',
        'connect = "tcp://127.0.0.1:8443"\n',
        TLS,
        TLS.replace(" }", ', client_ca = "ca.pem" }'),
        TLS + 'tokens = [{ token = { file = "token" }, id = "h" }]\n',
        'connect = "wss://localhost"\ntoken = { env = "GW_TOKEN" }\ntls = { ca = "ca.pem" }\n',
    ],
)
def test_what_can_be_served(place: Path, south: str) -> None:
    assert _problems(place, _whole(south)) == []


@pytest.mark.parametrize(
    ("south", "problem"),
    [
        (
            TLS.replace("c.pem", "no.pem"),
            "3: south.hosts: the TLS certificate no.pem cannot be read: No such file or directory",
        ),
        (
            TLS.replace("k.pem", "ca.pem"),
            "3: south.hosts: the TLS key ca.pem is no usable PEM file",
        ),
        (
            TLS.replace(" }", ', client_ca = "token" }'),
            "3: south.hosts: the TLS ca token holds no certificate in PEM form",
        ),
        (
            TLS + 'tokens = [{ token = { file = "none" }, id = "h" }]\n',
            "8: south.hosts.tokens[1]: the file none cannot be read: No such file or directory",
        ),
        (
            'connect = "wss://localhost/agent"\ntoken = { env = "GW_NONE" }\n',
            "3: north.server: the environment variable GW_NONE is not set or is empty",
        ),
        (
            'listen = "wss://127.0.0.1:1"\n',
            "3: south.hosts: wss://127.0.0.1:1 needs a certificate and a key to listen",
        ),
        (
            'connect = "tcp://127.0.0.1:1"\ntoken = { env = "GW_TOKEN" }\n',
            "3: north.server: tokens are shown in headers, of WebSocket or gRPC; tcp: has none",
        ),
    ],
)
def test_what_cannot(place: Path, south: str, problem: str) -> None:
    assert _problems(place, _whole(south)) == [problem]


def test_sockets_in_a_directory_that_others_reach_are_found_before_they_are_bound(
    place: Path,
) -> None:
    (place / "run").mkdir(mode=0o755)
    text = HEAD + 'admin = "unix:run/admin.sock"\n' + SOUTH + TLS + NORTH + ROUTE
    admin, gui = _problems(place, text)
    said = "the directory run has mode 0755 and is open to others: "
    assert admin.startswith(f"3: gateway.admin: {said}")
    assert f": north.gui: {said}" in gui
    (place / "run").chmod(0o700)
    assert _problems(place, text) == []


@pytest.mark.parametrize("file", ["c.pem", "k.pem", "ca.pem", "token"])
def test_a_named_pipe_is_refused_and_nobody_waits_for_its_writer(place: Path, file: str) -> None:
    (place / file).unlink()
    os.mkfifo(place / file)
    south = TLS.replace(" }", ', client_ca = "ca.pem" }')
    south += 'tokens = [{ token = { file = "token" }, id = "h" }]\n'
    (problem,) = _problems(place, HEAD + SOUTH + south + NORTH + ROUTE)
    assert f" {file} cannot be read: it is not a regular file" in problem


def test_a_journal_that_is_no_file(place: Path) -> None:
    text = _whole('listen = "ws://127.0.0.1:8443"\n')
    (place / "j.db").mkdir()
    assert _problems(place, text) == ["2: gateway.journal: j.db cannot be opened: Is a directory"]


def test_one_token_for_two_names(place: Path) -> None:
    """The second would never be anybody's, and its holder somebody else."""
    (place / "other").write_text("t")
    tokens = '{{ token = {{ file = "token" }}, id = "a" }}, {{ token = {{ {} }}, id = "{}" }}'
    lines = 'listen = "ws://127.0.0.1:8443"\ntokens = [' + tokens + "]\n"
    for source in ('file = "other"', 'env = "GW_TOKEN"'):
        assert _problems(place, _whole(lines.format(source, "b"))) == [
            "7: south.hosts.tokens[2]: is the token of tokens[1], too: whoever shows it is a, and "
            "never b; give each an own one"
        ]
        assert _problems(place, _whole(lines.format(source, "a"))) == []
    (place / "other").write_text("another")
    assert _problems(place, _whole(lines.format('file = "other"', "b"))) == []


def test_a_client_of_agency_has_no_websocket(place: Path) -> None:
    south = '[[south]]\nname = "hosts"\nprotocol = "agency"\nconnect = "ws://127.0.0.1:1"\n'
    assert _problems(place, HEAD + south + NORTH + ROUTE) == [
        "3: south.hosts: agency is not carried over WebSocket; use unix:, tcp: or tls:"
    ]


def test_agency_has_no_grpc(place: Path) -> None:
    text = HEAD + SOUTH + TLS + NORTH.replace("unix:run/gui.sock", "grpc://127.0.0.1:1") + ROUTE
    assert _problems(place, text) == [
        "8: north.gui: agency is not carried over gRPC; use unix:, tcp:, tls:, ws: or wss:"
    ]


def test_places_of_the_gateway_itself(place: Path) -> None:
    text = '[gateway]\njournal = "sqlite:nowhere/j.db"\nadmin = "unix:/%s"\n' % ("x" * 200)
    problems = _problems(place, text + SOUTH + TLS)
    said = "2: gateway.journal: the directory nowhere is not there; make it: mkdir -p nowhere"
    assert problems[0] == said
    assert problems[1].startswith("3: gateway.admin: the socket path /xxx")
    assert len(problems) == 2


def test_a_journal_needs_a_directory_that_can_be_written(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[gateway]\njournal = "sqlite:%s/j.db"\n' + SOUTH + TLS
    (said,) = _problems(place, text % "token")
    assert said == "2: gateway.journal: token is no directory; put the journal into one"
    monkeypatch.setattr(os, "access", lambda *_: False)
    (said,) = _problems(place, text % ".")
    assert f"cannot be written by user {os.geteuid()}, who asks; run this as the user who" in said


# --- what is asked of the network, and what may not be meant


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that knows hosts under .example only."""

    def getaddrinfo(host: str, port: int, **_: object) -> list[object]:
        if host.endswith(".example") or host.startswith(("127.", "0.")):
            return [object()]
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def _found(text: str) -> tuple[list[str], list[str]]:
    config = parse('[gateway]\njournal = "sqlite:j.db"\n' + text, "gw.toml", adapters())
    findings = check(config, adapters())
    return (
        [f"{each.key}: {each.message}" for each in findings.problems],
        [f"{each.key}: {each.message}" for each in findings.warnings],
    )


@pytest.mark.usefixtures("resolve")
def test_a_listener_needs_its_host_and_a_dialler_may_get_it_later() -> None:
    south = SOUTH + 'listen = "ws://nowhere:1"\ninsecure = true\n'
    dialler = DIALLER + 'connect = "tcp://elsewhere:2"\n'
    problems, warnings = _found(south + dialler + NORTH + ROUTE)
    assert problems == [
        "south.hosts.listen: the host nowhere is not known: Name or service not known"
    ]
    assert (
        "north.server.connect: the host elsewhere is not known: Name or service not known"
        in warnings
    )


@pytest.mark.usefixtures("resolve")
def test_what_everybody_reaches() -> None:
    south = SOUTH + 'listen = "ws://0.0.0.0:1"\n'
    problems, _ = _found(south + NORTH + ROUTE)
    assert problems == [
        "south.hosts.listen: whoever reaches this address could come in; set tokens, or client_ca "
        "in tls, or write insecure = true if that is meant"
    ]
    problems, warnings = _found(south + "insecure = true\n" + NORTH + ROUTE)
    assert problems == []
    assert warnings == [
        "south.hosts: insecure: whoever reaches this address may come in",
        "south.hosts: nothing is encrypted on the way; use wss:, tls: or grpcs: between machines",
    ]


@pytest.mark.usefixtures("resolve")
def test_odd_routes() -> None:
    south = SOUTH + 'listen = "ws://127.0.0.1:1"\n'
    other = south.replace("hosts", "spare").replace(":1", ":2")
    assert _found(south + other + NORTH) == (
        [],
        [
            "south.hosts: no route leads here; it gets no runs",
            "south.spare: no route leads here; it gets no runs",
            "north.gui: no route leads from here; every run will be refused",
        ],
    )
    late = ROUTE.replace("hosts", "spare")
    _, warnings = _found(south + other + NORTH + ROUTE + late)
    assert warnings == ["route[2]: is never reached: route[1] takes all runs before it"]
    anybody = ROUTE.replace("gui", "*")
    _, warnings = _found(south + other + NORTH + anybody + late)
    assert warnings == ["route[2]: is never reached: route[1] takes all runs before it"]
    limited = ROUTE + 'when = { provider = "x" }\n'
    _, warnings = _found(south + other + NORTH + limited + late)
    assert warnings == []


def test_every_route_has_its_words(place: Path) -> None:
    path = place / "gw.toml"
    path.write_text(HEAD + SOUTH + TLS + NORTH + ROUTE)
    findings = check(load(path, adapters()), adapters())
    (words,) = findings.routes
    assert words.route.to == "hosts"
