"""Loading a file's descriptor into a pool."""

import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool

from fleetgate.schemas.loading import load


def file(field: str = "text") -> bytes:
    made = descriptor_pb2.FileDescriptorProto(name="a/b.proto", package="a", syntax="proto3")
    message = made.message_type.add(name="Said")
    message.field.add(
        name=field,
        number=1,
        type=descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
        label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL,
    )
    colour = made.enum_type.add(name="Colour")
    colour.value.add(name="COLOUR_UNSPECIFIED", number=0)
    colour.value.add(name="COLOUR_RED", number=3)
    return made.SerializeToString()


def test_messages_enums_and_their_values_get_names() -> None:
    names: dict[str, object] = {}
    loaded = load(DescriptorPool(), names, file())
    assert loaded.name == "a/b.proto"
    assert names.keys() == {"Said", "Colour", "COLOUR_UNSPECIFIED", "COLOUR_RED"}
    assert names["COLOUR_RED"] == 3
    assert names["Colour"].Value("COLOUR_RED") == 3  # type: ignore[attr-defined]
    said = names["Said"](text="hello")  # type: ignore[operator]
    assert names["Said"].FromString(said.SerializeToString()) == said  # type: ignore[attr-defined]


def test_an_equal_file_may_come_again() -> None:
    pool, one, two = DescriptorPool(), dict[str, object](), dict[str, object]()
    load(pool, one, file())
    load(pool, two, file())
    assert one["Said"] is two["Said"]


def test_a_different_file_of_the_same_path_may_not() -> None:
    pool = DescriptorPool()
    load(pool, {}, file())
    with pytest.raises(TypeError, match=r"b\.proto"):
        load(pool, {}, file("words"))
