"""Digests in messages that are not decoded."""

from __future__ import annotations

from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import codec_digests as digests
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.testing import make_dispatch


def message_of(payload: w.Payload) -> digests.Any:
    message = digests.envelope()
    message.ParseFromString(codec.encode(w.Envelope("s", 1, payload)))
    return message


def test_a_dispatch_shows_its_digest_and_can_be_given_the_right_one() -> None:
    wrong = message_of(make_dispatch(immutable_request_sha256=bytes(32)))
    assert digests.request_digest(wrong) == (bytes(32), False)
    assert digests.renew(wrong)
    shown, right = digests.request_digest(wrong)
    assert right
    assert shown != bytes(32)


def test_all_else_has_none() -> None:
    ack = message_of(w.EventAck("u", 1))
    assert digests.request_digest(ack) == (b"", False)
    assert not digests.renew(ack)
    assert not digests.replace(ack, {b"a": b"b"})


def test_a_reconciliation_names_others() -> None:
    targets = (w.ReconcileTarget("u", 0, 1, b"a"), w.ReconcileTarget("v", 0, 1, b"c"))
    message = message_of(w.ReconcileRequest(targets))
    assert digests.replace(message, {b"a": b"b"})
    named = [each.immutable_request_sha256 for each in message.reconcile_request.targets]
    assert named == [b"b", b"c"]
