"""Forms: values and messages of the same members, and what is said where they differ."""

from enum import Enum

import attrs
import pytest

from fleetgate.core.commands import RunSpec
from fleetgate.core.events import GapFound, MessageEnded, RunState, StateChanged
from fleetgate.core.journal.forms import Form, Forms, descriptor_of, json_text
from fleetgate.core.json import NOTHING
from fleetgate.schemas.journal.v1 import event_pb2, run_pb2


def test_members_become_fields_and_back() -> None:
    form = Form(GapFound, descriptor_of(event_pb2.GapFound), Forms())
    fields = form.fields(GapFound(1, 2, "x"))
    assert fields == {"from_seq": 1, "to_seq": 2, "reason": "x"}
    assert form.value(event_pb2.GapFound(**fields)) == GapFound(1, 2, "x")


def test_a_member_without_a_field_is_an_error_that_names_it() -> None:
    @attrs.frozen
    class TextProduced:
        text: str
        tone: str

    with pytest.raises(TypeError, match=r"TextProduced and its record .* differ in: tone"):
        Form(TextProduced, descriptor_of(event_pb2.TextProduced), Forms())


def test_a_field_without_a_member_is_an_error_that_names_it() -> None:
    with pytest.raises(TypeError, match=r"MessageEnded and its record .* differ in: text"):
        Form(MessageEnded, descriptor_of(event_pb2.TextProduced), Forms())


def test_a_member_that_is_kept_apart_comes_from_there() -> None:
    @attrs.frozen
    class Line:
        text: str
        number: int

    form = Form(Line, descriptor_of(event_pb2.TextProduced), Forms(), frozenset({"number"}))
    assert form.fields(Line("x", 7)) == {"text": "x"}
    assert form.value(event_pb2.TextProduced(text="x"), number=7) == Line("x", 7)


def test_a_union_needs_a_class_for_each_of_its_records() -> None:
    with pytest.raises(TypeError, match="no value class stands for the record Prompt"):
        Form(RunSpec, descriptor_of(run_pb2.RunSpec), Forms())


def test_an_enum_needs_a_number_for_each_of_its_members() -> None:
    class RunState(Enum):
        QUEUED = "queued"
        ASLEEP = "asleep"

    with pytest.raises(TypeError, match="RunState lacks ASLEEP"):
        Form(StateChanged, descriptor_of(event_pb2.StateChanged), Forms(RunState))


def test_an_enum_is_found_by_its_name() -> None:
    form = Form(StateChanged, descriptor_of(event_pb2.StateChanged), Forms(RunState))
    changed = StateChanged(RunState.WAITING, "x")
    assert form.value(event_pb2.StateChanged(**form.fields(changed))) == changed


def test_json_takes_any_mapping_and_any_list() -> None:
    assert json_text(NOTHING) == b"{}"
    assert json_text({"a": (1, 2.0, NOTHING)}) == b'{"a":[1,2.0,{}]}'


def test_json_refuses_what_it_cannot_say() -> None:
    with pytest.raises(ValueError, match="it holds a object"):
        json_text({"a": object()})  # type: ignore[dict-item]
