"""Go's encoding/json judges messages and digests of manifests, and ours judges the same.

Genuine kodelet leaves both to it: what it takes, and what it writes, is what the page describes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from programs import Program

from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.codec import decode
from fleetgate.protocols.kodelet.structs import Malformed

CASES = 20_000


@pytest.fixture
def judge(programs: Path, met: None) -> Iterator[Program]:
    """Go's."""
    with Program([programs / "kodelet", "judge"]) as program:
        yield program


def judged(judge: Program, what: str, text: str) -> str:
    judge.say(what + json.dumps(text))
    return judge.line()


# --- JSON as nobody would write it by hand

NUMBERS = ("0", "-0", "1", "-1", "1.0", "1.5", "0.1", "1e2", "1E+2", "1e21", "1e20", "1e-6", "1e-7",
           "9007199254740993", "123456789.5", "5e-324", "1.7976931348623157e308", "1e400",
           "18446744073709551616", "0.000001", "1.25e-9", "100000000000000000000000", "-1.5e-10",
           "01", "1.", ".5", "+1", "NaN")  # fmt: skip
WRITTEN = ('""', '"a"', '"<&>"', '"\\u2028"', '"\u2029"', '"é"', '"\\u00e9"', '"𝄞"',
           '"\\ud834\\udd1e"', '"\\ud800"', '"\\udc00x"', '"\\u0000"', '"\\b\\f\\n\\r\\t"',
           '"\\u001f"', '"\u007f"', '"\\/"', '"\\x"', '"\n"', '"zz"', '"\\""')  # fmt: skip
PLAIN = ("null", "true", "false")


