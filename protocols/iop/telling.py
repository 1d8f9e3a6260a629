"""The runs that an edge is told of, over one link of its node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from fleetgate.core.events import MAX_BODY, Recorded, RunFinished
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.queue import Queue
from fleetgate.core.run import Run
from fleetgate.core.times import nanos
from fleetgate.protocols.api import NO_STEPS, Ack, Follow, Send, Step, Steps, Unfollow
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.names import BODY
from fleetgate.protocols.iop.narrator import Narrator
from fleetgate.protocols.iop.settings import NorthSettings


class Telling:
    """Each run's narrator. `node` is who we are.

    The edge acknowledges nothing. A run that has ended counts as heard once the link has stood,
    and the edge been heard on it, for as long as a dead one may go unnoticed.
    """

    def __init__(self, settings: NorthSettings) -> None:
        self.node = ""
        self._settings = settings
        self._narrators: dict[RunId, Narrator] = {}
        self._ended: Queue[tuple[int, RunId, Seq]] = Queue()

    def follow(self, run: Run, *, again: bool = False) -> Steps:
        """Tell the run from its beginning, or of one that was told before what is retained."""
        floor = max(0, run.last_seq - self._settings.retained) if again else 0
        id = run.origin.native_run
        narrator = Narrator(run, id, node=self.node, started=floor > 0 and run.started > 0)
        self._narrators[run.id] = narrator
        return (Follow(run.id, Seq(floor)),)

    def take_up(self, run: Run, now: int) -> Steps:
        """A run that an earlier link has left: what is retained is told again. Of one that waits
        there is nothing to tell, and the edge must hear of it all the same."""
        steps = self.follow(run, again=True)
        if run.started or run.state.terminal:
            return steps
        queued = self._narrators[run.id].queued(now)
        return (Send(codec.encode_node(queued)), *steps)

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        """Tell what has happened."""
        run = batch[0].run
        narrator = self._narrators.get(run)
        if narrator is None:
            return NO_STEPS
        steps: list[Step] = []
        for recorded in batch:
            steps += (Send(self._fit(event)) for event in narrator.tell(recorded))
            if isinstance(recorded.event, RunFinished):
                del self._narrators[run]
                self._ended.append((now, run, recorded.seq))
                steps.append(Unfollow(run))
                break
        return steps

    def deliver_bulk(self, batch: Sequence[Recorded]) -> list[bytes] | None:
        """The frames of the first events, if these are texts or output of a run that was begun, up
        to one that is not. None: the first is not, nothing was told."""
        narrator = self._narrators.get(batch[0].run) if batch else None
        if narrator is None or self._settings.max_message < _SURELY:
            return None
        return narrator.deltas(batch)

    def _fit(self, event: w.RunEvent) -> bytes:
        """An event's frame; what is too long for one goes without what only we read."""
        frame = codec.encode_node(event)
        return frame if len(frame) <= self._settings.max_message else codec.encode_node(cut(event))

    def heard(self, now: int) -> Steps:
        """The edge was heard: what was told long enough before that has arrived."""
        before = now - nanos(self._settings.dead_after)
        steps: list[Step] = []
        while self._ended and self._ended.first[0] <= before:
            _, run, seq = self._ended.popleft()
            steps.append(Ack(run, seq))
        return steps

    def refusal(
        self, run_id: str, error: str, session: str, background: bool, now: int
    ) -> w.RunEvent:
        """The one event of a run that is not taken."""
        return w.RunEvent(
            run_id,
            "error",
            error=error,
            timestamp=now,
            session_id=session,
            background=background,
            node_id=self.node,
        )


_SURELY: Final = 8 * MAX_BODY
"""A message of so many bytes surely holds a text or output: four times as long as UTF-8, or three
times and once more in base64; and what stands around it."""

_CUT = 1 << 20
"""Characters of a text that surely fits into a message, with the others beside it."""


def cut(event: w.RunEvent) -> w.RunEvent:
    """An event that would be longer than a message, so that it fits: without its body, and with
    the beginning of its texts."""
    small = {key: value for key, value in event.metadata.items() if key != BODY}
    return attrs.evolve(
        event,
        delta=event.delta[: _CUT // 4],
        message=event.message[: _CUT // 4],
        error=event.error[: _CUT // 4],
        metadata=small if sum(map(len, small.values())) < _CUT // 4 else {},
    )
