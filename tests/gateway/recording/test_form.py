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


def test_a_line_is_a_json_object_or_none() -> None:
    assert form.read_line(b'{"event": "end"}') == {"event": "end"}
    assert form.read_line(b"{}") == {}
    for line in (b"", b"[1]", b'{"event":', b"\xff", b"[" * 100_000):
        assert form.read_line(line) is None


def test_a_header_that_is_cut_off_is_told_from_one_that_is_none() -> None:
    assert form.is_cut_header(b'{"recording":1,"by":"fl')
    for line in (b'{"recording":1}', b'{"event":"fra', b"", b"recording"):
        assert not form.is_cut_header(line)
