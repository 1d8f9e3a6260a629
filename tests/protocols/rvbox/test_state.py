from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.state import TABLE, OutOfPlace, Peer, Phase, after

KINDS = get_args(w.Payload)

FIRST = [
    (Peer.CLIENT, w.ClientHello, Phase.WELCOME),
    (Peer.SERVER, w.ServerWelcome, Phase.REQUEST),
    (Peer.SERVER, w.ReconcileRequest, Phase.SNAPSHOT),
    (Peer.CLIENT, w.ReconcileSnapshot, Phase.RESULT),
    (Peer.SERVER, w.ReconcileResult, Phase.OPEN),
]
AGAIN = [
    (Peer.SERVER, w.ReconcileRequest, Phase.SNAPSHOT_AGAIN),
    (Peer.CLIENT, w.ReconcileSnapshot, Phase.RESULT_AGAIN),
    (Peer.SERVER, w.ReconcileResult, Phase.OPEN),
]


def test_a_session_opens_in_the_stated_order_and_reconciles_again() -> None:
    phase = Phase.HELLO
    for peer, kind, following in FIRST + AGAIN + AGAIN:
        phase = after(phase, peer, kind)
        assert phase is following


@pytest.mark.parametrize("phase", Phase)
def test_only_the_two_peers_own_messages_are_theirs(phase: Phase) -> None:
    both = set(TABLE[Peer.CLIENT][phase]) & set(TABLE[Peer.SERVER][phase])
    assert both == set()


@pytest.mark.parametrize("phase", [p for p in Phase if p is not Phase.OPEN])
def test_work_is_given_out_only_in_an_open_session(phase: Phase) -> None:
    with pytest.raises(OutOfPlace, match="may not send CommandDispatch"):
        after(phase, Peer.SERVER, w.CommandDispatch)


@pytest.mark.parametrize("phase", [Phase.RESULT, Phase.RESULT_AGAIN])
@pytest.mark.parametrize("kind", [k for k in KINDS if k is not w.AgentError])
def test_a_client_says_nothing_between_snapshot_and_result(phase: Phase, kind: type) -> None:
    with pytest.raises(OutOfPlace):
        after(phase, Peer.CLIENT, kind)


@pytest.mark.parametrize("phase", [p for p in Phase if p is not Phase.HELLO])
def test_there_is_one_hello(phase: Phase) -> None:
    with pytest.raises(OutOfPlace, match="hello once; to begin a new session, open a new link"):
        after(phase, Peer.CLIENT, w.ClientHello)


def test_a_message_out_of_place_is_told_what_the_session_waits_for() -> None:
    with pytest.raises(OutOfPlace, match=r"may not send ReconcileSnapshot while .* waits for work"):
        after(Phase.OPEN, Peer.CLIENT, w.ReconcileSnapshot)


@given(st.sampled_from(Phase), st.sampled_from(Peer), st.sampled_from(KINDS))
def test_the_table_is_total(phase: Phase, peer: Peer, kind: type) -> None:
    always = kind is w.AgentError and (phase, peer) != (Phase.HELLO, Peer.CLIENT)
    named = "hello" if (peer, kind) == (Peer.CLIENT, w.ClientHello) else kind.__name__
    if always or kind in TABLE[peer][phase]:
        assert isinstance(after(phase, peer, kind), Phase)
    else:
        with pytest.raises(OutOfPlace, match=named):
            after(phase, peer, kind)
