"""A peer on grpcio, which is gRPC's C core: any call of iop as a client, or NodeLink as a server.

    python grpcio_peer.py STUBS client --at HOST:PORT
    python grpcio_peer.py STUBS server --at HOST:PORT

STUBS is a folder with what protoc made of iop's files. It imports nothing of ours. A JSON object
a line, operations in and events out, the same that the peer in Go has. Messages are the JSON form
of protobuf under their own field names.
"""

from __future__ import annotations

import argparse
import json
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import json_format

sys.path.insert(0, sys.argv[1])
from iop import link_pb2, link_pb2_grpc, runtime_pb2

_speaking = threading.Lock()

REQUESTS = {
    "Run": runtime_pb2.RunRequest,
    "Attach": link_pb2.AttachRequest,
    "WatchNodes": link_pb2.WatchNodesRequest,
    "Cancel": runtime_pb2.CancelRequest,
    "Command": runtime_pb2.NodeCommandRequest,
}


def say(kind: str, **members: Any) -> None:
    with _speaking:
        sys.stdout.write(json.dumps({"event": kind, **members}) + "\n")
        sys.stdout.flush()


def say_message(call: str, message: Any) -> None:
    text = json_format.MessageToDict(message, preserving_proto_field_name=True)
    say("message", call=call, message=text)


def name_of(code: grpc.StatusCode) -> str:
    """As Go spells it: DeadlineExceeded."""
    return (
        "OK"
        if code is grpc.StatusCode.OK
        else code.name.title().replace("_", "").replace("Cancelled", "Canceled")
    )


def each_line(do: Callable[[dict[str, Any]], None]) -> None:
    for line in sys.stdin:
        try:
            do(json.loads(line))
        except (ValueError, KeyError, json_format.ParseError) as error:
            say("bad", why=f"{type(error).__name__}: {error}")


def in_thread(work: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=work, args=arguments, daemon=True).start()


# --- client


