"""What a tool's result says beside its text, by its `metadataType` (W 11.3).

Members whose form the protocol's page leaves open are JSON of any form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from fleetgate.core.json import Json
from fleetgate.protocols.kodelet.structs import field


@attrs.frozen(slots=True)
class _Truncation:
    truncated: bool = False
    total_lines: int = 0
    total_bytes: int = 0
    max_bytes: int = 0


@attrs.frozen(slots=True)
class _Bash:
    command: str = ""
    exit_code: int = 0
    output: str = ""
    execution_time: int = 0
    working_dir: str = ""
    truncation: _Truncation = _Truncation()
    full_output_path: str = ""


@attrs.frozen(slots=True)
class _FileRead:
    file_path: str = ""
    offset: int = 0
    line_limit: int = 0
    lines: tuple[str, ...] | None = None
    language: str = ""
    truncated: bool = False
    remaining_lines: int = 0


@attrs.frozen(slots=True)
class _FileWrite:
    file_path: str = ""
    content: str = ""
    size: int = 0
    language: str = ""


@attrs.frozen(slots=True)
class _Edit:
    start_line: int = 0
    end_line: int = 0
    old_content: str = ""
    new_content: str = ""


@attrs.frozen(slots=True)
class _FileEdit:
    file_path: str = ""
    edits: tuple[_Edit, ...] | None = None
    language: str = ""
    replace_all: bool = False
    replaced_count: int = 0
    unified_diff: str = ""


@attrs.frozen(slots=True)
class _Change:
    path: str = ""
    operation: str = ""
    old_content: str = ""
    new_content: str = ""
    unified_diff: str = ""
    move_path: str = ""


@attrs.frozen(slots=True)
class _ApplyPatch:
    changes: tuple[_Change, ...] | None = None


@attrs.frozen(slots=True)
class _Match:
    line_number: int = 0
    content: str = ""
    match_start: int = 0
    match_end: int = 0
    is_context: bool = False


@attrs.frozen(slots=True)
class _Matched:
    file_path: str = ""
    language: str = ""
    matches: tuple[_Match, ...] | None = None


@attrs.frozen(slots=True)
class _Grep:
    pattern: str = ""
    path: str = ""
    include: str = ""
    results: tuple[_Matched, ...] | None = None
    truncated: bool = False
    truncation_reason: str = ""
    max_results: int = 0


@attrs.frozen(slots=True)
class _File:
    path: str = ""
    size: int = 0
    mod_time: Json = None
    type: str = ""
    language: str = ""


@attrs.frozen(slots=True)
class _Glob:
    pattern: str = ""
    path: str = ""
    files: tuple[_File, ...] | None = None
    truncated: bool = False


@attrs.frozen(slots=True)
class _Extension:
    extension_id: str = ""
    tool_name: str = ""
    output: str = ""
    data: Json = None
    execution_time: int = 0


@attrs.frozen(slots=True)
class _Size:
    width: int = 0
    height: int = 0


@attrs.frozen(slots=True)
class _ViewImage:
    path: str = ""
    mime_type: str = ""
    detail: str = ""
    image_size: _Size = _Size()


@attrs.frozen(slots=True)
class _WebFetch:
    url: str = ""
    content_type: str = ""
    size: int = 0
    saved_path: str = ""
    prompt: str = ""
    processed_type: str = ""
    content: str = ""


@attrs.frozen(slots=True)
class _WebSearch:
    call_id: str = ""
    status: str = ""
    action: str = ""
    queries: Json = None
    sources: Json = None
    results: Json = None
    url: str = ""
    pattern: str = ""


@attrs.frozen(slots=True)
class _Conversation:
    conversation_id: str = field("", name="conversationID")
    goal: str = ""
    content: str = ""


@attrs.frozen(slots=True)
class _Goal:
    objective: str = ""
    status: str = ""
    reason: str = ""
    active: bool = False
    created_at: Json = None
    updated_at: Json = None


@attrs.frozen(slots=True)
class _Skill:
    skill_name: str = ""
    directory: str = ""


@attrs.frozen(slots=True)
class _Blocked:
    tool_name: str = field("", name="tool_name")
    reason: str = ""


TYPES: Final[Mapping[str, type[Any]]] = {
    "bash": _Bash,
    "file_read": _FileRead,
    "file_write": _FileWrite,
    "file_edit": _FileEdit,
    "apply_patch": _ApplyPatch,
    "grep_tool": _Grep,
    "glob_tool": _Glob,
    "extension_tool": _Extension,
    "view_image": _ViewImage,
    "web_fetch": _WebFetch,
    "openai_web_search": _WebSearch,
    "read_conversation": _Conversation,
    "get_goal": _Goal,
    "update_goal": _Goal,
    "skill": _Skill,
    "blocked": _Blocked,
}
"""The types that are known. Metadata of another type, or of none, counts for nothing."""
