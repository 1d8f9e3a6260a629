"""The descriptor pool of rvbox, apart from the process's default one.

protobuf keys a pool by file path and by symbol. `rvbox/v1/common.proto` is a
reconstruction, so whoever embeds us may have loaded another file of that path; in a
pool of our own the two never meet. The well-known types are in this pool once more:
a `Timestamp` of an rvbox message is the class below, and only that one can be copied
into it. Setting members (`sent_at.seconds = …`, `sent_at.FromNanoseconds(…)`) needs
neither.
"""

from typing import Final, cast

from google.protobuf import duration_pb2, message_factory, timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool

POOL: Final = DescriptorPool()
POOL.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
POOL.AddSerializedFile(duration_pb2.DESCRIPTOR.serialized_pb)

Timestamp: Final = cast(
    "type[timestamp_pb2.Timestamp]",
    message_factory.GetMessageClass(POOL.FindMessageTypeByName("google.protobuf.Timestamp")),
)
Duration: Final = cast(
    "type[duration_pb2.Duration]",
    message_factory.GetMessageClass(POOL.FindMessageTypeByName("google.protobuf.Duration")),
)