class Call:
    """One that was begun."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.orders: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.read = threading.Event()
        self.made: Any = None

    def requests(self) -> Iterator[Any]:
        """What is sent: the library asks for the next one when it has taken the last."""
        while (order := self.orders.get()) is not None:
            message = json_format.ParseDict(order["message"], link_pb2.NodeMessage())
            for _ in range(max(1, order.get("repeat", 0))):
                yield message
            say("sent", call=self.name)

    def tell(self) -> None:
        self.read.wait()
        try:
            for message in self.made:
                say_message(self.name, message)
        except grpc.RpcError as error:
            say("end", call=self.name, code=name_of(error.code()), text=error.details())
        else:
            code, text = self.made.code(), self.made.details()
            say("end", call=self.name, code=name_of(code), text=text)

    def ask(self, method: Any, request: Any, **how: Any) -> None:
        try:
            say_message(self.name, method(request, **how))
        except grpc.RpcError as error:
            say("end", call=self.name, code=name_of(error.code()), text=error.details())
        else:
            say("end", call=self.name, code="OK", text="")


class Client:
    def __init__(self, channel: grpc.Channel) -> None:
        self._nodes = link_pb2_grpc.NodeLinkStub(channel)
        self._control = link_pb2_grpc.EdgeControlStub(channel)
        self._calls: dict[str, Call] = {}

    def do(self, order: dict[str, Any]) -> None:
        if order["op"] == "call":
            self._begin(order)
            return
        call = self._calls[order["call"]]
        if order["op"] == "send":
            call.orders.put(order)
        elif order["op"] == "end":
            call.orders.put(None)
        elif order["op"] == "cancel":
            call.made.cancel()
        elif order["op"] == "read":
            call.read.set()
        else:
            raise ValueError(f"no operation {order['op']}")

    def _begin(self, order: dict[str, Any]) -> None:
        call = self._calls[order["call"]] = Call(order["call"])
        seconds = order["timeout_ms"] / 1000 if order.get("timeout_ms") else None
        how = {"timeout": seconds, "metadata": tuple(order.get("metadata", {}).items())}
        method = order["method"]
        if not order.get("hold"):
            call.read.set()
        if method == "Connect":
            call.made = self._nodes.Connect(call.requests(), **how)
            in_thread(call.tell)
            return
        request = json_format.ParseDict(order.get("message", {}), REQUESTS[method]())
        if method in ("Cancel", "Command"):
            in_thread(lambda: call.ask(getattr(self._control, method), request, **how))
        else:
            call.made = getattr(self._control, method)(request, **how)
            in_thread(call.tell)


def run_client(given: argparse.Namespace) -> None:
    options = [("grpc.max_receive_message_length", given.limit)]
    if given.ping_every:
        every = int(given.ping_every * 1000)
        options += [("grpc.keepalive_time_ms", every), ("grpc.http2.max_pings_without_data", 0)]
    if given.ca:
        credentials = grpc.ssl_channel_credentials(
            read(given.ca), read(given.key), read(given.cert)
        )
        channel = grpc.secure_channel(given.at, credentials, options)
    else:
        channel = grpc.insecure_channel(given.at, options)
    with channel:
        say("ready")
        each_line(Client(channel).do)


# --- server


class Served:
    def __init__(self) -> None:
        self.orders: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.read = threading.Event()


class Server(link_pb2_grpc.NodeLinkServicer):
    def __init__(self) -> None:
        self._calls: dict[str, Served] = {}
        self._hold = False

    def do(self, order: dict[str, Any], server: grpc.Server) -> None:
        if order["op"] == "stop":
            server.stop(600)
        elif order["op"] == "hold":
            self._hold = True
        elif order["op"] == "read":
            self._calls[order["call"]].read.set()
        else:
            self._calls[order["call"]].orders.put(order)

    def Connect(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        name = f"s{len(self._calls) + 1}"
        call = self._calls[name] = Served()
        if not self._hold:
            call.read.set()
        metadata: dict[str, list[str]] = {}
        for key, value in context.invocation_metadata():
            metadata.setdefault(key, []).append(value)
        context.add_callback(lambda: call.orders.put(None))
        say("call", call=name, method="Connect", metadata=metadata)
        in_thread(self._tell, name, call, requests)
        return self._play(name, call, context)

    def _tell(self, name: str, call: Served, requests: Iterator[Any]) -> None:
        call.read.wait()
        try:
            for message in requests:
                say_message(name, message)
        except Exception:
            # grpcio's own has no status at a server, and no public type.
            say("broken", call=name)
        else:
            say("half_close", call=name)

    def _play(self, name: str, call: Served, context: grpc.ServicerContext) -> Iterator[Any]:
        while (order := call.orders.get()) is not None:
            if order["op"] == "finish":
                if order["code"] != "OK":
                    codes = {name_of(code): code for code in grpc.StatusCode}
                    context.abort(codes[order["code"]], order.get("text", ""))
                return
            message = json_format.ParseDict(order["message"], link_pb2.EdgeMessage())
            for _ in range(max(1, order.get("repeat", 0))):
                yield message
            say("sent", call=name)
        say("end", call=name, code="Canceled", text="")


def run_server(given: argparse.Namespace) -> None:
    options = [("grpc.max_receive_message_length", given.limit)]
    if given.ping_every:
        every, timeout = int(given.ping_every * 1000), int(given.ping_timeout * 1000)
        options += [("grpc.keepalive_time_ms", every), ("grpc.keepalive_timeout_ms", timeout)]
        options.append(("grpc.http2.max_pings_without_data", 0))
    if given.pings_allowed_every:
        every = int(given.pings_allowed_every * 1000)
        options.append(("grpc.http2.min_ping_interval_without_data_ms", every))
    servicer = Server()
    with ThreadPoolExecutor(32) as threads:
        server = grpc.server(threads, options=options)
        link_pb2_grpc.add_NodeLinkServicer_to_server(servicer, server)
        if given.cert:
            pair = (read(given.key), read(given.cert))
            credentials = grpc.ssl_server_credentials(
                [pair], read(given.ca), require_client_auth=bool(given.ca)
            )
            port = server.add_secure_port(given.at, credentials)
        else:
            port = server.add_insecure_port(given.at)
        server.start()
        say("ready", address=f"{given.at.rpartition(':')[0]}:{port}")
        each_line(lambda order: servicer.do(order, server))
        server.stop(None).wait()


def read(path: str) -> bytes | None:
    return Path(path).read_bytes() if path else None


def main() -> None:
    parser = argparse.ArgumentParser(description="A peer on grpcio.")
    parser.add_argument("stubs")
    parser.add_argument("role", choices=["client", "server"])
    parser.add_argument("--at", default="127.0.0.1:0")
    parser.add_argument("--ca", default="")
    parser.add_argument("--cert", default="")
    parser.add_argument("--key", default="")
    parser.add_argument("--ping-every", type=float, default=0)
    parser.add_argument("--ping-timeout", type=float, default=20)
    parser.add_argument("--pings-allowed-every", type=float, default=0)
    parser.add_argument("--limit", type=int, default=4 << 20)
    given = parser.parse_args()
    (run_client if given.role == "client" else run_server)(given)


if __name__ == "__main__":
    main()
