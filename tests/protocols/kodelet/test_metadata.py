"""Each type of a result's metadata (W 11.3): what it may say, and what is refused."""

from typing import Any

import attrs
import pytest

from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import metadata
from fleetgate.protocols.kodelet.structs import names
from fleetgate.protocols.kodelet.wire import Structured

GOOD: dict[str, Any] = {
    "bash": {
        "command": "ls",
        "exitCode": 0,
        "output": "",
        "executionTime": 3,
        "workingDir": "/w",
        "truncation": {"truncated": True, "totalLines": 9, "totalBytes": 9, "maxBytes": 1},
        "fullOutputPath": "/o",
    },
    "file_read": {"filePath": "a", "offset": 1, "lineLimit": 2, "lines": ["x"], "truncated": False},
    "file_write": {"filePath": "a", "content": "c", "size": 1, "language": "go"},
    "file_edit": {
        "filePath": "a",
        "edits": [{"startLine": 1, "endLine": 2, "oldContent": "a", "newContent": "b"}],
        "replaceAll": True,
        "replacedCount": 2,
    },
    "apply_patch": {"changes": [{"path": "a", "operation": "update", "unifiedDiff": "d"}]},
    "grep_tool": {
        "pattern": "p",
        "results": [
            {"filePath": "a", "matches": [{"lineNumber": 1, "content": "c", "matchStart": 0}]}
        ],
        "truncated": True,
        "truncationReason": "file_limit",
    },
    "glob_tool": {"pattern": "*", "files": [{"path": "a", "size": 1, "type": "file"}]},
    "extension_tool": {"extensionId": "e", "toolName": "t", "output": "o", "data": {"any": [1]}},
    "view_image": {"path": "a", "imageSize": {"width": 1, "height": 2}},
    "web_fetch": {"url": "u", "contentType": "c", "size": 1, "processedType": "p", "content": "c"},
    "openai_web_search": {"callId": "c", "status": "s", "action": "a", "queries": ["q"]},
    "read_conversation": {"conversationID": "c", "goal": "g", "content": "c"},
    "get_goal": {"active": True, "createdAt": "x", "updatedAt": 1},
    "update_goal": {"objective": "o", "createdAt": "x", "updatedAt": "y"},
    "skill": {"skillName": "s", "directory": "d"},
    "blocked": {"tool_name": "t", "reason": "r"},
}


@pytest.mark.parametrize("kind", metadata.types())
def test_what_each_may_say(kind: str) -> None:
    known = names(metadata.types()[kind]).values()
    assert set(GOOD[kind]) <= set(known)
    for value in (GOOD[kind], {}, None, {**GOOD[kind], "future": {}}):
        metadata.check(Structured(metadata_type=kind, metadata=value))


@pytest.mark.parametrize("kind", metadata.types())
def test_a_member_of_another_type_is_refused(kind: str) -> None:
    made = metadata.types()[kind]
    free = {"modTime", "data", "queries", "sources", "results", "createdAt", "updatedAt"}
    typed = [name for name in names(made).values() if kind == "grep_tool" or name not in free]
    assert len(typed) >= min(len(attrs.fields(made)), 1)
    for name in typed:
        wrong = Structured(metadata_type=kind, metadata={name: 1.5})
        with pytest.raises(Malformed, match=f"structured.metadata: {name}: expected"):
            metadata.check(wrong)
    with pytest.raises(Malformed, match=r"structured\.metadata: expected an object"):
        metadata.check(Structured(metadata_type=kind, metadata=[]))


@pytest.mark.parametrize("kind", ["", "future"])
def test_metadata_of_another_type_or_of_none_is_not_looked_at(kind: str) -> None:
    metadata.check(Structured(metadata_type=kind, metadata=[1]))


def test_a_time_is_checked_whatever_the_type() -> None:
    with pytest.raises(Malformed, match=r"structured\.timestamp"):
        metadata.check(Structured(timestamp=""))
