"""What is read from files and from standard input: configs, scripts, recordings, operations of the
fakes, requests to the admin socket, records of a journal."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from multiprocessing.util import Finalize
from pathlib import Path
from random import Random
from typing import Any, Final

from fuzz_bytes import mutate_bytes, some
from fuzz_engine import Target, demand
from fuzz_json import mutate_json
from fuzz_pools import pool
from fuzz_same import same
from fuzz_seeds import ROOT, TESTS
from fuzz_wire import wired

from fleetgate.core import testing as drawn
from fleetgate.core.errors import InvalidArgument
from fleetgate.core.ids import OrderNumber, RunId, Seq
from fleetgate.core.journal import records
from fleetgate.gateway.admin.bodies import read_command, read_start
from fleetgate.gateway.config import ConfigError, parse
from fleetgate.gateway.explain_frame.given import Unreadable, frames_in
from fleetgate.gateway.fakes.fault_specs import BadFault, read_faults
from fleetgate.gateway.fakes.operations import CONTROLLER, WORKER, BadLine, read_operation
from fleetgate.gateway.local.script import parse_script
from fleetgate.gateway.recording.reading import Unusable, read_recording
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.spec import read_spec
from fleetgate.protocols.json_text import Malformed, dump, load, load_text, quoted
from fleetgate.schemas.journal.v1 import event_pb2, run_pb2
from fleetgate.transports.address import AddressError, parse_address

# --- TOML

CONFIGS: Final = tuple(path.read_bytes() for path in sorted((ROOT / "examples").glob("*.toml")))
SCRIPTS: Final = (
    (TESTS / "transcripts" / "script.toml").read_bytes(),
    b"[[when]]\nmatch = '^hi'\n[[when.do]]\nsay = 'hello'\n[[when.do]]\nexit = { code = 3 }\n"
    b"[usage]\nraw_output = 'x'\ndelay_ms = 5\n",
)
_PIECES: Final = (
    *(
        "\n[[south]]\n",
        "\n[gateway]\n",
        "\n[[route]]\n",
        "\n[[when]]\n",
        "[[when.do]]\n",
        "a.b.c = 1\n",
    ),
    *(
        "name = 'x'\n",
        "name = ''\n",
        "protocol = 'iop'\n",
        "listen = 'tcp://0.0.0.0:1'\n",
        "{}",
        "[]",
    ),
    *(
        "connect = 'unix:/x'\n",
        "connect = ['a']\n",
        "from = 'a'\n",
        "to = 'a'\n",
        "say = 1\n",
        "'''",
    ),
    *('"""', "\\u0000", "1e400", "nan", "inf", "1979-05-27", "07:32:00", "true", "0x10", "9" * 30),
    *("[" * 120, "{a=" * 120, "match = '('\n", "match = '(a+)+$'\n", "x = { y = { z = [[]] } }\n"),
)


def mutate_toml(draw: Random, data: bytes, seeds: Any) -> bytes:
    """Lines that go, come again, come from elsewhere, or are bent."""
    lines = data.decode("utf-8", "replace").splitlines(keepends=True)
    for _ in range(some(draw)):
        at = draw.randrange(len(lines) + 1)
        match draw.randrange(6):
            case 0:
                del lines[at : at + draw.choice((1, 1, 4))]
            case 1:
                lines[at:at] = lines[at : at + 3]
            case 2:
                others = draw.choice(seeds).decode("utf-8", "replace").splitlines(keepends=True)
                lines[at:at] = others[draw.randrange(len(others)) :][:4]
            case 3 if at < len(lines):
                key, equals, _ = lines[at].partition("=")
                lines[at] = f"{key}{equals} {draw.choice(_PIECES)}\n"
            case 4 if at < len(lines):
                lines[at] = mutate_bytes(draw, lines[at].encode(), seeds).decode("latin-1")
            case _:
                lines.insert(at, draw.choice(_PIECES))
    return "".join(lines).encode("utf-8", "surrogatepass")


@cache
def _known() -> Any:
    return adapters(())


def run_config(data: bytes) -> bool:
    """A config's text; what is wrong has a line, and repeats no more of it than a name."""
    try:
        parse(data.decode(), "/nowhere/gateway.toml", _known())
    except UnicodeDecodeError:
        return False
    except ConfigError as error:
        demand(error.problems, "a config is refused for nothing")
        demand(len(str(error)) < 4096 + 600 * len(error.problems), "a problem without end")
        lines = data.count(b"\n") + 2
        demand(all(0 <= each.line <= lines for each in error.problems), "a line that is not there")
        return False
    return True


def _warm() -> None:
    for text in CONFIGS:
        run_config(text)


def run_script(data: bytes) -> bool:
    """A script's text."""
    try:
        parse_script(data.decode(), "script.toml")
    except (UnicodeDecodeError, ConfigError):
        return False
    return True


# --- lines of JSON

