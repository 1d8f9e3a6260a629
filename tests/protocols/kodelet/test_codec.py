"""The envelope: the acceptance table of W 4.3, row by row."""

from typing import Any

import pytest

from fleetgate.protocols.api import Close, RemoteProtocolError
from fleetgate.protocols.kodelet.codec import decode, encode, fatal
from fleetgate.protocols.kodelet.errors import RpcError
from fleetgate.protocols.kodelet.wire import ABSENT, Failure, Notification, Request, Success

GOOD: list[tuple[str, Any]] = [
    ('{"jsonrpc":"2.0","id":"a","method":"x"}', Request("a", "x", ABSENT)),
    ('{"jsonrpc":"2.0","method":"x"}', Notification("x", ABSENT)),
    ('{"jsonrpc":"2.0","id":null,"method":"x"}', Notification("x", ABSENT)),
    ('{"jsonrpc":"2.0","method":"x","params":[1]}', Notification("x", [1])),
    ('{"jsonrpc":"2.0","method":"x","params":"s"}', Notification("x", "s")),
    ('{"jsonrpc":"2.0","method":"x","params":null}', Notification("x", None)),
    ('{"jsonrpc":"2.0","id":"a","method":"x","error":null}', Request("a", "x", ABSENT)),
    ('{"jsonrpc":"2.0","id":"a","result":null}', Success("a", None)),
    ('{"jsonrpc":"2.0","id":"a","result":1,"error":null}', Success("a", 1)),
    ('{"jsonrpc":"2.0","id":"a","method":null,"result":1}', Success("a", 1)),
    ('{"jsonrpc":"2.0","id":"a","method":"","result":1}', Success("a", 1)),
    ('\n {"jsonrpc":"2.0","id":" a ","method":"x"}\n', Request(" a ", "x", ABSENT)),
    ('{"JSONRPC":"2.0","Method":"x","extra":{"a":[]}}', Notification("x", ABSENT)),
    ('{"jsonrpc":"2.0","id":"b","id":"a","method":"x"}', Request("a", "x", ABSENT)),
    ('{"jsonrpc":"2.0","id":"\\ud800","method":"x"}', Request("\ufffd", "x", ABSENT)),
    ('{"jsonrpc":"2.0","id":"a","error":{}}', Failure("a", RpcError())),
    (
        '{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"m","data":{"reason":"r"},"x":1}}',
        Failure("a", RpcError(-1, "m", {"reason": "r"})),
    ),
]

FATAL = [
    '{"jsonrpc":"2.0","id":1,"method":"x"}',
    '{"jsonrpc":"2.0","id":1.5,"method":"x"}',
    '{"jsonrpc":"2.0","id":true,"method":"x"}',
    '{"jsonrpc":"2.0","id":{},"method":"x"}',
    '{"jsonrpc":"2.0","id":"","method":"x"}',
    '{"jsonrpc":"2.0","id":"  ","method":"x"}',
    '{"jsonrpc":"1.0","id":"a","method":"x"}',
    '{"jsonrpc":2.0,"id":"a","method":"x"}',
    '{"id":"a","method":"x"}',
    '{"method":"x"}',
    '{"jsonrpc":null,"id":"a","method":"x"}',
    '{"jsonrpc":"2.0","id":"a","method":"x","result":null}',
    '{"jsonrpc":"2.0","id":"a","method":"x","error":{"code":1}}',
    '{"jsonrpc":"2.0","id":"a","result":null,"error":{"code":1}}',
    '{"jsonrpc":"2.0","id":"a"}',
    '{"jsonrpc":"2.0","result":1}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}',
    '{"jsonrpc":"2.0","id":"a","method":"  "}',
    '{"jsonrpc":"2.0","id":"a","method":5}',
    '{"jsonrpc":"2.0","id":"a","error":"text"}',
    '{"jsonrpc":"2.0","id":"a","error":{"code":1.0}}',
    '[{"jsonrpc":"2.0","id":"a","method":"x"}]',
    "[]",
    "null",
    '"text"',
    "1",
    "",
    "  \n",
    "{}",
    "not json",
    '{"jsonrpc":"2.0","method":"x"} {}',
    '\ufeff{"jsonrpc":"2.0","method":"x"}',
    '{"jsonrpc":"2.0","method":"x","params":NaN}',
    '{"jsonrpc":"2.0","method":"x"} // y',
    "{'jsonrpc':'2.0','method':'x'}",
    '{"jsonrpc":"2.0","method":"x","params":' + "[" * 20_000 + "]" * 20_000 + "}",
]


@pytest.mark.parametrize(("text", "message"), GOOD)
def test_accepted_rows(text: str, message: Any) -> None:
    assert decode(text.encode()) == message


@pytest.mark.parametrize("text", FATAL, ids=lambda text: text[:60])
def test_fatal_rows_drop_the_link_without_a_word(text: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        decode(text.encode())
    (close,) = caught.value.steps
    assert isinstance(close, Close)
    assert close.code is None


def test_bytes_that_are_no_utf8_are_accepted() -> None:
    assert decode(b'{"jsonrpc":"2.0","method":"\xff"}') == Notification("\ufffd", ABSENT)


def test_messages_as_go_writes_them() -> None:
    assert encode(Request("runner:1", "a", None)) == (
        b'{"jsonrpc":"2.0","id":"runner:1","method":"a","params":null}'
    )
    assert encode(Notification("a", {"b": "<&>"})) == (
        b'{"jsonrpc":"2.0","method":"a","params":{"b":"\\u003c\\u0026\\u003e"}}'
    )
    assert encode(Notification("a", ABSENT)) == b'{"jsonrpc":"2.0","method":"a"}'
    assert encode(Success("a", None)) == b'{"jsonrpc":"2.0","id":"a","result":null}'
    assert encode(Failure("a", RpcError(-1, "m"))) == (
        b'{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"m"}}'
    )


@pytest.mark.parametrize(("text", "message"), GOOD)
def test_what_is_written_is_read_again(text: str, message: Any) -> None:
    assert decode(encode(message)) == message


def test_a_fatal_error_says_why_and_closes() -> None:
    error = fatal("why")
    assert (str(error), error.steps) == ("why", (Close(None, "why"),))
