"""Does anything that is committed look like a secret?

    python tools/secret_scan.py           every file that git knows here
    python tools/secret_scan.py FILE…     these

It prints place and kind, never the secret, and ends with 1 where it found one. Words that only
look like one end with a comment: "no secret".
"""

import argparse
import math
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

LARGEST = 4 << 20
"""Bytes of a file that is looked at."""

MEANT = "no secret"

KINDS = {
    "a private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:\s|\\[nr]|Version: .*|Comment: .*)*[A-Za-z0-9+/=]{16}",
    "an AWS key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40})",
    "a GitLab token": r"\bglpat-[A-Za-z0-9_-]{20}",
    "a Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{20}",
    "a Google key": r"\bAIza[A-Za-z0-9_-]{35}",
    "a key of a model's API": r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32}",
    "a Stripe key": r"\b[rs]k_live_[A-Za-z0-9]{20}",
    "a PyPI token": r"\bpypi-AgEI[A-Za-z0-9_-]{40}",
    "an npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "a JSON web token": r"\beyJ[A-Za-z0-9_-]{16,}\.eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "a password in a URL": r"://[^\s/:@\"'{}<>$]{1,64}:(?=[^\s@]*\d)[^\s/:@\"'{}<>$]{10,}@[A-Za-z0-9]",
}
"""Whatever it is assigned to."""

ASSIGNED = re.compile(
    r"(?i)(?:secret|token|passw(?:or)?d|api_?key)[\w-]*[\"']?\s*[:=]\s*[\"']?"
    r"([A-Za-z0-9+/_=-]{16,})(?![A-Za-z0-9+/_=.(\[-])"
)
SHOWN = re.compile(
    r"(?i)authorization[\"']?\s*[:=,]\s*[\"']?(?:bearer|basic|token)\s+"
    r"([A-Za-z0-9+/_=~.-]{16,})(?![A-Za-z0-9+/_=~.(\[-])"
)
RANDOM = 0.82
"""The share of the entropy that its characters could have from which on a word is random, and no
name or sentence: drawn base64 characters have more than nine tenths, hexadecimal digits 0.9,
and text in base64 somewhat less."""

HEXADECIMAL = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")


def bits(word: str) -> float:
    """The entropy of a word's characters."""
    shares = [count / len(word) for count in Counter(word).values()]
    return -sum(share * math.log2(share) for share in shares)


def is_random(word: str) -> bool:
    """Whether a word was drawn, by its looks: digits are among its letters, of both cases where it
    is short, and no character comes much oftener than others."""
    mixed = len(word) >= 24 or (re.search("[a-z]", word) and re.search("[A-Z]", word))
    signs = 16 if HEXADECIMAL.fullmatch(word) else 64
    most = math.log2(min(signs, len(word)))
    return bool(mixed and re.search(r"\d", word) and bits(word) >= RANDOM * most)


def findings(text: str) -> Iterator[tuple[int, str]]:
    """The line and the kind of each secret in a text."""
    lines = text.splitlines()
    found = [(m.start(), kind) for kind, form in KINDS.items() for m in re.finditer(form, text)]
    found += [
        (m.start(), "a random word that is called a secret")
        for form in (ASSIGNED, SHOWN)
        for m in form.finditer(text)
        if is_random(m.group(1))
    ]
    for at, kind in sorted(found):
        number = text.count("\n", 0, at) + 1
        if MEANT not in lines[number - 1]:
            yield number, kind


def committed() -> list[Path]:
    """What git knows."""
    names = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True).stdout
    return [Path(name) for name in names.decode().split("\0") if name]


def scan(paths: Iterable[Path]) -> int:
    """How many secrets were found; each is said."""
    count = 0
    for path in paths:
        if not path.is_file() or path.is_symlink():
            continue
        data = path.read_bytes()[:LARGEST]
        for line, kind in findings(data.decode("utf-8", "replace")):
            sys.stdout.write(f"{path}:{line}: {kind}\n")
            count += 1
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description="Look for secrets in what is committed.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    count = scan(parser.parse_args().files or committed())
    sys.stdout.write(f"{count} found\n")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
