"""A config file becomes values, or a list of all that is wrong with it, by line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import attrs
import pytest

from fleetgate.core.adaptation import Adaptation, ToCommand, ToTool
from fleetgate.core.routing import Overrides, Route
from fleetgate.core.templates import parse as template
from fleetgate.gateway.config import MAX_CONFIG, MAX_DEPTH, ConfigError, load, parse, read_gateway
from fleetgate.gateway.config_entries import Grant, Secret
from fleetgate.gateway.registry import adapters
from fleetgate.protocols.api import Adapter, Connection, Side
from fleetgate.protocols.carriage import Carriage
from fleetgate.transports.api import TlsFiles


@attrs.frozen(slots=True)
class _Limits:
    depth: int = 3


@attrs.frozen(slots=True)
class _HostSettings:
    max_running: int = attrs.field(default=4, validator=attrs.validators.in_((1, 2, 4)))
    grace: float = 30.0
    mode: Literal["a", "b"] = "a"
    hosts: tuple[str, ...] = ()
    limits: _Limits = _Limits()


@attrs.frozen(slots=True)
class _EdgeSettings:
    node: str = ""


def _adapter(name: str) -> Adapter:
    def side(kind: type) -> Side:
        return Side(kind, lambda _: Connection(), lambda _: Carriage("lines", 1024))

    return Adapter(name, northbound=side(_EdgeSettings), southbound=side(_HostSettings))


ADAPTERS = {name: _adapter(name) for name in ("agency", "rvbox")}

GOOD = """\
[gateway]
name = "gw-1"
journal = "sqlite:state/journal.db"
admin = "127.0.0.1:7780"
drain_timeout = 5
lost_after = 3600
open_runs = 10
log_level = "debug"

[[south]]
name = "hosts"
protocol = "rvbox"
listen = "wss://0.0.0.0:8443/agent"
tls = { certificate = "c.pem", key = "k.pem", client_ca = "ca.pem" }
tokens = [{ token = { file = "secrets/one" }, id = "host-1" }]
max_running = 2
grace = 1.5
hosts = ["x", "y"]
limits = { depth = 5 }

[[north]]
name = "gui"
protocol = "agency"
connect = "unix:run/agency.sock"
token = { env = "GUI_TOKEN" }
node = "n"

[[route]]
from = "gui"
when = { adapter = ["claude", "codex"], input = "prompt" }
to = "hosts"
set = { provider = "claude", permission = "edit", timeout = 1.5, workspace = ["/srv"] }
adapt.prompt = { argv = ["claude", "-p", "{prompt}"] }
adapt.tool = { tool = "run", input = { all = "{input}", n = [1, "{name}"] } }