RECORDINGS: Final = tuple(
    path.read_bytes() for path in sorted((TESTS / "transcripts").glob("*.jsonl"))
)
OPERATIONS: Final = tuple(
    json.dumps({"id": "1", **line}).encode()
    for line in (
        {"op": "start", "run": "r1", "input": {"prompt": "hi"}, "timeout_ms": 5},
        {"op": "start", "run": "r1", "input": {"line": "ls", "env": {"A": "b"}, "stdin": "x"}},
        {"op": "send", "run": "r1", "text": "x", "newline": True},
        {"op": "send", "run": "r1", "base64": "eA=="},
        {"op": "signal", "run": "r1", "signal": "TERM"},
        {"op": "cancel", "run": "r1", "scope": "session"},
        {"op": "approve", "run": "r1", "approval": "a", "decision": "deny"},
        {"op": "follow", "run": "r1", "after": 3},
        {"op": "ack", "run": "r1", "through": 3},
        {"op": "wait", "run": "r1", "for": "end", "timeout_ms": 3},
        {"op": "emit", "run": "r1", "steps": [{"say": "x"}]},
        {"op": "fault", "spec": "drop=0.5"},
        {"op": "raw", "base64": "AA=="},
        {"op": "workers"},
        {"op": "quit"},
    )
)
BODIES: Final = tuple(
    json.dumps(body).encode()
    for body in (
        {"spec": {"input": {"prompt": "hi"}}, "key": "k", "id": "r"},
        {"input": {"argv": ["ls", "-l"], "cwd": "/"}, "timeout_ms": 5, "labels": {"a": "b"}},
        {"text": "x", "newline": True, "key": "k"},
        {"signal": "TERM"},
        {"approval": "a", "decision": "value", "value": "v"},
        {"scope": "session", "reason": "r"},
        {},
    )
)
_VERBS: Final = ("input", "close", "signal", "cancel", "approve")


@cache
def _place() -> Path:
    folder = tempfile.mkdtemp(prefix="fuzz-")
    # `atexit` knows nothing of the tool's processes.
    Finalize(None, shutil.rmtree, [folder], {"ignore_errors": True}, exitpriority=0)
    return Path(folder) / "recording.jsonl"


def run_recording(data: bytes) -> bool:
    """A recording, whole or cut off."""
    path = _place()
    path.write_bytes(data)
    taken = False
    for partial_ in (False, True):
        try:
            read_recording(str(path), partial=partial_)
        except Unusable:
            continue
        taken = True
    return taken


def mutate_lines(draw: Random, data: bytes, seeds: Any) -> bytes:
    """Lines of JSON, of which some are bent and some are elsewhere."""
    lines = data.split(b"\n")
    for _ in range(some(draw)):
        at = draw.randrange(len(lines))
        match draw.randrange(5):
            case 0:
                lines.insert(at, draw.choice(draw.choice(seeds).split(b"\n")))
            case 1:
                del lines[at:]
                lines.append(b"")
            case _:
                lines[at] = mutate_json(draw, lines[at], lines)
    return b"\n".join(lines)


def run_operation(known: Mapping[str, type[Any]], data: bytes) -> bool:
    """A line of the front end."""
    try:
        read_operation(data, known)
    except BadLine as error:
        demand(error.id is None or isinstance(error.id, str), "an id that is no text")
        return False
    return True


def run_body(data: bytes) -> bool:
    """A body of the admin socket, as each of its requests reads it."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return False
    taken = False
    readers: list[Callable[[Any], object]] = [read_spec]
    if isinstance(value, dict):
        readers.append(read_start)
        readers += [partial(_read_command, verb) for verb in _VERBS]
    for read in readers:
        try:
            read(value)
        except InvalidArgument as error:
            demand(len(error.message) < 4096, "a refusal without end")
            continue
        taken = True
    return taken


def _read_command(verb: str, body: Any) -> object:
    return read_command(verb, RunId("r"), dict(body))


def run_json(data: bytes) -> bool:
    """JSON itself: what is read and written is read as the same; a text alone is read alike by the
    faster way."""
    text = load_text(data)
    try:
        value = load(data)
    except Malformed:
        demand(text is None, "the short way takes what the long way refuses")
        return False
    demand(text is None or same(text, value), "the short way reads something else")
    again = load(dump(value).encode())
    demand(same(again, value), "decode(encode(x)) is not x")
    if isinstance(value, str):
        demand(load(quoted(value)) == value, "a text changes on its way")
    return True


def run_words(data: bytes) -> bool:
    """Addresses and faults, as they stand on a command line."""
    taken = False
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        try:
            address = parse_address(line)
            demand(parse_address(str(address)) == address, "an address is written as another")
            taken = True
        except AddressError:
            pass
        try:
            read_faults([line])
            taken = True
        except BadFault:
            pass
    return taken


def run_given(protocol: str, data: bytes) -> bool:
    """What `explain-frame` is given: bytes, hex, a stream, or a recording."""
    side = _known()[protocol].northbound
    carriage = side.carriage(side.settings())
    showing = _known()[protocol].showing
    explainer = showing.explainer()
    try:
        found = frames_in(
            data,
            protocol,
            showing.version,
            carriage,
            lambda frame: explainer.explain(frame).readable,
        )
    except Unreadable:
        return False
    return bool(found)


# --- the journal

_RUN: Final = RunId("gui/r")


def run_event(data: bytes) -> bool:
    """An event's record, from a file that something has damaged."""
    try:
        event = records.decode_event(_RUN, Seq(1), data)
    except records.Damaged:
        return False
    _written(lambda: records.encode_event(event), lambda d: records.decode_event(_RUN, Seq(1), d))
    return True


