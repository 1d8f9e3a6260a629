"""The file of a bench's results, which is whole after each part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import attrs

from fleetgate.gateway.bench.machine import commit_of
from fleetgate.gateway.bench.report import FORMAT
from fleetgate.gateway.bench.task import BenchFailed


@attrs.define
class Results:
    """Results of parts, by their names, as JSON has them. `commit` is what is measured: asked for
    before anything is written, which may change the checkout."""

    path: Path
    commit: str | None
    parts: dict[str, Any] = attrs.field(factory=dict[str, Any])

    @classmethod
    def new(cls, path: Path) -> Results:
        """None yet; the directory is made.

        Raises: `OSError`: it cannot be.
        """
        commit = commit_of()
        path.parent.mkdir(parents=True, exist_ok=True)
        return cls(path, commit)

    @classmethod
    def resumed(cls, path: Path) -> Results:
        """Those of a file, to which others are added.

        Raises: `OSError`; `BenchFailed`: it is none, or of another commit than this one.
        """
        parts, commit = parts_of(path), commit_of()
        others = {part["machine"]["commit"] for part in parts.values()} - {commit}
        if others:
            said = ", ".join(sorted(str(each) for each in others))
            raise BenchFailed(
                f"{path} has results of {said}, and this is {commit}: begin a new one"
            )
        return cls(path, commit, parts)

    def whole(self, part: str) -> bool:
        """Whether nothing of a part is left to be measured: it has samples, and no trial of it came
        to nothing."""
        found = self.parts.get(part, {})
        return bool(found.get("samples")) and not found.get("lost")

    def add(self, part: str, result: Any) -> None:
        """Keep one more. The file is the one before or the new one, whatever happens.

        Raises: `OSError`.
        """
        self.parts[part] = result
        text = json.dumps({"format": FORMAT, "parts": self.parts}, separators=(",", ":"))
        new = self.path.with_name(f"{self.path.name}.new")
        new.write_text(text + "\n")
        new.replace(self.path)


def parts_of(path: Path) -> dict[str, Any]:
    """The parts of a result file.

    Raises: `OSError`; `BenchFailed`: it is none.
    """
    try:
        parts = json.loads(path.read_text())["parts"]
    except (ValueError, KeyError, TypeError):
        parts = None
    if not isinstance(parts, dict) or not parts:
        raise BenchFailed(f"{path} is no result of this bench: it has no parts")
    return cast("dict[str, Any]", parts)
