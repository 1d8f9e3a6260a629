"""One link, put into words: what a recording and the fakes' `--frames` say of it."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import urlsplit

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.render import Line
from fleetgate.protocols.explaining import Explained, Showing, Speaker, Whence, other
from fleetgate.transports.api import Link
from fleetgate.transports.faults import IsAnswer, Way
from fleetgate.transports.tap import Crossed, Over


def our_part(entry: Entry, link: Link, showing: Showing) -> Speaker:
    """Which side we play on a link of an entry. Its path may say so: control clients come in where
    workers do."""
    if link.speaks_status:
        dialler = showing.dials(link.opening.path)
        return other(dialler) if entry.listens else dialler
    return "worker" if entry.facing == "north" else "controller"


class Witness:
    """Sees one link. `ours` is the side that sends what goes out; `number` tells links apart."""

    def __init__(self, number: int, showing: Showing, ours: Speaker, path: str = "") -> None:
        self.number = number
        self.ours: Speaker = ours
        self._showing = showing
        self._explainer = showing.explainer()
        self._path = path

    def whence(self, way: Way) -> Whence:
        """Where a frame that goes this way comes from."""
        return Whence(self.ours if way == "out" else other(self.ours), self._path)

    def link(self, time: int, protocol: str, entry: str, address: str, dialler: Speaker) -> Line:
        """The link is up. `address` is the one at which it was reached."""
        return {
            "event": "link",
            "link": self.number,
            "time": time,
            "protocol": protocol,
            "entry": entry,
            "address": without_query(address),
            "path": without_query(self._path),
            "dialler": dialler,
        }

    def frame(self, crossed: Crossed, time: int) -> Line:
        """A frame."""
        whence = self.whence(crossed.way)
        explained = self._explainer.explain(crossed.frame, whence)
        return {
            "event": "frame",
            "dir": crossed.way,
            "link": self.number,
            "time": time,
            "from": whence.sender,
            "size": len(crossed.frame),
            **described(explained),
        }

    def over(self, over: Over, time: int) -> Line:
        """One end is over. What the peer gave as its reason is not kept: it may hold anything."""
        sender = self.ours if over.way == "out" else other(self.ours)
        rule = {"rule": over.reason} if over.no_frame else {}
        return {
            "event": "over",
            "dir": over.way,
            "link": self.number,
            "time": time,
            "from": sender,
            "code": over.code,
            "broken": over.broken,
            **rule,
        }

    def is_answer(self) -> IsAnswer:
        """What tells answers from other frames of this link. It looks with eyes of its own: a frame
        that it sees may be seen again, or never cross."""
        explainer = self._showing.explainer()
        return lambda way, frame: explainer.answers(explainer.explain(frame, self.whence(way)))


def described(explained: Explained) -> Line:
    """A frame's decoded form. What cannot be read has none, and its bytes are not shown either."""
    line: Line = {"name": explained.name, "message": explained.body, "raw": None}
    if explained.frame is not None:
        line["raw"] = b64encode(explained.frame).decode()
    if explained.redacted:
        line["redacted"] = explained.redacted
    if explained.rule:
        line["rule"] = explained.rule
    return line


def without_query(address: str) -> str:
    """An address without what may hold a secret: its query, and who logs in."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl()
