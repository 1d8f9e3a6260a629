"""The lines that are no frames."""

from __future__ import annotations

from fleetgate import __version__
from fleetgate.gateway.recording import form


def test_a_header_says_what_reads_it_and_what_was_spoken() -> None:
    assert form.header(5, {"agency": "0.3"}) == {
        "recording": form.FORMAT,
        "by": f"fleetgate {__version__}",
        "started": 5,
        "protocols": {"agency": "0.3"},
    }


def test_the_end_counts() -> None:
    assert form.end(9, 4, 1) == {"event": "end", "time": 9, "frames": 4, "lost": 1}
    assert form.lost(9, 3) == {"event": "lost", "time": 9, "items": 3}
