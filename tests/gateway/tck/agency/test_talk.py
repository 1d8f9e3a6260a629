"""The words of agency's requirements."""

from __future__ import annotations

import pytest

from fleetgate.gateway.tck.agency.talk import (
    expect_keys,
    expect_members,
    expect_order,
    framed,
    read,
    shower,
)
from fleetgate.gateway.tck.peer import Unmet


def test_a_frame_is_as_case_a1_has_it() -> None:
    text = '{"requestId":2,"type":"list_runs"}'
    assert framed(text) == bytes.fromhex("0000002300") + text.encode()


@pytest.mark.parametrize("frame", [b"", b"\1{}", b"\0\xff", b"\0nope", b"\0[]"])
def test_what_is_no_json_object_is_unmet(frame: bytes) -> None:
    with pytest.raises(Unmet):
        read(frame)


def test_a_member_has_a_type_too() -> None:
    expect_members({"a": 1}, "it", a=1)
    for other in (True, 1.0, "1", 2):
        with pytest.raises(Unmet):
            expect_members({"a": other}, "it", a=1)
    with pytest.raises(Unmet, match="missing"):
        expect_members({}, "it", a=1)


def test_keys_have_an_order() -> None:
    expect_keys({"a": 1, "b": 2}, ("a", "b"), "it")
    for other in ({"b": 2, "a": 1}, {"a": 1}, {"a": 1, "b": 2, "c": 3}, None):
        with pytest.raises(Unmet):
            expect_keys(other, ("a", "b"), "it")


def test_json_has_no_spaces_and_no_needless_escapes() -> None:
    expect_order('{"a":"\u00e4","b":"\\n"}', "it")
    for other in ('{"a": 1}', '{"a":"\\u00e4"}', '{"a":"\\/"}'):
        with pytest.raises(Unmet):
            expect_order(other, "it")


def test_frames_are_shown_as_they_stand_on_the_wire_without_secrets() -> None:
    show = shower()
    assert show(b'\0{"b":1,"a":2}', False) == '{"b":1,"a":2}'
    assert show(b"\2", True).startswith("ping")
    assert "\\xff" in show(b"\0\xff", True)
    assert "hunter2" not in show(b'\0{"environment":{"API_TOKEN":"hunter2"}}', True)
