"""What a protocol asks of its carriage: values, in builtins."""

import attrs
import pytest

from fleetgate.protocols import carriage


@pytest.mark.parametrize(
    "kind",
    [
        carriage.Denial,
        carriage.WebSocketUse,
        carriage.GrpcCall,
        carriage.GrpcUse,
        carriage.Carriage,
    ],
    ids=lambda kind: kind.__name__,
)
def test_it_is_a_value(kind: type) -> None:
    assert attrs.has(kind)
    assert kind.__doc__
    assert "__slots__" in vars(kind)
    assert kind.__setattr__ is not object.__setattr__, "it can be written to"


def test_a_carriage_binds_its_peer_unless_it_says_otherwise() -> None:
    plain = carriage.Carriage("varint", 100)
    assert not plain.in_band
    assert plain.websocket is None
    assert plain.grpc is None
