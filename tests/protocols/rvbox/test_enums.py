from enum import IntEnum

import pytest

from fleetgate.protocols.rvbox import enums as w
from fleetgate.schemas.rvbox.v1 import common_pb2


@pytest.mark.parametrize(
    ("ours", "prefix", "theirs"),
    [
        (w.Platform, "PLATFORM_", common_pb2.Platform),
        (w.ShellType, "SHELL_TYPE_", common_pb2.ShellType),
        (w.SignalKind, "SIGNAL_KIND_", common_pb2.SignalKind),
        (w.CommandLifecycle, "COMMAND_LIFECYCLE_", common_pb2.CommandLifecycle),
        (w.OutputStream, "OUTPUT_STREAM_", common_pb2.OutputStream),
        (w.ControlErrorCode, "CONTROL_ERROR_CODE_", common_pb2.ControlErrorCode),
    ],
)
def test_the_numbers_are_those_of_the_schema(
    ours: type[IntEnum], prefix: str, theirs: type
) -> None:
    assert {prefix + each.name: each.value for each in ours} == dict(theirs.items())
