"""docs/security.md names tests that are there, and holds no bound that the code has not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fleetgate.gateway.admin.http import HEAD_WITHIN, MAX_HEAD
from fleetgate.gateway.standing import LOOK_EVERY, MISSED
from fleetgate.transports.api import Options
from fleetgate.transports.grpc_http2 import HEADERS
from fleetgate.transports.websocket_tap import HEAD

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_every_defence_is_tried(path: str, name: str) -> None:
    text = (ROOT / path).read_text()
    assert not name or re.search(rf"^(async )?def {name}\(", text, re.MULTILINE)


def test_the_bounds_are_those_of_the_code() -> None:
    options = Options()
    for words in (
        f"{options.max_handshakes} handshakes at a time and {options.max_links:,} links",
        f"of these {options.max_handshakes_each} and {options.max_links_each:,} from one address",
        f"{options.handshake_timeout:g} s for TLS and the upgrade together, {HEAD_WITHIN:g} s",
        f"{HEAD >> 10} KiB for an upgrade, {HEADERS >> 10} KiB for gRPC's headers",
        f"within {MISSED * LOOK_EVERY:g} s",
    ):
        assert words in PAGE, words
    assert MAX_HEAD == HEADERS
