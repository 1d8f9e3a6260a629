"""`gateway bench --document RESULT`: a result's tables, put into the page between its marks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from fleetgate.gateway.bench import targets
from fleetgate.gateway.bench.results import parts_of
from fleetgate.gateway.bench.task import BenchFailed

PAGE: Final = Path("docs/performance.md")

MARKED: Final = re.compile(r"(<!-- bench: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


WHY: Final = re.compile(r"<!-- why: ([\w-]+) -->\n(.*?)(?=<!--|^#|\Z)", re.DOTALL | re.MULTILINE)

FEWEST: Final = 30
"""Words without which nothing is explained."""


def write(result: Path, page: Path = PAGE) -> int:
    """Put every part of a result that the page has marks for between them: `<!-- bench: NAME -->`
    and `<!-- end -->`. What stands there comes from a result and from nowhere else. Answers how
    many there were.

    Raises: `BenchFailed`: it is no result, or has none of the page's parts; `OSError`.
    """
    texts = texts_of(result)
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


def unexplained(result: Path, page: Path = PAGE) -> list[str]:
    """The targets that a result misses and of which the page does not say why: an explanation
    follows a mark `<!-- why: NAME -->`, and ends at the next mark or heading.

    Raises: as `write`.
    """
    said = {name for name, text in WHY.findall(page.read_text()) if len(text.split()) >= FEWEST}
    return [name for name in targets.missed(parts_of(result)) if name not in said]


def texts_of(path: Path) -> dict[str, str]:
    """The Markdown of each part of a result, and of what it has to say of the targets.

    Raises: `BenchFailed`, `OSError`.
    """
    parts = parts_of(path)
    texts = {name: part.get("text") for name, part in parts.items()}
    if not all(isinstance(text, str) for text in texts.values()):
        raise BenchFailed(f"{path} is no result of this bench, or an old one: it has no text")
    return {"targets": targets.to_text(parts), **texts}