class Drawing:
    """Draws texts of JSON, most of them right."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def value(self, depth: int = 0) -> str:
        kind = self.random.randrange(6 if depth < 4 else 4)
        if kind < 4:
            return self.random.choice((*PLAIN, *NUMBERS[:23], *WRITTEN[:16], *WRITTEN[18:]))
        if kind == 4:
            return "[" + ",".join(self.value(depth + 1) for _ in range(self.some())) + "]"
        return self.object(depth)

    def object(self, depth: int = 0) -> str:
        """One whose members may come twice, each time under the same name, however written."""
        members: list[str] = []
        values: dict[str, str] = {}
        for _ in range(self.some() + 4 * self.seldom()):
            key, value = self.text(), self.value(depth + 1)
            # Go judges the number in a member that a later one replaces, too; ours has forgotten it
            if "1e400" not in values.get(json.loads(key), ""):
                values[json.loads(key)] = value
                members.append(f"{key}:{value}")
        return "{" + ",".join(members) + "}"

    def some(self) -> int:
        return self.random.randrange(4)

    def text(self) -> str:
        return self.random.choice((*WRITTEN[:16], *WRITTEN[18:]))

    def seldom(self) -> bool:
        return self.random.random() < 0.01

    def members(self, **kinds: Callable[[], str]) -> str:
        """An object with most of these members, each once, among them some that nobody knows."""
        made = [f'"{name}":{kind()}' for name, kind in kinds.items() if self.random.random() < 0.8]
        if self.random.random() < 0.2:
            made.append(f'"unknown":{self.value()}')
        self.random.shuffle(made)
        return "{" + self.space() + ",".join(made) + "}" + self.space()

    def space(self) -> str:
        return self.random.choice(("", "", "", " ", "\n\t"))

    def or_null(self, text: str) -> str:
        return "null" if self.random.random() < 0.1 else text

    def string(self) -> str:
        return self.wrong() if self.seldom() else self.or_null(self.text())

    def wrong(self) -> str:
        return self.random.choice((*PLAIN, *NUMBERS, *WRITTEN, "[]", "{}", "", "x"))

    def number(self) -> str:
        numbers = ("0", "1", "7", "-3", "9223372036854775807")
        return self.wrong() if self.seldom() else self.or_null(self.random.choice(numbers))

    def flag(self) -> str:
        return self.wrong() if self.seldom() else self.random.choice(PLAIN)

    def list_of(self, member: Callable[[], str]) -> Callable[[], str]:
        def made() -> str:
            members = "[" + ",".join(member() for _ in range(self.some())) + "]"
            return self.wrong() if self.seldom() else self.or_null(members)

        return made

    def manifest(self) -> str:
        s, n, f = self.string, self.number, self.flag
        args = lambda: self.or_null(self.members(a=s, b=s, **{"é": s, "<": s}))  # noqa: E731
        schema = lambda: self.wrong() if self.seldom() else self.or_null(self.object())  # noqa: E731
        config = lambda: self.members(  # noqa: E731
            allowedCommands=self.list_of(s), toolMode=s, enableFSSearchTools=f,
            systemPromptPath=s, systemPromptContent=s, systemPromptArgs=args,
            systemInformation=lambda: self.members(isGitRepo=f, platform=s, osVersion=s, date=s),
        )  # fmt: skip
        return self.members(
            protocolVersion=n, runnerId=s, runId=s, generation=n, digest=s, workingDirectory=s,
            contextFiles=self.list_of(lambda: self.members(path=s, content=s, digest=s)),
            tools=self.list_of(
                lambda: self.members(name=s, description=s, inputSchema=schema, placement=s)),
            skills=self.list_of(
                lambda: self.members(name=s, description=s, source=s, digest=s)),
            commands=self.list_of(
                lambda: self.members(name=s, description=s, hint=s, placeholder=s, digest=s)),
            config=config, extensionGeneration=n,
            capabilities=lambda: self.members(
                toolUpdates=f, interactiveUI=f, persistentSurfaces=f, commands=f),
        )  # fmt: skip

    def message(self) -> str:
        """A message, or something like it."""
        pick = self.random.choice
        names = {
            "jsonrpc": ('"2.0"',) * 12 + ('"1.0"', "2.0", "null"),
            "id": ('"a"', '"server:1"', '" a "', '"é"', "null", '""', '"  "', "1", "true", "{}"),
            "method": ('"x"', '"run.open"', "null", '""', "5"),
            "params": ("{}", "[1]", '"s"', "null", self.value()),
            "result": ("null", "1", self.value()),
            "error": ("null", '{"code":1,"message":"m"}', '{"message":"m"}', '{"code":1.0}', "{}",
                      '{"code":"1"}', '{"code":1,"message":5}', "[]", '"e"', "1"),
        }  # fmt: skip
        odds = {
            "jsonrpc": 0.97,
            "id": 0.8,
            "method": 0.6,
            "params": 0.6,
            "result": 0.3,
            "error": 0.3,
        }
        made = [
            f'"{self.cased(name)}":{pick(values)}'
            for name, values in names.items()
            if self.random.random() < odds[name]
        ]
        self.random.shuffle(made)
        if made and self.random.random() < 0.05:
            self.repeat(made)
        text = self.space() + "{" + ",".join(made) + "}" + self.space()
        return text + pick(("x", "{}", ",")) if self.seldom() else text

    def repeat(self, made: list[str]) -> None:
        """Put a member before one of the same name, which counts unless it is null: there the
        two differ (docs/divergence/kodelet.md)."""
        at = self.random.randrange(len(made))
        name, _, value = made[at].partition(":")
        if value != "null" and name.lower() != '"error"':
            made.insert(self.random.randrange(at + 1), f'{self.cased(name)}:"earlier"')

    def cased(self, name: str) -> str:
        return self.random.choice((name.upper(), name.title())) if self.seldom() else name


# --- what ours says

KINDS = {wire.Request: "request", wire.Notification: "notification"}


def our_kind(text: str) -> str:
    try:
        return KINDS.get(type(decode(text.encode())), "response")
    except RemoteProtocolError:
        return "-"


def our_digest(text: str) -> str:
    try:
        answer = decode(b'{"jsonrpc":"2.0","id":"a","result":' + text.encode() + b"}")
        assert isinstance(answer, wire.Success)
        return m.digest_of(m.read_manifest(answer.result))
    except (RemoteProtocolError, Malformed):
        return "-"


@pytest.mark.parametrize("seed", range(2))
def test_digests(judge: Program, record_property: Callable[[str, object], None], seed: int) -> None:
    """The digest of a manifest, or that it is none, as Go's encoding/json and SHA-256 have it"""
    drawing, refused = Drawing(seed), 0
    for _ in range(CASES // 2):
        text = drawing.manifest()
        theirs = judged(judge, "m", text)
        assert our_digest(text) == theirs, text
        refused += theirs == "-"
    assert 0 < refused < CASES // 4  # most of them are manifests, and some are none
    record_property("count", CASES // 2)


@pytest.mark.parametrize("seed", range(2))
def test_envelopes(
    judge: Program, record_property: Callable[[str, object], None], seed: int
) -> None:
    """What kind of message a text is, or that it is none, as Go's encoding/json has it"""
    drawing = Drawing(seed)
    seen: dict[str, int] = {}
    for _ in range(CASES // 2):
        text = drawing.message()
        theirs = judged(judge, "e", text)
        assert our_kind(text) == theirs, text
        seen[theirs] = seen.get(theirs, 0) + 1
    assert min(seen.values()) > CASES // 100, seen
    record_property("count", CASES // 2)


TABLE: Sequence[tuple[str, str]] = (
    ('{"jsonrpc":"2.0","id":"a","method":"x"}', "request"),
    ('{"jsonrpc":"2.0","method":"x"}', "notification"),
    ('{"jsonrpc":"2.0","id":null,"method":"x"}', "notification"),
    *((f'{{"jsonrpc":"2.0","id":"a","method":"x","params":{params}}}', "request")
      for params in ("[1]", '"s"', "null", "{}")),
    *((f'{{"jsonrpc":"2.0","id":{id},"method":"x"}}', "-")
      for id in ("1", "1.5", "true", "{}", "[]", '""', '"  "')),
    *((f'{{"jsonrpc":{version},"id":"a","method":"x"}}', "-")
      for version in ('"1.0"', "2.0", "null")),
    ('{"id":"a","method":"x"}', "-"),
    ('{"jsonrpc":"2.0","id":"a","method":"x","error":{"code":1,"message":"m"}}', "-"),
    ('{"jsonrpc":"2.0","id":"a","method":"x","result":null}', "-"),
    ('{"jsonrpc":"2.0","id":"a","method":"x","error":null}', "request"),
    ('{"jsonrpc":"2.0","id":"a","result":null}', "response"),
    ('{"jsonrpc":"2.0","id":"a","result":1,"error":null}', "response"),
    ('{"jsonrpc":"2.0","id":"a","result":null,"error":{"code":1,"message":"m"}}', "-"),
    ('{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"m"}}', "response"),
    ('{"jsonrpc":"2.0","result":1}', "-"),
    ('{"jsonrpc":"2.0","id":"a"}', "-"),
    ('{"jsonrpc":"2.0","id":null,"result":1}', "-"),
    ('{"jsonrpc":"2.0","id":"a","method":null,"result":1}', "response"),
    ('{"jsonrpc":"2.0","id":"a","method":"","result":1}', "response"),
    ('{"jsonrpc":"2.0","id":"a","method":"  "}', "-"),
    ('{"jsonrpc":"2.0","id":"a","method":5}', "-"),
    ('{"jsonrpc":"2.0","id":"a","method":"x","more":[{"x":null}]}', "request"),
    ('/* */{"jsonrpc":"2.0","id":"a","method":"x"}', "-"),
    ('[{"jsonrpc":"2.0","id":"a","method":"x"}]', "-"),
    ("[]", "-"), ("null", "-"), ('"x"', "-"), ("1", "-"), ("", "-"), (" \n", "-"), ("{}", "-"),
    ('\ufeff{"jsonrpc":"2.0","id":"a","method":"x"}', "-"),
    ("{'jsonrpc':'2.0','id':'a','method':'x'}", "-"),
    ('{"jsonrpc":"2.0","id":"a","method":"x","params":NaN}', "-"),
    ('{"JSONRPC":"2.0","Id":"a","METHOD":"x"}', "request"),
    ('{"jsonrpc":"1.0","jsonrpc":"2.0","id":"a","method":"x"}', "request"),
    ('{"jsonrpc":"2.0","id":"\\ud800","method":"x"}', "request"),
    ('\n {"jsonrpc":"2.0","id":"a","method":"x"} \t', "request"),
    ('{"jsonrpc":"2.0","id":"a","method":"x"} {}', "-"),
)  # fmt: skip


def test_table(judge: Program, record_property: Callable[[str, object], None]) -> None:
    """The acceptance table of section 4.3, in Go and here"""
    for text, kind in TABLE:
        assert (text, judged(judge, "e", text), our_kind(text)) == (text, kind, kind)
    record_property("count", len(TABLE))
