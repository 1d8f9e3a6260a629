"""The symmetric peer: calls, pools, cancellation, sizes, the end (cases 7 to 23)."""

import json
from typing import Any

import pytest

from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.kodelet import errors
from fleetgate.protocols.kodelet.errors import RpcError
from fleetgate.protocols.kodelet.peer import (
    Answered,
    Broken,
    Called,
    Canceled,
    Oversize,
    Peer,
    Told,
)
from fleetgate.protocols.kodelet.settings import PeerSettings
from fleetgate.protocols.kodelet.testing import ask, frame, no, said, tell, yes
from fleetgate.protocols.kodelet.wire import MAX_MESSAGE


def came(peer: Peer, *frames: bytes) -> list[Any]:
    for each in frames:
        peer.receive(each)
    found = []
    while (one := peer.take()) is not None:
        found.append(one)
    return found


def tool(id: str) -> bytes:
    return ask(id, "tool.execute", {})


def test_requests_and_notifications_come_in_order() -> None:
    peer = Peer("server", PeerSettings())
    found = came(peer, ask("a", "x", 1), tell("y", 2), ask("b", "z"))
    assert found == [Called("a", "x", 1), Told("y", 2), Called("b", "z", None)]


def test_ids_count_up_under_the_prefix_and_both_directions_are_apart() -> None:
    peer = Peer("server", PeerSettings())
    assert [peer.call("x", None, n) for n in range(2)] == ["server:1", "server:2"]
    found = came(peer, ask("server:1", "x"), yes("server:1", 5), no("server:2", -1, "m"))
    assert found == [
        Called("server:1", "x", None),
        Answered(0, 5),
        Answered(1, None, RpcError(-1, "m")),
    ]


def test_case_7_unknown_and_late_responses_are_passed_over() -> None:
    peer = Peer("server", PeerSettings())
    id = peer.call("x", None, "t")
    assert came(peer, yes("zzz", 1), yes(id, 1), yes(id, 2), no(id, 1)) == [Answered("t", 1)]


@pytest.mark.limit("protocols/kodelet/wire.MAX_MESSAGE")
def test_case_9_size_boundary() -> None:
    peer = Peer("server", PeerSettings())
    pad = MAX_MESSAGE - len(frame(method="x", params=""))
    assert came(peer, frame(method="x", params="y" * pad)) == [Told("x", "y" * pad)]
    with pytest.raises(RemoteProtocolError, match="4194305 bytes"):
        peer.receive(frame(method="x", params="y" * (pad + 1)))


def test_case_11_requests_queue_and_control_is_not_starved() -> None:
    peer = Peer("runner", PeerSettings())
    busy = came(peer, *(tool(f"s:{n}") for n in range(64)))
    assert len(busy) == 64
    assert came(peer, tool("late"), tool("later")) == []
    (cancel,) = came(peer, ask("c", "run.cancel", {"runId": "r1"}))
    peer.succeed(cancel.id, None)
    assert said(peer.flush()) == [{"id": "c", "result": None}]
    peer.succeed("s:5", 1)
    assert came(peer) == [Called("late", "tool.execute", {})]
    peer.fail("s:6", errors.CANCELED)
    assert came(peer) == [Called("later", "tool.execute", {})]


def test_control_requests_have_a_pool_of_eight() -> None:
    peer = Peer("runner", PeerSettings())
    assert len(came(peer, *(ask(f"c{n}", "run.close", {}) for n in range(9)))) == 8
    peer.succeed("c0", None)
    assert came(peer) == [Called("c8", "run.close", {})]


@pytest.mark.parametrize(
    "limits",
    [PeerSettings(requests=1, waiting_requests=2), PeerSettings(requests=1, waiting_size=90)],
)
def test_i9_the_queue_has_a_bound_of_ours(limits: PeerSettings) -> None:
    peer = Peer("runner", limits)
    came(peer, *(tool(f"s{n}") for n in range(10)))
    refused = [each["error"]["message"] for each in said(peer.flush())]
    assert refused
    assert set(refused) == {"too many runner rpc requests wait"}


def test_w_15_10_fault_21_an_id_in_flight_is_refused_and_the_first_goes_on() -> None:
    peer = Peer("runner", PeerSettings())
    assert len(came(peer, tool("server:9"), tool("server:9"))) == 1
    (refused,) = said(peer.flush())
    assert refused == {
        "id": "server:9",
        "error": {"code": -32600, "message": "duplicate rpc request id"},
    }
    peer.succeed("server:9", 1)
    assert len(came(peer, tool("server:9"))) == 1


def test_a_repeated_id_without_room_for_the_answer_is_fatal() -> None:
    peer = Peer("runner", PeerSettings(control_lane=2))
    came(peer, tool("a"), tool("a"), tool("a"))
    with pytest.raises(RemoteProtocolError, match="is in flight"):
        peer.receive(tool("a"))


