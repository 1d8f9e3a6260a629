"""What is a message, for either side: section 4, and the peer of section 5."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from fleetgate.gateway.tck.kodelet.talk import (
    LIMIT,
    NO_METHOD,
    NOBODYS,
    TOO_LARGE,
    RpcPeer,
    dumped,
)
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic


class Kit(Protocol):
    """A requirement of either side, being tried."""

    async def established(self) -> RpcPeer:
        """A link on which the runner is registered."""
        ...


_SHARED: Final = Topic("envelope")

_UP: Final = "a runner that is registered"
_ENDS: Final = "no answer, and the end of the connection"

NO_METHOD_TEXT: Final = "runner request method not found"


@_SHARED.must(
    "001",
    given=_UP,
    when="a request of a method comes that nobody has",
    expect=f"the error {NO_METHOD} for its id, and that the link stays",
    source="kodelet 6.2, 6.3; case 7",
)
async def no_method(kit: Kit) -> None:
    peer = await kit.established()
    await peer.refused(await peer.ask(NOBODYS, {}), NO_METHOD, "a method that nobody has")
    await peer.expect_alive()


@_SHARED.should(
    "002",
    given=_UP,
    when="that request comes",
    expect="the very bytes of a genuine answer: compact, jsonrpc before id before error, and the "
    f'message "{NO_METHOD_TEXT}"',
    source="kodelet 4.1, 15.4",
)
async def exact(kit: Kit) -> None:
    peer = await kit.established()
    id = await peer.ask(NOBODYS, {})
    _, text = await peer.answer_text(id, "the error")
    error = {"code": NO_METHOD, "message": NO_METHOD_TEXT}
    wanted = dumped({"jsonrpc": "2.0", "id": id, "error": error})
    if text != wanted:
        raise Unmet(wanted, f"it is {text[:300]}")


def _request(id: str, more: str = "") -> str:
    return f'{{"jsonrpc":"2.0","id":{id},"method":"{NOBODYS}"{more}}}'


async def _answered(kit: Kit, *texts: tuple[str, str]) -> None:
    """Each text is a request, with this id."""
    peer = await kit.established()
    for text, id in texts:
        await peer.say(text)
        await peer.refused(id, NO_METHOD, "a method that nobody has")


@_SHARED.must(
    "003",
    given=_UP,
    when="a request has members that are not known, an error that is null, no params, or a list or "
    "a text as params, or white space around it",
    expect="that it is a request all the same",
    source="kodelet 4.3; case 7",
)
async def tolerant(kit: Kit) -> None:
    await _answered(
        kit,
        (_request('"a"', ',"extra":{"a":1}'), "a"),
        (_request('"b"', ',"error":null'), "b"),
        (_request('"c"'), "c"),
        (_request('"d"', ',"params":[1]'), "d"),
        (_request('"e"', ',"params":"s"'), "e"),
        (f"\n {_request(chr(34) + 'f' + chr(34))} \n", "f"),
    )


@_SHARED.must(
    "004",
    given=_UP,
    when="the id of a request has another prefix, spaces at its ends, or other letters than ASCII",
    expect="an answer with that id, character for character",
    source="kodelet 4.2",
)
async def ids(kit: Kit) -> None:
    names = ("other:1", " a ", "\u00e9\u4e2d", "x" * 200)
    await _answered(kit, *((_request(dumped(name)), name) for name in names))


@_SHARED.should(
    "005",
    given=_UP,
    when="the names of a request's members are written in other cases, or come twice",
    expect="that it is a request, whose last members count",
    source="kodelet 4.3",
)
async def lenient_names(kit: Kit) -> None:
    await _answered(
        kit,
        (f'{{"JSONRPC":"2.0","ID":"a","Method":"{NOBODYS}"}}', "a"),
        (f'{{"jsonrpc":"1.0","jsonrpc":"2.0","id":"z","id":"b","method":"{NOBODYS}"}}', "b"),
    )


@_SHARED.must(
    "006",
    given=_UP,
    when="a notification of a method comes that nobody has, without an id or with null for one",
    expect="no answer, and that the link stays",
    source="kodelet 4.3, 5.3; case 7",
)
async def notification(kit: Kit) -> None:
    peer = await kit.established()
    await peer.say(f'{{"jsonrpc":"2.0","method":"{NOBODYS}"}}', _request("null"))
    await peer.expect_silence()


@_SHARED.must(
    "007",
    given=_UP,
    when="an answer comes to something that was never asked",
    expect="that it is ignored, and that the link stays",
    source="kodelet 5.3; case 7",
)
async def stray_answer(kit: Kit) -> None:
    peer = await kit.established()
    await peer.say('{"jsonrpc":"2.0","id":"zzz","result":1}')
    await peer.say('{"jsonrpc":"2.0","id":"zzz","result":1,"error":null}')
    await peer.say('{"jsonrpc":"2.0","id":"zzz","error":{"code":-32000,"message":"m"}}')
    await peer.expect_silence()


@_SHARED.must(
    "008",
    given=_UP,
    when="operation.cancel names a request that is not there, or has no params",
    expect="no answer, and that the link stays",
    source="kodelet 5.4; case 13",
)
async def stray_cancel(kit: Kit) -> None:
    peer = await kit.established()
    await peer.tell("operation.cancel", {"requestId": "zzz"})
    await peer.tell("operation.cancel")
    await peer.expect_silence()


@_SHARED.must(
    "009",
    given=_UP,
    when="a message of exactly 4194304 bytes comes",
    expect="that it is taken",
    source="kodelet 3; case 9",
)
async def largest(kit: Kit) -> None:
    peer = await kit.established()
    await peer.say(_sized(LIMIT))
    await peer.expect_silence()


@_SHARED.must(
    "010",
    given=_UP,
    when="a message of 4194305 bytes comes",
    expect="close 1009, or the end of the connection",
    source="kodelet 3; case 9",
)
async def too_large(kit: Kit) -> None:
    peer = await kit.established()
    await peer.say(_sized(LIMIT + 1))
    end = await peer.expect_gone()
    if end.code not in (None, TOO_LARGE):
        raise Unmet("close 1009, or the end of the connection", end.text)


def _sized(size: int) -> str:
    empty = f'{{"jsonrpc":"2.0","method":"{NOBODYS}","params":""}}'
    return empty.replace('""', f'"{"x" * (size - len(empty))}"')


def _fatal(id: str, when: str, *texts: str) -> None:
    """Messages that end the connection, each on a link of its own."""

    async def play(kit: Kit) -> None:
        for text in texts:
            peer = await kit.established()
            await peer.say(text)
            await peer.expect_gone()

    add: Callable[[Callable[[Kit], Awaitable[None]]], object] = _SHARED.must(
        id, given=_UP, when=when, expect=_ENDS, source="kodelet 4.3, 15.9"
    )
    add(play)


_fatal("011", "a batch comes", '[{"jsonrpc":"2.0","id":"a","method":"x"}]', "[]")
_fatal(
    "012",
    "the id of a request is a number, an object, empty or blank",
    '{"jsonrpc":"2.0","id":1,"method":"x"}',
    '{"jsonrpc":"2.0","id":{},"method":"x"}',
    '{"jsonrpc":"2.0","id":"","method":"x"}',
    '{"jsonrpc":"2.0","id":"  ","method":"x"}',
)
_fatal(
    "013",
    "jsonrpc is another version, a number, or missing",
    '{"jsonrpc":"1.0","id":"a","method":"x"}',
    '{"jsonrpc":2.0,"id":"a","method":"x"}',
    '{"method":"x"}',
)
_fatal(
    "014",
    "a request has a result, be it null, or an error that is not null; or its method is a number",
    '{"jsonrpc":"2.0","id":"a","method":"x","result":null}',
    '{"jsonrpc":"2.0","id":"a","method":"x","error":{"code":1,"message":"m"}}',
    '{"jsonrpc":"2.0","id":"a","method":5}',
)
_fatal(
    "015",
    "an answer has no id, or null for one, or neither result nor error, or both of them",
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}',
    '{"jsonrpc":"2.0","result":1}',
    '{"jsonrpc":"2.0","id":"a"}',
    '{"jsonrpc":"2.0","id":"a","result":null,"error":{"code":1,"message":"m"}}',
)
_fatal(
    "016",
    "a message is no JSON, no object, or has something behind the object",
    "not json",
    '"text"',
    "{}",
    " ",
    '{"jsonrpc":"2.0","id":"a","method":"x"} x',
    "{'jsonrpc':'2.0','id':'a','method':'x'}",
)


@_SHARED.should(
    "017",
    given=_UP,
    when="a message comes that is no JSON",
    expect="the end of the connection at once and without a close frame",
    source="kodelet 3, Close behaviour",
)
async def bare(kit: Kit) -> None:
    peer = await kit.established()
    await peer.say("not json")
    await peer.expect_gone(bare=True)


@_SHARED.should(
    "018",
    given=_UP,
    when="a text message has bytes in a string that are no UTF-8",
    expect="that it is a message all the same",
    source="kodelet 3: invalid UTF-8 in a text message",
)
async def no_utf8(kit: Kit) -> None:
    peer = await kit.established()
    await peer.send(_request('"a"', ',"params":{"a":"?"}').encode().replace(b"?", b"\xff\xfe"))
    await peer.refused("a", NO_METHOD, "a method that nobody has")
    await peer.expect_alive()


@_SHARED.must(
    "019",
    given=_UP,
    when="a request comes as a binary message",
    expect=_ENDS,
    source="kodelet 3: a binary message; 15.9",
)
async def binary(kit: Kit) -> None:
    peer = await kit.established()
    await peer.send_other(_request('"a"').encode())
    await peer.expect_gone()


def envelope_of(prefix: str) -> Topic:
    """The requirements for one side."""
    return _SHARED.of(prefix)
