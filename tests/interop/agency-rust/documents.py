"""JSON documents that are frames, or nearly: what a document may be, and what goes wrong with it.

A document is a tree of `dict`, `list` and `Raw`; an object that has a key twice is a list of pairs
in `Pairs`. It is drawn valid, from the forms below, then bent a few times, then written with
whatever space, order and escapes JSON allows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple


class Raw(str):
    """JSON text of a scalar, written as it is."""


class Pairs(list[tuple[str, Any]]):
    """An object, key by key."""


class Optional(NamedTuple):
    """A member that may be left out. `null`: it may be null, too."""

    form: Any
    null: bool = True


class Tagged(NamedTuple):
    """An object whose other members go by the value of its member `tag`."""

    tag: str
    forms: dict[str, Any]
    beside: dict[str, Any]


TEXT, U64, U16, BOOL, FREE, TEXTS, ENVIRONMENT, METADATA = range(8)
"""Forms of scalars and of what is free inside."""

VERSION = {"major": U16, "minor": U16}
REQUEST = {
    "provider": TEXT,
    "model": TEXT,
    "prompt": TEXT,
    "isCommand": Optional(BOOL, False),
    "system": Optional(TEXT),
    "permission": TEXT,
    "effort": Optional(TEXT),
    "extraThinking": Optional(BOOL),
    "approvals": BOOL,
    "interactive": BOOL,
    "workspaceRoots": TEXTS,
    "resumeSessionId": Optional(TEXT),
    "binary": Optional(TEXT),
    "environment": Optional(ENVIRONMENT, False),
    "uncheckedArgs": Optional(TEXTS, False),
    "metadata": Optional(METADATA, False),
}
SNAPSHOT = {
    "runId": TEXT,
    "state": (
        *("starting", "running", "waiting_approval", "finishing"),
        *("completed", "failed", "canceled", "interrupted"),
    ),
    "provider": TEXT,
    "model": TEXT,
    "providerSessionId": Optional(TEXT),
    "latestSequence": U64,
    "acknowledgedSequence": U64,
    "workspaceRoots": TEXTS,
    "metadata": Optional(METADATA, False),
}
PROVIDER = {
    "provider": TEXT,
    "installed": BOOL,
    "version": Optional(TEXT),
    "outdated": BOOL,
    "authState": TEXT,
    "detail": TEXT,
    "authMethod": Optional(TEXT),
    "account": Optional(TEXT),
    "plan": Optional(TEXT),
    "loginHint": TEXT,
}
ACCOUNT = {
    "provider": TEXT,
    "supported": BOOL,
    "usage": Optional(FREE),
    "error": Optional(TEXT),
}
CAPABILITIES = (
    *("event_replay", "live_injection", "approvals"),
    *("cancellation", "provider_detection", "lifecycle_control"),
)
KEYED = {"run_id": TEXT, "idempotency_key": TEXT}
CLIENT = Tagged(
    "type",
    {
        "hello": {"client_name": TEXT, "version": VERSION},
        "list_runs": {},
        "probe_providers": {},
        "read_account_usage": {},
        "shutdown_if_idle": {},
        "shutdown": {"mode": ("drain", "terminate")},
        "start_run": {**KEYED, "request": REQUEST},
        "attach_run": {"run_id": TEXT, "after_sequence": U64},
        "detach_run": {"run_id": TEXT},
        "inject_message": {**KEYED, "body": TEXT},
        "cancel_run": KEYED,
        "decide_approval": {
            **KEYED,
            "approval_id": TEXT,
            "decision": ("allow_once", "allow_similar", "deny"),
        },
        "ack_events": {"run_id": TEXT, "through_sequence": U64},
    },
    {"requestId": U64},
)
EVENT = Tagged(
    "type",
    {
        **{
            name: {"payload": form}
            for name, form in {
                "finished": FREE,
                "failed": TEXT,
                "state_changed": SNAPSHOT["state"],
                "session_opened": {"provider_session_id": TEXT, "model": Optional(TEXT)},
                "reasoning": TEXT,
                "text": TEXT,
                "tool_call": {"id": Optional(TEXT), "name": TEXT, "input": FREE},
                "tool_result": {"id": Optional(TEXT), "ok": Optional(BOOL), "output": TEXT},
                "approval_requested": {"approval_id": TEXT, "title": TEXT, "detail": FREE},
                "usage": FREE,
                "rate_limit": FREE,
                "compaction": FREE,
                "commands": FREE,
                "error": TEXT,
            }.items()
        },
        "message_boundary": {"payload": Optional(("",))},
    },
    {},
)
RESPONSE = Tagged(
    "type",
    {
        "hello": {"server_name": TEXT, "version": VERSION, "capabilities": [CAPABILITIES]},
        "runs": {"runs": [SNAPSHOT]},
        "providers": {"providers": [PROVIDER]},
        "account_usage": {"providers": [ACCOUNT]},
        "run": {"run": SNAPSHOT},
        "accepted": {},
        "error": {
            "message": TEXT,
            "code": (
                *("incompatible_version", "protocol_violation", "not_found"),
                *("not_implemented", "conflict", "internal"),
            ),
        },
    },
    {"request_id": U64},
)
SERVER = Tagged(
    "kind",
    {"response": RESPONSE, "event": {"run_id": TEXT, "sequence": U64, "event": EVENT}},
    {},
)

WHOLE = ("0", "1", "7", "4294967296", "9007199254740993", "18446744073709551615")
NUMBERS = (
    *WHOLE,
    *("-1", "-0", "0.0", "-0.0", "1.0", "1e0", "1E+2", "2.5e-3", "1e16", "1e-7", "123456.789"),
    *("-9223372036854775808", "-9223372036854775809", "18446744073709551616"),
    *("123456789012345678901234567890", "5e-324", "1e-400", "1.7976931348623157e308"),
    *("0e99999999999", "0.1", "3.0000000000000004"),
)
BROKEN = (
    *("01", "+1", "1.", ".5", "1e", "0x1", "NaN", "Infinity", "-", "--1", "1e400", "-1e999"),
    *(
        "nul",
        "True",
        "'x'",
        '"\\x"',
        '"\\ud83d"',
        '"\\ude00\\ud83d"',
        '"\\u12g4"',
        '"\t"',
        '"\x00"',
    ),
    *("", ",", "{]", "1 2", '"open', "/*c*/1"),
)
CHARACTERS = 'az09 _"\\/\b\f\n\r\t\x00\x1f\x7f\x80é\u2028\ufeff\uffff😀𝄞'
KEYS = ("x", "", "type", "kind", "payload", "requestId", "request_id", "run_id", "runId", "é", "id")


class Drawing:
    """Draws documents by the numbers of `random`."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def frame(self, form: Any, bends: int) -> str:
        """The text of a document of `form`, bent so many times."""
        document = self._draw(form)
        for _ in range(bends):
            document = self._bend(document)
        return self._write(document)

    # --- valid

    def _draw(self, form: Any) -> Any:
        match form:
            case Tagged():
                return self._tagged(form)
            case dict():
                return self._members(form)
            case tuple():
                return self._random.choice(form)
            case [item]:
                return [self._draw(item) for _ in range(self._random.choice((0, 1, 1, 2)))]
            case _:
                return self._simple(form)

    def _tagged(self, form: Tagged) -> dict[str, Any]:
        name = self._random.choice(list(form.forms))
        beside = {key: self._draw(each) for key, each in form.beside.items()}
        return {**beside, form.tag: name, **self._draw(form.forms[name])}

    def _members(self, form: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, each in form.items():
            if not isinstance(each, Optional):
                made[key] = self._draw(each)
                continue
            chance = self._random.random()
            if chance < 0.2 and each.null:
                made[key] = Raw("null")
            elif chance < 0.6 and each.form != ("",):
                made[key] = self._draw(each.form)
        return made

    def _simple(self, form: int) -> Any:
        some = range(self._random.choice((0, 1, 3)))
        match form:
            case 0:
                return self._text()
            case 1:
                return Raw(self._random.choice(WHOLE))
            case 2:
                return Raw(self._random.choice(("0", "3", "65535")))
            case 3:
                return Raw(self._random.choice(("true", "false")))
            case 5:
                return [self._text() for _ in some]
            case 6:
                return Pairs((self._key(), self._text()) for _ in some)
            case 7:
                return Pairs((self._key(), self._free(1)) for _ in some)
            case _:
                return self._free(0)

    def _text(self) -> str:
        return "".join(self._random.choices(CHARACTERS, k=self._random.choice((0, 1, 2, 5))))

    def _key(self) -> str:
        return self._random.choice(KEYS) if self._random.random() < 0.7 else self._text()

    def _number(self) -> str:
        chance = self._random.random()
        if chance < 0.6:
            return self._random.choice(NUMBERS)
        if chance < 0.8:
            return str(self._random.randint(-(2**65), 2**65) >> self._random.randrange(66))
        return f"{self._random.randint(-9999, 9999)}.{self._random.randrange(1000)}"

    def _free(self, depth: int) -> Any:
        kind = self._random.randrange(8 if depth < 3 else 6)
        some = range(self._random.choice((0, 1, 2, 3)))
        match kind:
            case 0 | 1:
                return Raw(self._number())
            case 2:
                return Raw(self._random.choice(("null", "true", "false")))
            case 6:
                return [self._free(depth + 1) for _ in some]
            case 7:
                return Pairs((self._key(), self._free(depth + 1)) for _ in some)
            case _:
                return self._text()

    # --- nearly valid

    def _bend(self, document: Any) -> Any:
        """Change one place, mostly near the top, where the rules are."""
        places = [place for place in _places(document) if place]
        if not places:
            return document
        *way, last = places[min(self._random.randrange(len(places)) for _ in range(2))]
        holder = document
        for step in way:
            holder = holder[step]
        self._bend_at(holder, last)
        return document

    def _bend_at(self, holder: Any, at: Any) -> None:
        if isinstance(holder, dict):
            self._bend_member(holder, at)
        elif isinstance(holder, Pairs):
            holder[at] = (holder[at][0], self._other())
        else:
            holder[at] = self._other()

    def _bend_member(self, holder: dict[str, Any], key: str) -> None:
        match self._random.randrange(8):
            case 0:
                del holder[key]
            case 1:
                holder[key] = Raw("null")
            case 2 | 3:
                holder[key] = self._other()
            case 4:
                holder[self._restyled(key)] = holder.pop(key)
            case 5:
                holder[self._key()] = self._free(1)
            case 6:
                twice = Pairs(holder.items())
                twice.append((key, holder[key] if self._random.random() < 0.5 else self._other()))
                holder.clear()
                holder[""] = twice
            case _:
                deep = self._random.choice((100, 120, 121, 122, 123, 124, 125, 126, 127, 128))
                holder[self._random.choice(("deep", key))] = Raw("[" * deep + "]" * deep)

    def _other(self) -> Any:
        if self._random.random() < 0.2:
            return Raw(self._random.choice(BROKEN))
        return self._free(1)

    def _restyled(self, key: str) -> str:
        head, *words = key.split("_")
        if words:
            return head + "".join(map(str.title, words))
        return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)

    # --- written

    def _write(self, node: Any) -> str:
        if isinstance(node, Raw):
            return str(node)
        if isinstance(node, str):
            return self._quoted(node)
        if isinstance(node, dict):
            if isinstance(node.get(""), Pairs) and len(node) == 1:
                return self._write(node[""])
            members = list(node.items())
            if self._random.random() < 0.5:
                self._random.shuffle(members)
            node = Pairs(members)
        if isinstance(node, Pairs):
            each = [f"{self._quoted(key)}{self._gap()}:{self._write(value)}" for key, value in node]
            return f"{{{self._gap()}{','.join(each)}}}{self._gap()}"
        return f"[{','.join(map(self._write, node))}{self._gap()}]"

    def _quoted(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self._random.random() < 0.3)

    def _gap(self) -> str:
        return self._random.choice(("", "", "", "", "", " ", "\n", "\t\r "))


def _places(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to everything in a document, the outermost first."""
    level = [(way, node)]
    while level:
        yield from (each for each, _ in level)
        level = [((*each, key), value) for each, inner in level for key, value in _inside(inner)]


def _inside(node: Any) -> list[tuple[Any, Any]]:
    if isinstance(node, dict):
        return list(node.items())
    if isinstance(node, Pairs):
        return []
    return list(enumerate(node)) if isinstance(node, list) else []
