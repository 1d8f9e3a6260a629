"""What the parts of a client's connection share."""

from __future__ import annotations

from typing import Any, Final

import attrs

from fleetgate.core.commands import DescribeRun, RunCommand
from fleetgate.core.ids import RunId
from fleetgate.protocols.api import NO_STEPS, Opening, Send, Steps, Submit
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.mailbox import Mailboxes
from fleetgate.protocols.rvbox.retained import Retention
from fleetgate.protocols.rvbox.session import TRY_LATER, Session, about, closing
from fleetgate.protocols.rvbox.settings import ClientSettings
from fleetgate.protocols.rvbox.state import Peer, Phase
from fleetgate.protocols.rvbox.translate import SHELLS

MOST_HELD: Final = 10_000
"""Answers that wait while the two sides reconcile; a server that causes more is cut off."""


@attrs.frozen(slots=True)
class Asked:
    """What an answer of the core belongs to: a command, and what was asked for it."""

    uuid: str
    what: str
    subject: Any = None


@attrs.define(slots=True, eq=False)
class Daemon:
    """One link's settings, session, retained commands, waiting messages and deadlines."""

    settings: ClientSettings
    opening: Opening = Opening(link="")
    session: Session = attrs.field(factory=lambda: Session(Peer.CLIENT))
    retention: Retention = attrs.field(factory=Retention)
    boxes: Mailboxes = attrs.field(init=False)
    deadlines: Deadlines = attrs.field(factory=Deadlines)
    shells: frozenset[int] = attrs.field(init=False)
    starting: int = 0
    """Commands that the core is asked to start."""
    draining: bool = False
    held: list[w.Payload] = attrs.field(factory=list[w.Payload])
    """What may not be sent before the reconcile's result."""

    def __attrs_post_init__(self) -> None:
        settings = self.settings
        self.boxes = Mailboxes(settings.waiting_messages, settings.waiting_size)
        self.shells = frozenset(SHELLS[name] for name in settings.shells)

    def run_id(self, uuid: str) -> RunId:
        """The run of a command: scoped to this link, as another server may use the same uuid."""
        return RunId(f"{self.opening.link}/{uuid}")

    def send(self, payload: w.Payload) -> Steps:
        """Send it, or hold it until the reconcile is over."""
        if self.session.phase is Phase.OPEN:
            return (self.session.send(payload),)
        self.held.append(payload)
        if len(self.held) > MOST_HELD:
            return (closing(TRY_LATER, "too much is to be said before the reconcile is over"),)
        return NO_STEPS

    def release(self) -> list[Send]:
        """The reconcile is over."""
        held, self.held = self.held, []
        return [self.session.send(payload) for payload in held]

    def complain(self, uuid: str, code: int, text: str) -> Steps:
        """Something is wrong with a message about one command."""
        return self.send(about(uuid, code, text))

    def ask(
        self,
        uuid: str,
        command: RunCommand | DescribeRun,
        what: str,
        subject: Any = None,
        key: str | None = None,
    ) -> Steps:
        """Ask the core; further messages about this command wait for the answer."""
        self.boxes.ask(uuid)
        return (Submit(command, Asked(uuid, what, subject), key),)
