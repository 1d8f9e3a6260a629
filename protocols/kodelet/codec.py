"""Frames to messages and back: the envelope of W 4. No other file knows its form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fleetgate.protocols.api import Close, RemoteProtocolError
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import go_json, structs
from fleetgate.protocols.kodelet.errors import RpcError
from fleetgate.protocols.kodelet.go_json import has, is_object, member, trim
from fleetgate.protocols.kodelet.wire import (
    ABSENT,
    Failure,
    Message,
    Notification,
    Request,
    Success,
)


def fatal(text: str) -> RemoteProtocolError:
    """The error for input after which the genuine peer drops the connection (W 3)."""
    return RemoteProtocolError(text, (Close(None, text),))


def decode(frame: bytes) -> Message:
    """Read one message by the acceptance table of W 4.3.

    Raises: `RemoteProtocolError`, which drops the link without a word.
    """
    try:
        return _message(go_json.load(frame))
    except Malformed as error:
        raise fatal(f"no JSON-RPC message: {error}") from None


def _message(value: Any) -> Message:
    if not is_object(value):
        raise Malformed("expected an object; a batch is not supported either")
    given = _members(value)
    if given.get("jsonrpc") != "2.0":
        raise Malformed('expected jsonrpc "2.0"')
    method, id = given.get("method"), given.get("id")
    if method is not None and not isinstance(method, str):
        raise Malformed("method: expected a string")
    if id is not None and not (isinstance(id, str) and trim(id)):
        raise Malformed("id: expected a string that is not blank")
    error = _error(given.get("error"))
    if method and (trim(method) or "result" not in given):
        return _request(given, id, method, error)
    return _response(given, id, error)


_MEMBERS: Final = ("jsonrpc", "id", "method", "params", "result", "error")
_NAMES: Final = frozenset(_MEMBERS)


def _members(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """An envelope's members by the names that they have here. Nearly always they are spelt so, and
    there are no others, which is told without a look at how each might be spelt."""
    if _NAMES.issuperset(value):
        return value
    return {name: member(value, name) for name in _MEMBERS if has(value, name)}


def _error(value: Any) -> RpcError | None:
    if value is None:
        return None
    return structs.read(RpcError, value)


def _request(
    given: Mapping[str, Any], id: str | None, method: str, error: RpcError | None
) -> Message:
    if not trim(method):
        raise Malformed("method: expected a name")
    if "result" in given or error is not None:
        raise Malformed("a request has neither result nor error")
    params = given.get("params", ABSENT)
    return Notification(method, params) if id is None else Request(id, method, params)


def _response(given: Mapping[str, Any], id: str | None, error: RpcError | None) -> Message:
    if id is None:
        raise Malformed("a response has an id")
    if error is not None:
        if "result" in given:
            raise Malformed("a response has a result or an error, not both")
        return Failure(id, error)
    if "result" not in given:
        raise Malformed("expected a method, a result or an error")
    return Success(id, given["result"])


def encode(message: Message) -> bytes:
    """Write a message as Go writes it: compact, members in the order of W 4.1.

    Raises: `ValueError` for a value that JSON has no form for.
    """
    match message:
        case Request(id=id, method=method, params=params):
            text = f'"id":{go_json.quote(id)},"method":{go_json.quote(method)}{_params(params)}'
        case Notification(method=method, params=params):
            text = f'"method":{go_json.quote(method)}{_params(params)}'
        case Success(id=id, result=result):
            text = f'"id":{go_json.quote(id)},"result":{go_json.dump(structs.write(result))}'
        case Failure(id=id, error=error):
            text = f'"id":{go_json.quote(id)},"error":{go_json.dump(_written(error))}'
    return f'{{"jsonrpc":"2.0",{text}}}'.encode()


def _params(params: Any) -> str:
    return "" if params is ABSENT else f',"params":{go_json.dump(structs.write(params))}'


def _written(error: RpcError) -> dict[str, Any]:
    written: dict[str, Any] = {"code": error.code, "message": error.message}
    return written if error.data is None else {**written, "data": error.data}
