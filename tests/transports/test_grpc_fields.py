"""Against protobuf itself."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, UninterpretedOption
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.transports.grpc_fields import (
    bytes_field,
    fields,
    message,
    number_field,
    text,
)


@given(st.text(), st.integers(0, 2**31 - 1))
def test_protobuf_reads_what_is_written(name: str, number: int) -> None:
    written = bytes_field(1, name.encode("utf-8", "replace")) + number_field(3, number)
    read = FieldDescriptorProto.FromString(written)
    assert read.name.encode() == name.encode("utf-8", "replace")
    assert read.number == number
    assert read.SerializeToString() == written


@given(st.text(), st.integers(-(2**31), 2**31 - 1), st.floats(allow_nan=False))
def test_what_protobuf_writes_is_read(name: str, number: int, value: float) -> None:
    name = name.encode("utf-8", "replace").decode()
    written = FieldDescriptorProto(name=name, number=number).SerializeToString()
    assert dict(fields(written)) == {1: name.encode(), 3: number % 2**64}
    fixed = UninterpretedOption(double_value=value, string_value=b"behind").SerializeToString()
    assert [number for number, _ in fields(fixed)] == [6, 7]


@pytest.mark.limit("transports/grpc_fields._LONGEST")
@pytest.mark.parametrize(
    "data",
    [b"\x80", b"\x0a", b"\x0a\x05four", b"\x0b", b"\x0f\x00", b"\x09four", b"\xff" * 11],
)
def test_what_is_no_message(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        list(fields(data))


@given(st.binary(max_size=64))
def test_whatever_comes_it_is_read_or_refused(data: bytes) -> None:
    try:
        list(fields(data))
    except ValueError:
        return


def test_a_field_of_the_wrong_kind() -> None:
    assert text(b"a") == "a"
    assert message(b"a") == b"a"
    for read in (text, message):
        with pytest.raises(ValueError, match="a number stands"):
            read(7)
    with pytest.raises(ValueError, match="utf-8"):
        text(b"\xff")