def run_order(data: bytes) -> bool:
    """An order's record."""
    try:
        order = records.decode_order(_RUN, 1, data)
    except records.Damaged:
        return False
    _written(
        lambda: records.encode_order(order), lambda d: records.decode_order(_RUN, OrderNumber(1), d)
    )
    return True


def run_run(data: bytes) -> bool:
    """A run's record, and behind it its specs; two bytes before them say where they begin."""
    record, specs = _apart(data)
    try:
        run = records.decode_run(_RUN, 1, 1, record, specs)
    except records.Damaged:
        return False

    def both() -> bytes:
        return _both(run)

    _written(both, lambda made: records.decode_run(_RUN, 1, 1, *_apart(made)))
    return True


def _both(run: Any) -> bytes:
    record = records.encode_run(run)
    return len(record).to_bytes(2, "big") + record + records.encode_specs(run)


def _apart(data: bytes) -> tuple[bytes, bytes]:
    size = int.from_bytes(data[:2], "big")
    return data[2 : 2 + size], data[2 + size :]


def mutate_run(draw: Random, data: bytes, seeds: Any) -> bytes:
    """The record or the specs are bent."""
    record, specs = _apart(data)
    if draw.random() < 0.5:
        others = [_apart(seed)[0] for seed in seeds[:4]]
        record = _BEND_RECORD(draw, record, others)[: 1 << 15]
    else:
        specs = _BEND_SPECS(draw, specs, [_apart(seed)[1] for seed in seeds[:4]])
    return len(record).to_bytes(2, "big") + record + specs


_BEND_RECORD: Final = wired(run_pb2.Run.DESCRIPTOR)
_BEND_SPECS: Final = wired(run_pb2.Specs.DESCRIPTOR)


def _written(write: Callable[[], bytes], read: Callable[[bytes], Any]) -> None:
    """What could be read may be something that is never written; if it is, it stays the same."""
    try:
        record = write()
    except ValueError:
        return
    first = read(record)
    demand(same(read(record), first), "a record is read in two ways")


def _records(make: Any, encode: Callable[[Any], bytes]) -> tuple[bytes, ...]:
    return tuple(dict.fromkeys(encode(each) for each in pool(make, 60)))


TARGETS: Final = (
    Target("files.config", CONFIGS, run_config, mutate_toml, share=0.15, prepare=_warm),
    Target("files.script", SCRIPTS, run_script, mutate_toml),
    Target("files.recording", RECORDINGS, run_recording, mutate_lines, share=0.3),
    Target("files.recording-bytes", RECORDINGS, run_recording, mutate_bytes, share=0.3),
    Target(
        "files.operations-controller", OPERATIONS, partial(run_operation, CONTROLLER), mutate_json
    ),
    Target("files.operations-worker", OPERATIONS, partial(run_operation, WORKER), mutate_json),
    Target("files.bodies", BODIES, run_body, mutate_json),
    Target(
        "files.json", (*BODIES, b'"text"', b'"\\ud83d\\ude00 \\n"'), run_json, mutate_json, share=2
    ),
    Target(
        "files.json-text", (b'"text"', '"é\U0001f600"'.encode()), run_json, mutate_bytes, share=2
    ),
    Target(
        "files.words",
        (b"tcp://h:1\nunix:/x\nws://[::1]:80/p?q", b"drop=0.5,seed=3\nwss://h/\ngrpc://h:1"),
        run_words,
        mutate_bytes,
        share=0.5,
    ),
    *(
        Target(
            f"files.given-{protocol}",
            (RECORDINGS[at], b"00 01 ff", b'{"a":1}', b"\x00\x00\x00\x02\x00{"),
            partial(run_given, protocol),
            mutate_lines,
            share=0.1,
        )
        for at, protocol in enumerate(("agency", "iop", "kodelet", "rvbox"))
    ),
    Target(
        "files.journal-event",
        _records(drawn.recorded, records.encode_event),
        run_event,
        wired(event_pb2.Recorded.DESCRIPTOR),
        share=2,
    ),
    Target(
        "files.journal-order",
        _records(drawn.orders, records.encode_order),
        run_order,
        wired(run_pb2.Order.DESCRIPTOR),
    ),
    Target(
        "files.journal-run",
        _records(drawn.runs, _both),
        run_run,
        mutate_run,
    ),
)
