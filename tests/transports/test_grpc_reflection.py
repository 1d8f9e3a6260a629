"""Answers are read by grpclib's generated code, and asked of files that protobuf wrote."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError
from grpclib.reflection.v1.reflection_pb2 import (
    ExtensionRequest,
    ServerReflectionRequest,
    ServerReflectionResponse,
)
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.transports.grpc_reflection import Reflection


def files() -> tuple[bytes, ...]:
    base = FileDescriptorProto(name="a/base.proto", package="a.b")
    outer = base.message_type.add(name="Outer")
    outer.field.add(name="text", number=1)
    outer.oneof_decl.add(name="either")
    outer.nested_type.add(name="Inner").field.add(name="deep", number=1)
    outer.enum_type.add(name="Kind").value.add(name="KIND_NONE", number=0)
    outer.extension.add(name="inside", number=101, extendee=".a.b.Outer")
    base.enum_type.add(name="Colour").value.add(name="RED", number=0)
    base.extension.add(name="extra", number=100, extendee=".a.b.Outer")
    talk = FileDescriptorProto(name="a/talk.proto", package="a.b", dependency=["a/base.proto"])
    talk.dependency.append("google/protobuf/elsewhere.proto")
    talk.service.add(name="Talk").method.add(name="Say")
    bare = FileDescriptorProto(name="bare.proto")
    bare.message_type.add(name="Bare")
    return tuple(file.SerializeToString() for file in (base, talk, bare))


FILES = files()
REFLECTION = Reflection(FILES, ["a.b.Talk", "a.b.Absent"])


def ask(question: ServerReflectionRequest) -> ServerReflectionResponse:
    answer = ServerReflectionResponse.FromString(REFLECTION.answer(question.SerializeToString()))
    assert answer.original_request == question
    assert answer.valid_host == question.host
    return answer


def names(answer: ServerReflectionResponse) -> list[str]:
    found = answer.file_descriptor_response.file_descriptor_proto
    return [FileDescriptorProto.FromString(data).name for data in found]


def test_the_services_are_listed() -> None:
    answer = ask(ServerReflectionRequest(host="gw", list_services=""))
    listed = [service.name for service in answer.list_services_response.service]
    assert listed == ["a.b.Absent", "a.b.Talk"]


def test_a_file_comes_as_it_is_with_what_it_imports() -> None:
    answer = ask(ServerReflectionRequest(file_by_filename="a/talk.proto"))
    assert list(answer.file_descriptor_response.file_descriptor_proto) == [FILES[1], FILES[0]]


@pytest.mark.parametrize(
    ("symbol", "file"),
    [
        ("a.b.Outer", "a/base.proto"),
        ("a.b.Outer.text", "a/base.proto"),
        ("a.b.Outer.either", "a/base.proto"),
        ("a.b.Outer.Inner", "a/base.proto"),
        ("a.b.Outer.Inner.deep", "a/base.proto"),
        ("a.b.Outer.Kind", "a/base.proto"),
        ("a.b.Outer.inside", "a/base.proto"),
        (".a.b.Colour", "a/base.proto"),
        ("a.b.extra", "a/base.proto"),
        ("a.b.Talk", "a/talk.proto"),
        ("a.b.Talk.Say", "a/talk.proto"),
        ("Bare", "bare.proto"),
    ],
)
def test_a_symbol_leads_to_its_file(symbol: str, file: str) -> None:
    assert names(ask(ServerReflectionRequest(file_containing_symbol=symbol)))[0] == file


def test_extensions() -> None:
    found = ask(ServerReflectionRequest(all_extension_numbers_of_type="a.b.Outer"))
    numbers = found.all_extension_numbers_response
    assert (numbers.base_type_name, list(numbers.extension_number)) == ("a.b.Outer", [100, 101])
    none = ask(ServerReflectionRequest(all_extension_numbers_of_type="Bare"))
    assert list(none.all_extension_numbers_response.extension_number) == []
    extension = ExtensionRequest(containing_type="a.b.Outer", extension_number=101)
    assert names(ask(ServerReflectionRequest(file_containing_extension=extension))) == [
        "a/base.proto"
    ]


@pytest.mark.parametrize(
    "question",
    [
        ServerReflectionRequest(file_by_filename="none.proto"),
        ServerReflectionRequest(file_containing_symbol="a.b"),
        ServerReflectionRequest(all_extension_numbers_of_type="a.b.None"),
        ServerReflectionRequest(
            file_containing_extension=ExtensionRequest(containing_type="a.b.Outer")
        ),
    ],
)
def test_what_is_not_there(question: ServerReflectionRequest) -> None:
    assert ask(question).error_response.error_code == 5


def test_a_question_for_nothing() -> None:
    assert ask(ServerReflectionRequest(host="gw")).error_response.error_code == 3


@given(st.binary(max_size=40))
def test_any_bytes_are_answered_or_refused(data: bytes) -> None:
    try:
        question = ServerReflectionRequest.FromString(data)
        answer = REFLECTION.answer(data)
    except (ValueError, DecodeError):
        return
    assert ServerReflectionResponse.FromString(answer).original_request == question


def test_a_descriptor_that_is_none() -> None:
    with pytest.raises(ValueError, match=r".+"):
        Reflection([b"\xff"], [])
    with pytest.raises(DecodeError):
        FileDescriptorProto.FromString(b"\xff")
