"""A peer on `websockets`: echoes as a server, and as a client does what it is told.

python websockets_peer.py server [--compress]      python websockets_peer.py client --at URL
                                  both: [--ca PEM] [--cert PEM --key PEM]

It imports nothing of ours. A JSON object a line, the same that the peer in Go has.
"""

from __future__ import annotations

import argparse
import base64
import json
import ssl
import sys
import threading
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

LIMIT = 4 << 20
PATIENCE = 120.0
"""Seconds for the answer to a ping."""
_speaking = threading.Lock()


def say(event: str, **members: Any) -> None:
    with _speaking:
        sys.stdout.write(json.dumps({"event": event, **members}) + "\n")
        sys.stdout.flush()


def say_down(ended: ConnectionClosed) -> None:
    """With the code that came, or that was sent where none came."""
    close = ended.rcvd or ended.sent
    say("down", code=close.code if close else 0, why=str(ended))


def secured(given: argparse.Namespace, purpose: ssl.Purpose) -> ssl.SSLContext | None:
    """What the files say, or None where there are none."""
    if not given.ca and not given.cert:
        return None
    context = ssl.create_default_context(purpose, cafile=given.ca or None)
    if given.cert:
        context.load_cert_chain(given.cert, given.key)
    if given.ca:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client(at: str, compression: str | None, given: argparse.Namespace) -> None:
    try:
        made = connect(
            at,
            ssl=secured(given, ssl.Purpose.SERVER_AUTH),
            subprotocols=[Subprotocol("other"), Subprotocol("echo")],
            additional_headers={"Authorization": "Bearer s3cret"},
            compression=compression,
            max_size=LIMIT,
            ping_interval=None,
            legacy=True,  # a connection and no context, from 17 on
        )
    except InvalidStatus as refused:
        say("refused", status=refused.response.status_code, why=str(refused))
        return
    except (
        OSError,
        InvalidHandshake,
        ConnectionClosed,
    ) as failed:  # of TLS, or an end in the middle of it
        say("refused", status=0, why=str(failed))
        return
    with made as socket:
        obey(socket)


def obey(socket: Any) -> None:
    say("ready", subprotocol=socket.subprotocol)
    listening = threading.Thread(target=listen, args=(socket,))
    listening.start()
    for line in sys.stdin:
        try:
            do(socket, json.loads(line))
        except ConnectionClosed:
            break  # the listening thread tells of it
    listening.join()


def listen(socket: Any) -> None:
    try:
        while True:
            message = socket.recv()
            kind = "text" if isinstance(message, str) else "binary"
            data = message.encode() if isinstance(message, str) else message
            say("message", kind=kind, data=base64.b64encode(data).decode())
    except ConnectionClosed as ended:
        say_down(ended)


def do(socket: Any, order: dict[str, Any]) -> None:
    data = base64.b64decode(order.get("data", ""))
    if order["op"] == "send":
        socket.send(data.decode() if order["kind"] == "text" else data)
    elif order["op"] == "pieces":
        socket.send(data[at : at + 1000] for at in range(0, len(data), 1000))
    elif order["op"] == "ping":
        assert socket.ping().wait(PATIENCE)
        say("pong")
    elif order["op"] == "close":
        socket.close(order["code"], order["text"])


def echo(socket: ServerConnection) -> None:
    assert socket.request is not None
    authorization = socket.request.headers.get("Authorization", "")
    say("up", subprotocol=socket.subprotocol, authorization=authorization)
    try:
        while True:
            message = socket.recv()
            if message == b"close me":
                socket.close(4321, "as you wish")
                return
            if message == b"ping me":
                threading.Thread(target=ping, args=(socket,)).start()
            socket.send(message)
    except ConnectionClosed as ended:
        say_down(ended)


def ping(socket: ServerConnection) -> None:
    if all(socket.ping().wait(PATIENCE) for _ in range(3)):
        say("pongs")


def server(compression: str | None, given: argparse.Namespace) -> None:
    secure = secured(given, ssl.Purpose.CLIENT_AUTH)
    serving = serve(
        echo,
        "127.0.0.1",
        0,
        ssl=secure,
        subprotocols=[Subprotocol("echo")],
        compression=compression,
        max_size=LIMIT,
        ping_interval=None,
    )
    with serving:
        threading.Thread(target=serving.serve_forever).start()
        host, port = serving.socket.getsockname()
        say("ready", address=f"{'wss' if secure else 'ws'}://{host}:{port}")
        sys.stdin.read()
        serving.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description="A peer on websockets.")
    parser.add_argument("role", choices=["client", "server"])
    parser.add_argument("--at", default="")
    for name in ("--ca", "--cert", "--key"):
        parser.add_argument(name, default="")
    parser.add_argument("--compress", action="store_true")
    given = parser.parse_args()
    compression = "deflate" if given.compress else None
    if given.role == "client":
        client(given.at, compression, given)
    else:
        server(compression, given)


if __name__ == "__main__":
    main()
