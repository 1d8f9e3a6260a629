"""What lies beside these tests can be imported by them, and a gateway in a process of its own."""

import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from memory_gateway import Served, open_files, open_shortly_named


@pytest.fixture
async def served() -> AsyncGenerator[Served]:
    with open_files():
        async with open_shortly_named() as opened:
            yield opened
