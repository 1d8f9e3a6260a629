"""The runs that a control plane holds at one runner: the registry of W 8.4, 8.5, 9 and 13.1.

Whoever opens a run owns it, and hears how each thing it asked came out (`Then`). What happens to a
run unasked — the runner lost it, its environment broke, its owner went away — is told by `hook`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import attrs

from fleetgate.core.times import nanos
from fleetgate.protocols.api import NO_STEPS, Steps
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.affinity import Affinities
from fleetgate.protocols.kodelet.errors import is_gone
from fleetgate.protocols.kodelet.lease import Ended, Hook, Lease, Subscription, Then, ended, no_hook
from fleetgate.protocols.kodelet.liveness import Liveness
from fleetgate.protocols.kodelet.peer import Answered, Broken, Peer
from fleetgate.protocols.kodelet.settings import ControlPlaneSettings
from fleetgate.protocols.kodelet.state import RunPhase

UNCONFIRMED: Final = "runner cleanup was not confirmed: "
EXPIRED: Final = "control-plane run lease expired"
CANCELED: Final = "context canceled"
_CLEANUP: Final = "cleanup "
_GRACE: Final = "grace "


class Denied(Exception):
    """The control plane itself refuses; nothing was sent."""


Forbids: TypeAlias = Callable[[wire.RunOpen], str | None]
"""Why a run may not be opened, for what is known beyond one connection; None: it may."""


def nothing_forbids(asked: wire.RunOpen) -> str | None:
    """Nothing is known."""
    return None


class Leases:
    """All of one connection. `runner` is the id that its runner was given, once it was."""

    def __init__(self, peer: Peer, settings: ControlPlaneSettings, deadlines: Deadlines) -> None:
        self._peer = peer
        self._settings = settings
        self._deadlines = deadlines
        self._leases: dict[str, Lease] = {}
        self.affinities = Affinities()
        self.forbids: Forbids = nothing_forbids
        self.runner = ""
        self.alive: Liveness | None = None
        self.concurrent = False
        self.hook: Hook = no_hook

    def __len__(self) -> int:
        return len(self._leases)

    def get(self, id: str) -> Lease | None:
        """A run by its id on the wire."""
        return self._leases.get(id)

    def all(self) -> tuple[Lease, ...]:
        """Every run that is held."""
        return tuple(self._leases.values())

    @property
    def phases(self) -> dict[str, RunPhase]:
        """Every run's phase; one that is being closed counts no more (W 8.4)."""
        return {id: lease.phase for id, lease in self._leases.items() if not lease.closing}

    # --- opening

    def open(self, asked: wire.RunOpen, then: Then) -> Lease:
        """Open a run; its manifest is the outcome.

        Raises: `Denied` where the gate of W 9.1 is shut, `Oversize`.
        """
        wrong = self._wrong_with(asked)
        if wrong is not None:
            raise Denied(wrong)
        lease = Lease(asked, waits=then)
        lease.call = self._peer.call("run.open", asked, partial(self._opened, lease))
        self._leases[lease.id] = lease
        return lease

    def _wrong_with(self, asked: wire.RunOpen) -> str | None:
        wrong = self.affinities.wrong_with(asked, self.runner)
        if wrong is not None:
            return wrong
        alive = self.alive
        if alive is None:
            return "runner is offline"
        if not alive.ready:
            return "runner has not completed its initial heartbeat"
        if alive.error:
            return "runner is not available: error"
        if self._leases and not self.concurrent:
            return "runner does not support concurrent runs"
        for lease in self._leases.values():
            if lease.opened.conversation_id == asked.conversation_id:
                return f"conversation already has active run {lease.id}"
        return "run id already exists" if asked.run_id in self._leases else self.forbids(asked)

    def _opened(self, lease: Lease, answer: Answered | Broken, now: int) -> Steps:
        then, lease.waits, lease.call = lease.waits, None, ""
        assert then is not None
        outcome = ended(answer)
        if outcome.text:  # the runner holds nothing, so nothing is closed
            _settle(lease, RunPhase.FAILED, outcome.text)
            self._drop(lease)
            return then(outcome, now)
        wrong, manifest = self._verify(lease, outcome.result)
        if wrong is not None or manifest is None or lease.phase is not RunPhase.OPENING:
            _settle(lease, RunPhase.FAILED, wrong or "")
            return self._undo(lease, then, now)
        assert self.alive is not None
        self.alive.opened(manifest.digest)
        self.affinities.bind(lease.opened, self.runner)
        lease.phase, lease.manifest = RunPhase.RUNNING, manifest
        return then(Ended(manifest), now)

    def _undo(self, lease: Lease, then: Then, now: int) -> Steps:
        """An open came to nothing that both sides know of: give the run back, then say so."""

        def undone(outcome: Ended, at: int) -> Steps:
            uncertain = f"runner open state is uncertain because cleanup failed: {outcome.text}"
            return then(Ended(text=uncertain if outcome.text else lease.error or CANCELED), at)

        return self.release(lease, undone, now)

    def _verify(self, lease: Lease, result: Any) -> tuple[str | None, m.Manifest | None]:
        if self.alive is None:
            return "runner connection changed while opening run", None
        try:
            manifest = m.read_manifest(result)
        except Malformed as error:
            return f"the runner's manifest cannot be read: {error}", None
        whose = m.Opened(self.alive.runner_id, lease.id, self.alive.generation)
        return m.check(manifest, whose, lease.opened.reserved_tool_names or ()), manifest

    # --- working

    def call(self, lease: Lease, method: str, params: Any, then: Then) -> str:
        """Ask something of a run; the id on the wire, with which it can be abandoned.

        Raises: `Denied`, `Oversize`.
        """
        _check_running(lease)

        def answered(answer: Answered | Broken, now: int) -> Steps:
            return then(ended(answer), now)

        return self._peer.call(method, params, answered)

    def execute(
        self,
        lease: Lease,
        asked: wire.ToolExecute,
        then: Then,
        told: Callable[[wire.ToolUpdate], Steps] | None = None,
    ) -> str:
        """Call a tool. `told` hears of its updates, where the runner has them.

        Raises: `Denied`, `Oversize`.
        """
        _check_running(lease)
        offered = lease.manifest is not None and lease.manifest.capabilities.tool_updates
        if told is None or not offered:
            return self.call(lease, "tool.execute", asked, then)
        if asked.tool_call_id in lease.subscriptions:
            raise Denied("tool call id is already active for this run")

        def finished(outcome: Ended, now: int) -> Steps:
            lease.subscriptions.pop(asked.tool_call_id, None)
            return then(outcome, now)

        asked = attrs.evolve(asked, want_updates=True)
        id = self.call(lease, "tool.execute", asked, finished)
        lease.subscriptions[asked.tool_call_id] = Subscription(id, told)
        return id

    def abandon(self, request: str) -> None:
        """Nobody waits for a call any more: the runner is told, and no outcome comes."""
        self._peer.abandon(request)
        for lease in self._leases.values():
            for id, subscription in list(lease.subscriptions.items()):
                if subscription.request == request:
                    del lease.subscriptions[id]

    def update(self, update: wire.ToolUpdate) -> Steps:
        """A snapshot of a tool's output. One that is not newer, or not of a call under way, is
        dropped without a word (W 11.4)."""
        lease = self._leases.get(update.run_id)
        if lease is None or lease.phase is not RunPhase.RUNNING:
            return NO_STEPS
        subscription = lease.subscriptions.get(update.tool_call_id)
        if (
            subscription is None
            or subscription.request != update.request_id
            or update.sequence <= subscription.sequence
        ):
            return NO_STEPS
        subscription.sequence = update.sequence
        return subscription.told(update)

    # --- ending

    def cancel(self, lease: Lease, reason: str, then: Then) -> str:
        """Stop what a run does. It stays held, and only closing it gives it back (W 9.3). The id on
        the wire, with which the call can be abandoned.

        Raises: `Oversize`.
        """

        def stopped(answer: Answered | Broken, now: int) -> Steps:
            outcome = ended(answer)
            if not outcome.text:
                _settle(lease, RunPhase.CANCELED, "")
            return then(outcome, now)

        return self._peer.call("run.cancel", wire.RunCancel(lease.id, reason), stopped)

    def close(self, lease: Lease, phase: RunPhase, then: Then) -> None:
        """Give a run back, for as long as the runner takes. Confirmed, it ends as `phase`, unless
        it has failed by itself (W 9.2)."""
        lease.wanted = phase
        self._close(lease, then)

    def _close(self, lease: Lease, then: Then) -> None:
        lease.closing, lease.waits = True, then
        lease.call = self._peer.call(
            "run.close", wire.RunClose(lease.id), partial(self._closed, lease)
        )

    def _closed(self, lease: Lease, answer: Answered | Broken, now: int) -> Steps:
        outcome = ended(answer)
        if outcome.text and (outcome.error is None or not is_gone(outcome.error)):
            return self._unconfirmed(lease, outcome.text, now)
        if lease.wanted is not None and lease.phase is not RunPhase.FAILED:
            lease.phase = lease.wanted
        return self._drop(lease)(Ended(), now)

    def _unconfirmed(self, lease: Lease, why: str, now: int) -> Steps:
        then = self._drop(lease)
        text = f"{UNCONFIRMED}{why}"
        lease.phase = RunPhase.LOST
        lease.error = f"{lease.error}; {text}" if lease.error else text
        return then(Ended(text=text), now)

    def give_up(self, lease: Lease, why: str, now: int) -> Steps:
        """Wait no longer for a run to be closed: whether it was is not known (W 9.2)."""
        self._peer.abandon(lease.call)
        return self._unconfirmed(lease, why, now)

    def release(self, lease: Lease, then: Then, now: int, stop: str = "") -> Steps:
        """Give a run back within `cleanup_timeout`, in the phase that it has: an open under way is
        abandoned, and with `stop`, the reason, the run is cancelled first."""
        self._deadlines.set(_CLEANUP + lease.id, now + nanos(self._settings.cleanup_timeout))
        if lease.call:
            self._peer.abandon(lease.call)
        if not stop:
            self._close(lease, then)
            return NO_STEPS

        def stopped(answer: Answered | Broken, now: int) -> Steps:
            self._close(lease, then)
            return NO_STEPS

        lease.closing, lease.waits = True, then
        asked = wire.RunCancel(lease.id, stop)
        lease.call = self._peer.call("run.cancel", asked, stopped)
        return NO_STEPS

    def _drop(self, lease: Lease) -> Then:
        """It is held no more. Answers who waits for what was under way."""
        del self._leases[lease.id]
        self._deadlines.clear(_CLEANUP + lease.id)
        self._deadlines.clear(_GRACE + lease.id)
        self._peer.abandon_silently(lease.call)
        then, lease.waits, lease.call, lease.manifest = lease.waits, None, "", None
        return then or _nobody_waits

    # --- what happens unasked

    def owner_ended(self, lease: Lease, cause: str, now: int) -> Steps:
        """Whoever opened a run is gone. While it opens, that is the end of it; later it has
        `lease_grace` to be closed, and then is cancelled and given back (W 8.5, 9.1)."""
        if self._leases.get(lease.id) is not lease or lease.closing:
            return NO_STEPS
        if lease.waits is not None:
            _settle(lease, RunPhase.FAILED, cause)
            return self._undo(lease, lease.waits, now)
        lease.cause = cause
        self._deadlines.set(_GRACE + lease.id, now + nanos(self._settings.lease_grace))
        return NO_STEPS

    def overdue(self, name: str, now: int) -> Steps:
        """A deadline has come; if it is a run's, its owner or the runner has had its time."""
        what, _, id = name.partition(" ")
        lease = self._leases.get(id)
        if lease is None:
            return NO_STEPS
        if what == _CLEANUP.rstrip():
            return self.give_up(lease, "context deadline exceeded", now)
        if lease.closing:
            return NO_STEPS
        lease.phase = RunPhase.CANCELED
        lease.error = f"control-plane run context ended without run.close: {lease.cause}"
        told = self.hook(lease, now)
        return (*told, *self.release(lease, _nobody_waits, now, EXPIRED))

    def environment_error(self, said: wire.EnvironmentReport, now: int) -> Steps:
        """The runner reports that a run's environment broke. It has failed; it stays held until it
        is closed (W 9.4)."""
        lease = self._leases.get(said.run_id)
        if lease is None or not lease.active:
            return NO_STEPS
        lease.phase, lease.error = RunPhase.FAILED, wire.cut(said.message)
        return self.hook(lease, now)

    def missing(self, id: str, now: int) -> Steps:
        """The runner has stopped reporting a run; nothing is sent to it."""
        text = (
            "runner stopped reporting active run for "
            f"{self._settings.omissions} consecutive heartbeats"
        )
        return self._lose(self._leases[id], text, now)

    def detach(self, why: str, now: int) -> Steps:
        """The runner is gone, or counts no more: every run is lost with it."""
        self.alive = None
        return [step for lease in self.all() for step in self._lose(lease, why, now)]

    def _lose(self, lease: Lease, why: str, now: int) -> Steps:
        then = self._drop(lease)
        lease.phase, lease.error = RunPhase.LOST, why
        return (*self.hook(lease, now), *then(Ended(text=why or "runner is offline"), now))

    def forget(self, lease: Lease) -> None:
        """It is another link's from now on, whose admission deals with it."""
        self._drop(lease)


def _check_running(lease: Lease) -> None:
    if lease.phase is not RunPhase.RUNNING or lease.closing:
        what = lease.phase.value if lease.phase is not RunPhase.RUNNING else "closing"
        raise Denied(f"run is not active: {what}")


def _settle(lease: Lease, phase: RunPhase, error: str) -> None:
    """A run that is opening or running becomes something else; the first reason counts."""
    if lease.phase in (RunPhase.OPENING, RunPhase.RUNNING):
        lease.phase, lease.error = phase, error


def _nobody_waits(outcome: Ended, now: int) -> Steps:
    return NO_STEPS
