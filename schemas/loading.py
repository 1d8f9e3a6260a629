"""Load a serialized file descriptor into a pool and give a module its names.

Modules made by `tools/proto.py` call this instead of what protoc writes for itself: it
takes a pool of our own as well as the default one, and it works with every protobuf
runtime that `pyproject.toml` admits.
"""

from google.protobuf import message_factory
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper


def load(pool: DescriptorPool, names: dict[str, object], serialized: bytes) -> FileDescriptor:
    """Add the file to `pool`, and its top-level messages and enums to `names`.

    Equal files may meet in a pool any number of times.
    Raises: `TypeError` where the pool holds a different file under the same path.
    """
    file = pool.AddSerializedFile(serialized)
    for name, message in file.message_types_by_name.items():
        names[name] = message_factory.GetMessageClass(message)
    for name, enum in file.enum_types_by_name.items():
        names[name] = EnumTypeWrapper(enum)
        names.update({value.name: value.number for value in enum.values})
    return file
