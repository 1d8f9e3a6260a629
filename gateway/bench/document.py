"""`gateway bench --document RESULT`: a result's tables, put into the page between its marks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from fleetgate.gateway.bench.task import BenchFailed

PAGE: Final = Path("docs/performance.md")

MARKED: Final = re.compile(r"(<!-- bench: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write(result: Path, page: Path = PAGE) -> int:
    """Put every part of a result that the page has marks for between them: `<!-- bench: NAME -->`
    and `<!-- end -->`. What stands there comes from a result and from nowhere else. Answers how
    many there were.

    Raises: `BenchFailed`: it is no result, or has none of the page's parts; `OSError`.
    """
    texts = texts_of(json.loads(result.read_text()), result)
    found: list[str] = []

    def put(match: re.Match[str]) -> str:
        text = texts.get(match.group(2))
        if text is None:
            return match.group(0)
        found.append(match.group(2))
        return f"{match.group(1)}{text.strip()}\n{match.group(3)}"

    page.write_text(MARKED.sub(put, page.read_text()))
    if not found:
        raise BenchFailed(f"{page} has marks for none of {', '.join(texts)}")
    return len(found)


def texts_of(document: Any, path: Path) -> dict[str, str]:
    """The Markdown of each part of a result.

    Raises: `BenchFailed`.
    """
    parts = document.get("parts")
    if parts is None:
        parts = {document.get("part", "bridge"): document}
    texts = {name: part.get("text") for name, part in parts.items()}
    if not all(isinstance(text, str) for text in texts.values()):
        raise BenchFailed(f"{path} is no result of this bench, or an old one: it has no text")
    return texts