@pytest.mark.parametrize("id", ["server:1", "  server:1\n"])
def test_case_13_operation_cancel_bypasses_the_limits(id: str) -> None:
    peer = Peer("runner", PeerSettings())
    came(peer, tool("server:1"), *(tell("x") for _ in range(64)))
    assert came(peer, tell("operation.cancel", {"requestId": id})) == [Canceled("server:1")]
    peer.fail("server:1", errors.CANCELED)
    assert said(peer.flush()) == [
        {"id": "server:1", "error": {"code": -32000, "message": "context canceled"}}
    ]


@pytest.mark.parametrize("params", [{"requestId": "zz"}, {}, None, [], {"requestId": 1}])
def test_a_cancel_of_nothing_is_passed_over(params: Any) -> None:
    peer = Peer("runner", PeerSettings())
    assert len(came(peer, tool("a"), tell("operation.cancel", params))) == 1
    assert came(peer, frame(method="operation.cancel")) == []
    assert peer.flush() == []


def test_a_queued_request_that_is_cancelled_never_runs() -> None:
    peer = Peer("runner", PeerSettings(requests=1))
    came(peer, tool("a"), tool("b"), tell("operation.cancel", {"requestId": "b"}))
    assert said(peer.flush()) == [
        {"id": "b", "error": {"code": -32000, "message": "context canceled"}}
    ]
    peer.succeed("a", 1)
    assert came(peer, tool("b")) == [Called("b", "tool.execute", {})]


def test_case_15_a_caller_that_gives_up_says_so_once() -> None:
    peer = Peer("server", PeerSettings())
    id = peer.call("tool.execute", {}, "t")
    peer.flush()
    peer.abandon(id)
    peer.abandon(id)
    assert said(peer.flush()) == [{"method": "operation.cancel", "params": {"requestId": id}}]
    assert came(peer, yes(id, 1)) == []


def test_case_17_notification_overload_is_fatal() -> None:
    peer = Peer("server", PeerSettings())
    came(peer, *(tell("x") for _ in range(64)))
    with pytest.raises(RemoteProtocolError, match="concurrency limit exceeded"):
        peer.receive(tell("x"))


def test_a_notification_that_is_dealt_with_frees_its_slot() -> None:
    peer = Peer("server", PeerSettings())
    for _ in range(200):
        came(peer, tell("unknown"))
        peer.finished()


def test_case_19_updates_drop_the_oldest_and_yield_to_all_else() -> None:
    peer = Peer("runner", PeerSettings(update_lane=3))
    for n in range(4):
        assert peer.update(tell("tool.update", {"n": n}))
    peer.notify("first", None)
    sent = said(peer.flush())
    assert sent[0]["method"] == "first"
    assert [each["params"]["n"] for each in sent[1:]] == [1, 2, 3]


def test_case_21_pending_calls_fail_with_the_link_and_not_with_an_rpc_error() -> None:
    peer = Peer("server", PeerSettings())
    peer.call("a", None, "one")
    peer.call("b", None, "two")
    assert peer.end("gone") == [Broken("one", "gone"), Broken("two", "gone")]
    assert peer.end("gone") == []


def test_case_23_a_result_without_a_form_is_an_internal_error() -> None:
    peer = Peer("runner", PeerSettings())
    came(peer, tool("a"))
    peer.succeed("a", float("nan"))
    (answer,) = said(peer.flush())
    assert answer["error"]["code"] == -32603


def test_oversize_results_and_errors_are_replaced() -> None:
    peer = Peer("runner", PeerSettings(message_limit=400))
    came(peer, tool("a"), tool("b"))
    peer.succeed("a", "x" * 400)
    peer.fail("b", RpcError(1, "x" * 400))
    big, error = (each["error"] for each in said(peer.flush()))
    assert (big["code"], big["data"]) == (-32000, {"reason": "result_too_large"})
    assert error == {
        "code": -32000,
        "message": "runner rpc error exceeds the connection message-size limit",
    }


def test_oversize_requests_and_notifications_are_refused_here_and_use_no_number() -> None:
    peer = Peer("server", PeerSettings(message_limit=100))
    for send in (
        lambda: peer.call("x", "y" * 100, None),
        lambda: peer.notify("x", "y" * 100),
    ):
        with pytest.raises(Oversize, match="exceeding the 100-byte outbound limit"):
            send()
    assert not peer.update(tell("tool.update", "y" * 100))
    assert peer.flush() == []
    assert peer.call("x", None, None) == "server:1"


def test_an_answer_to_nothing_is_passed_over() -> None:
    peer = Peer("server", PeerSettings())
    peer.succeed("nobody", 1)
    assert peer.flush() == []


def test_what_is_sent_is_compact_json() -> None:
    peer = Peer("server", PeerSettings())
    peer.notify("x", {"a": 1})
    (step,) = peer.flush()
    assert json.loads(step.frame)["params"] == {"a": 1}
    assert b" " not in step.frame