[[route]]
from = "admin"
to = "hosts"
"""


def test_a_whole_file() -> None:
    config = parse(GOOD, "/etc/fleetgate/gw.toml", ADAPTERS)
    gateway = config.gateway
    assert gateway.name == "gw-1"
    assert gateway.journal == "sqlite:/etc/fleetgate/state/journal.db"
    assert gateway.journal_path == Path("/etc/fleetgate/state/journal.db")
    assert gateway.admin == "127.0.0.1:7780"
    assert (gateway.drain_timeout, gateway.log_level) == (5.0, "debug")
    assert gateway.limits().lost_after == 3600 * 10**9
    assert gateway.limits().open_runs == 10
    (hosts,) = config.south
    assert (hosts.facing, hosts.name, hosts.protocol) == ("south", "hosts", "rvbox")
    assert (hosts.address, hosts.listens) == ("wss://0.0.0.0:8443/agent", True)
    base = "/etc/fleetgate"
    assert hosts.tls == TlsFiles(f"{base}/c.pem", f"{base}/k.pem", f"{base}/ca.pem")
    assert hosts.tokens == (Grant(Secret(file=f"{base}/secrets/one"), "host-1"),)
    assert hosts.settings == _HostSettings(2, 1.5, "a", ("x", "y"), _Limits(5))
    assert hosts.side(ADAPTERS["rvbox"]) is ADAPTERS["rvbox"].southbound
    (gui,) = config.north
    assert (gui.address, gui.listens) == ("unix:/etc/fleetgate/run/agency.sock", False)
    assert gui.token == Secret(env="GUI_TOKEN")
    assert gui.settings == _EdgeSettings("n")
    assert gui.side(ADAPTERS["agency"]) is ADAPTERS["agency"].northbound
    assert config.entries == (hosts, gui)


def test_every_key_has_a_line_and_what_is_not_there_that_of_what_is_around_it() -> None:
    config = parse(GOOD, "gw.toml", ADAPTERS)
    assert config.line("gateway") == 1
    assert config.line("south.hosts.tls.key") == 14
    assert config.line("south.hosts.tls.nothing") == 14
    assert config.line("south.hosts.tokens[1].token.file") == 15
    assert config.line("south.hosts.tokens[7]") == 15
    assert config.line("route[2].to") == 38
    assert config.line("route[2].adapt.prompt") == 36
    assert config.line("nothing.of.it") == 0


def test_routes_are_values_of_the_core() -> None:
    config = parse(GOOD, "gw.toml", ADAPTERS)
    tree = {"all": template("{input}"), "n": (1, template("{name}"))}
    assert config.routes == (
        Route(
            "gui",
            "hosts",
            {"adapter": ("claude", "codex"), "input": ("prompt",)},
            Overrides(
                provider="claude", permission="edit", timeout=1_500_000_000, workspace=("/srv",)
            ),
            Adaptation(
                prompt=ToCommand((template("claude"), template("-p"), template("{prompt}"))),
                tool=ToTool("run", tree),
            ),
        ),
        Route("admin", "hosts"),
    )


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = parse('[gateway]\njournal = "sqlite:/var/j.db"', "gw.toml", {}).gateway
    assert settings.name == "gateway"
    assert settings.admin == "unix:/var/j.db.admin/socket"
    assert settings.lost_after == 86400.0
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    settings = parse('[gateway]\njournal = "memory:"', "gw.toml", {}).gateway
    assert settings.journal_path is None
    assert settings.admin == "unix:/run/user/7/fleetgate/gateway/socket"


MISSING = (
    "1: gateway.journal: is missing; expected sqlite:PATH or memory:, of which nothing survives"
)


def _with(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def _add(text: str) -> str:
    return GOOD + text


_LISTENER = '[[south]]\nname = "b"\nprotocol = "rvbox"\nlisten = "ws://{}"\n'

BAD = [
    # what is written, and all that is said of it
    (_with('name = "gw-1"\n', ""), []),
    (_with('journal = "sqlite:state/journal.db"\n', ""), [MISSING]),
    (
        _with("[gateway]", "[gatway]"),
        [
            "1: gatway: unknown key; did you mean gateway?",
            MISSING,
        ],
    ),
    (_with('name = "gw-1"', "name = 7"), ["2: gateway.name: expected a string, got a number"]),
    (
        _with("sqlite:state/journal.db", "postgres:x"),
        ["3: gateway.journal: expected sqlite:PATH or memory:"],
    ),
    (
        _with("sqlite:state/journal.db", "sqlite:"),
        ["3: gateway.journal: expected sqlite:PATH or memory:"],
    ),
    (
        _with("sqlite:state/journal.db", "sqlite::memory:"),
        [
            '3: gateway.journal: would be a file of the name ":memory:"; a journal in memory is '
            '"memory:"'
        ],
    ),
    (
        _with("drain_timeout = 5", "drain_timeout = -1")
        .replace("= 3600", "= 1e300")
        .replace("open_runs = 10", "open_runs = false"),
        [
            "5: gateway.drain_timeout: expected seconds, 0 to 1000000000",
            "6: gateway.lost_after: expected seconds above 0, up to 1000000000",
            "7: gateway.open_runs: expected a whole number, got a boolean",
        ],
    ),
    (
        _with("max_running = 2", "max_running = 77").replace("grace = 1.5", "grace = true"),
        [
            "16: south.hosts.max_running: must be in (1, 2, 4) (got 77)",
            "17: south.hosts.grace: expected a number, got a boolean",
        ],
    ),
    (
        _with("127.0.0.1:7780", "0.0.0.0:7780"),
        ["4: gateway.admin: expected unix:PATH, or a loopback address such as 127.0.0.1:7780"],
    ),
    (
        _with("127.0.0.1:7780", "unix:"),
        ["4: gateway.admin: expected unix:PATH, or a loopback address such as 127.0.0.1:7780"],
    ),
    (
        _with("drain_timeout = 5", "drain_timeout = true"),
        ["5: gateway.drain_timeout: expected a number, got a boolean"],
    ),
    (
        _with("drain_timeout = 5", "drain_timeout = -1"),
        ["5: gateway.drain_timeout: expected seconds, 0 to 1000000000"],
    ),
    (
        _with("drain_timeout = 5", "drain_timeout = inf"),
        ["5: gateway.drain_timeout: expected a finite number"],
    ),
    (
        _with("lost_after = 3600", "lost_after = 0"),
        ["6: gateway.lost_after: expected seconds above 0, up to 1000000000"],
    ),
    (
        _with("open_runs = 10", "open_runs = 1.5"),
        ["7: gateway.open_runs: expected a whole number, got 1.5"],
    ),
    (
        _with('"debug"', '"verbose"'),
        ["8: gateway.log_level: expected one of debug, info, warning, error, got verbose"],
    ),
    (
        _with("lost_after", "lost_afer"),
        ["6: gateway.lost_afer: unknown key; did you mean lost_after?"],
    ),
    (
        _with("listen = ", "listn = "),
        [
            "10: south.hosts: needs exactly one of connect and listen",
            "13: south.hosts.listn: unknown key; did you mean listen?",
        ],
    ),
    (
        _with("max_running", "max_runing"),
        ["16: south.hosts.max_runing: unknown key; did you mean max_running?"],
    ),
    (_with("depth = 5", "zz = 5"), ["19: south.hosts.limits.zz: unknown key; known: depth"]),
    (
        _with("grace = 1.5", 'grace = "1.5"'),
        ["17: south.hosts.grace: expected a number, got a string"],
    ),
    (
        _with('["x", "y"]', '["x", 3]'),
        ["18: south.hosts.hosts[2]: expected a string, got a number"],
    ),
    (_with('["x", "y"]', '"xy"'), ["18: south.hosts.hosts: expected an array, got a string"]),
    (
        _with("limits = { depth = 5 }", "limits = 5"),
        ["19: south.hosts.limits: expected a table, got a number"],
    ),
    (
        _with('protocol = "rvbox"', 'protocol = "rvbux"'),
        ["12: south.hosts.protocol: no protocol is named rvbux; did you mean rvbox?"],
    ),
    (
        _with('protocol = "rvbox"', 'protocol = "zzz"'),
        ["12: south.hosts.protocol: no protocol is named zzz; known: agency, rvbox"],
    ),
    (_with('protocol = "rvbox"\n', ""), ["10: south.hosts.protocol: is missing"]),
    (
        _with('name = "hosts"\n', ""),
        [
            "10: south[1].name: is missing",
            "30: route[1].to: no [[south]] or [[local]] entry is named hosts; none is known here",
            "37: route[2].to: no [[south]] or [[local]] entry is named hosts; none is known here",
        ],
    ),
    (
        _with('name = "gui"', 'name = "GUI!"').replace('from = "gui"', 'from = "GUI!"'),
        [
            "22: north[1].name: expected 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a "
            "letter or a digit, and not admin"
        ],
    ),
    (
        _with('name = "gui"', 'name = "admin"').replace('from = "gui"', 'from = "admin"'),
        [
            "22: north.admin.name: expected 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with "
            "a letter or a digit, and not admin"
        ],
    ),
    (
        _with('name = "gui"', 'name = "hosts"').replace('from = "gui"', 'from = "hosts"'),
        ["22: north.hosts.name: another entry is named hosts; names are unique"],
    ),
    (
        _with('connect = "unix:run/agency.sock"', 'connect = ""'),
        ["24: north.gui.connect: expected an address, got nothing"],
    ),
    (
        _with('connect = "unix:run/agency.sock"', 'connect = "unix:a"\nlisten = "unix:b"'),
        [
            "21: north.gui: needs exactly one of connect and listen",
            "26: north.gui.token: is what a dialler shows; a listener has "
            "tokens = [{ token = …, id = … }]",
        ],
    ),
    (
        _with('{ env = "GUI_TOKEN" }', '"s3cret"'),
        [
            "25: north.gui.token: a secret is never in this file; "
            'use { env = "NAME" } or { file = "PATH" }'
        ],
    ),
    (
        _with('{ env = "GUI_TOKEN" }', '{ env = "A", file = "b" }'),
        ["25: north.gui.token: needs exactly one of env and file"],
    ),
    (
        _with('{ env = "GUI_TOKEN" }', '{ evn = "A" }'),
        ["25: north.gui.token.evn: unknown key; did you mean env?"],
    ),
    (
        _with('{ file = "secrets/one" }, id', '"s3cret", id'),
        [
            "15: south.hosts.tokens[1].token: a secret is never in this file; "
            'use { env = "NAME" } or { file = "PATH" }'
        ],
    ),
    (
        _with('id = "host-1"', 'id = ""'),
        ["15: south.hosts.tokens[1].id: expected a name, got nothing"],
    ),
    (
        _with("node =", "tokens = [{ token = { env = 'A' }, id = 'x' }]\nnode ="),
        ["26: north.gui.tokens: is what a listener accepts; a dialler has token = { env = … }"],
    ),
    (
        _with(', key = "k.pem"', ""),
        ["14: south.hosts.tls: certificate and key go together; one of them is missing"],
    ),
    (
        _with('certificate = "c.pem", key = "k.pem", ', ""),
        ["14: south.hosts.tls: a listener needs certificate and key"],
    ),
    (
        _with("client_ca", "ca"),
        ["14: south.hosts.tls.ca: a listener checks its clients with client_ca"],
    ),
    (
        _with("node =", "tls = { client_ca = 'x' }\nnode ="),
        ["26: north.gui.tls.client_ca: a dialler checks the server with ca"],
    ),
    (
        _with('from = "gui"', 'from = "gua"'),
        ["29: route[1].from: no [[north]] entry is named gua; did you mean gui? (or *)"],
    ),
    (
        _with('to = "hosts"\nset', 'to = "host"\nset'),
        ["31: route[1].to: no [[south]] or [[local]] entry is named host; did you mean hosts?"],
    ),
    (
        _with('input = "prompt"', 'input = "prmpt"'),
        ["30: route[1].when.input: expected one of prompt, shell, tool"],
    ),
    (
        _with('input = "prompt"', "input = []"),
        ["30: route[1].when.input: expected a string or an array of strings, got an array"],
    ),
    (
        _with('input = "prompt"', "input = 3"),
        ["30: route[1].when.input: expected a string or an array of strings, got a number"],
    ),
    (_with("timeout = 1.5", "timeout = 0"), ["32: route[1].set.timeout: expected seconds above 0"]),
    (
        _with('permission = "edit"', 'permission = "all"'),
        [
            '32: route[1].set.permission: expected one of "", read_only, plan, edit, auto, bypass, '
            "got all"
        ],
    ),
    (
        _with("provider =", "providr ="),
        ["32: route[1].set.providr: unknown key; did you mean provider?"],
    ),
    (
        _with("adapt.prompt", "adapt.promt"),
        ["33: route[1].adapt.promt: unknown key; did you mean prompt?"],
    ),
    (
        _with('{ argv = ["claude", "-p", "{prompt}"] }', '{ args = ["x"] }'),
        ["33: route[1].adapt.prompt: expected one of the keys argv, line, prompt, tool"],
    ),
    (
        _with('"{prompt}"', '"{promt}"'),
        [
            "33: route[1].adapt.prompt: {promt} is nothing that a prompt input has; "
            "it has {effort}, {messages}, {model}, {prompt}, {provider}, {system}. "
            "Write {{ and }} for braces"
        ],
    ),
    (
        _with('"{prompt}"', '"{prompt"'),
        ["33: route[1].adapt.prompt: a lone { at character 1; write {{ for a brace"],
    ),
    (
        _with('argv = ["claude", "-p", "{prompt}"]', 'line = "claude -p {prompt}"'),
        [
            "33: route[1].adapt.prompt: a value inside a line would be read by the shell; "
            "use argv, which is not"
        ],
    ),
    (
        _with("n = [1,", "n = [1979-05-27,"),
        ["34: route[1].adapt.tool.input.n[1]: JSON has no date; write a string"],
    ),
    (
        _add(_LISTENER.format("127.0.0.1:8443/other")),
        ["42: south.b.listen: hosts listens there already; choose another address"],
    ),
    (_add(_LISTENER.format("localhost:7781")), []),
    (
        _add(_LISTENER.format("127.0.0.1:7780")),
        ["42: south.b.listen: the admin socket listens there already; choose another address"],
    ),
    *(
        (
            _with('"unix:run/agency.sock"', f'"x"\nlisten = "unix:{path}"')
            .replace('connect = "x"\n', "")
            .replace('token = { env = "GUI_TOKEN" }\n', ""),
            ["24: north.gui.listen: the journal is there already; choose another address"],
        )
        for path in (
            "state/journal.db",
            "state/journal.db-wal",
            "state/journal.db-shm",
            "state/journal.db.lock",
            "state/../state/journal.db",
        )
    ),
    (
        _with("127.0.0.1:7780", "unix:state/journal.db"),
        ["4: gateway.admin: the journal is there already; choose another address"],
    ),
    (
        _with("127.0.0.1:7780", "unix:run/s")
        + _LISTENER.format("x:1").replace("ws://x:1", "unix:run/../run//s"),
        ["42: south.b.listen: the admin socket listens there already; choose another address"],
    ),
    ("a = " + "1" * 5000, [" holds a number of thousands of digits"]),
    ("[gateway\n", ["1: is not TOML: Expected ']' at the end of a table declaration"]),
    (
        "south = 3\n[gateway]\njournal = 'memory:'",
        ["1: south: expected [[south]] tables, got a number"],
    ),
    (
        "south = [3]\n[gateway]\njournal = 'memory:'",
        ["1: south[1]: expected a table, got a number"],
    ),
    ("gateway = 3", ["1: gateway: expected a table, got a number"]),
    ("", [MISSING]),
]


@pytest.mark.parametrize(("text", "expected"), BAD, ids=range(len(BAD)))
def test_all_problems_are_named_with_line_and_key(text: str, expected: list[str]) -> None:
    said: list[str] = []
    try:
        parse(text, "gw.toml", ADAPTERS)
    except ConfigError as error:
        said = [line.removeprefix("gw.toml:") for line in str(error).splitlines()]
    assert said == expected


def test_many_problems_come_together_ordered_by_line() -> None:
    text = _with('name = "gw-1"', "nam = 1").replace("max_running = 2", "max_running = 'x'")
    with pytest.raises(ConfigError) as caught:
        parse(text.replace('to = "hosts"', 'to = "nowhere"'), "gw.toml", ADAPTERS)
    assert [(each.line, each.key) for each in caught.value.problems] == [
        (2, "gateway.nam"),
        (16, "south.hosts.max_running"),
        (31, "route[1].to"),
        (38, "route[2].to"),
    ]


def test_no_value_of_a_secret_is_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        parse(_with('{ env = "GUI_TOKEN" }', '"hunter2-hunter2"'), "gw.toml", ADAPTERS)
    assert "hunter2" not in str(caught.value)


@pytest.mark.limit("gateway/config.MAX_DEPTH")
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 400, 1000, 50_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{b = ", "}")])
def test_what_is_nested_too_deep_is_a_problem(depth: int, opening: str, closing: str) -> None:
    inner = "[]" if opening == "[" else "{}"
    text = f"{GOOD}x = {opening * (depth - 1)}{inner}{closing * (depth - 1)}\n"
    with pytest.raises(ConfigError) as caught:
        parse(text, "gw.toml", ADAPTERS)
    assert "gw.toml: is nested too deep" in str(caught.value)


def test_keys_with_many_dots_are_nested_too() -> None:
    with pytest.raises(ConfigError, match="nested too deep"):
        parse(".".join("a" * (MAX_DEPTH + 2)) + " = 1\n", "gw.toml", ADAPTERS)


def test_a_tools_input_may_be_nested_as_deep_as_that() -> None:
    around = 5  # route, its table, adapt, tool, input
    value = "[" * (MAX_DEPTH - around) + "]" * (MAX_DEPTH - around)
    parse(_with('n = [1, "{name}"]', f"n = {value}"), "gw.toml", ADAPTERS)


def test_a_file_is_read_and_paths_are_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "gw.toml"
    path.write_text(GOOD)
    config = load(path, ADAPTERS)
    assert config.path == str(path)
    assert config.gateway.journal == f"sqlite:{tmp_path}/state/journal.db"
    assert read_gateway(path) == config.gateway


def test_only_the_gateway_table_needs_no_protocols(tmp_path: Path) -> None:
    path = tmp_path / "gw.toml"
    path.write_text('[gateway]\njournal = "memory:"\n[[south]]\nprotocol = "unheard-of"\n')
    assert read_gateway(path).journal == "memory:"


@pytest.mark.limit("gateway/config.MAX_CONFIG")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"a = '\xff'", "is not UTF-8 (byte 5)"),
        (b"#" * (MAX_CONFIG + 1), f"has more than {MAX_CONFIG} bytes"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, data: bytes | None, message: str) -> None:
    path = tmp_path / "gw.toml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        load(path, ADAPTERS)
    assert str(caught.value) == f"{path}: {message}"


def test_a_named_pipe_is_no_config_and_nobody_waits_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gw.toml")
    with pytest.raises(ConfigError, match="cannot be read: it is not a regular file"):
        load(tmp_path / "gw.toml", ADAPTERS)
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(tmp_path, ADAPTERS)


def test_a_south_entry_that_also_asks_may_be_where_a_route_begins(tmp_path: Path) -> None:
    """Only where its settings say so: control clients come in beside its nodes."""
    text = """
[gateway]
journal = "memory:"
[[south]]
name = "nodes"
protocol = "iop"
listen = "grpc://127.0.0.1:0"
control = true
[[route]]
from = "nodes"
to = "nodes"
"""
    path = tmp_path / "edge.toml"
    path.write_text(text)
    assert load(str(path), adapters(())).routes[0].from_ == "nodes"
    path.write_text(text.replace("control = true\n", ""))
    with pytest.raises(ConfigError, match=r"no .* entry is named nodes"):
        load(str(path), adapters(()))
