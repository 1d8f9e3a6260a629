"""Which end the table of promises gives a run of the kill loop: which it must have, and no other.

Nothing but the gateway and workers is ever killed there, and when is known to some milliseconds.
So it can be told of nearly every run, from the times that journals gave its events and from what
its worker wrote down, whether it was at work at a kill; and then `lost` is not only allowed, it is
wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs
from chaos_allowance import NUMBERED
from chaos_lives import Blow
from chaos_oracle import Task

from fleetgate.core import events as e

CARRIED = {"lost": frozenset({"lost", "failed"})}
"""What a controller may call an end of the gateway's, where it is not the same word."""
LOST = frozenset({"lost"})


@attrs.frozen
class Course:
    """How a run went, as one journal has it: when (Unix nanoseconds) it was accepted, was given to
    a worker, and ended, and its end; when its worker said that it had begun, and the words that the
    end has. 0 and empty where it did not."""

    created: int
    assigned: int = 0
    ended: int = 0
    end: str = ""
    started: int = 0
    words: str = attrs.field(default="", eq=False)


def course_of(created: int, recorded: Iterable[e.Recorded]) -> Course:
    """From a run's events."""
    assigned = ended = started = 0
    end = words = ""
    for each in recorded:
        match each.event:
            case e.RunAssigned():
                assigned = assigned or each.time
            case e.RunStarted():
                started = started or each.time
            case e.RunFinished(outcome=outcome):
                ended, end, words = each.time, outcome.state.value, outcome.message
            case _:
                pass
    return Course(created, assigned, ended, end, started, words)


def numbers_inputs(pair: str) -> bool:
    """Whether inputs keep a number all the way, so that they are sent again and known again."""
    return set(pair.split("-")) == NUMBERED


def struck(blows: Sequence[Blow], began: int, ended: int) -> bool | None:
    """Whether a kill came between; None where it came at the very beginning or end."""
    if not began:
        return False
    over = ended or 1 << 63
    if any(began < blow.before and blow.after < over for blow in blows):
        return True
    return None if any(began <= blow.after and blow.before <= over for blow in blows) else False


def _never(now: int) -> bool:
    """Nobody is ever missed."""
    return False


@attrs.frozen
class Promise:
    """What a pair promises, by what the kills were: `blows` of the gateway, `falls` of its worker.
    `missed` answers whether the worker at the gateway, or the gateway at its controller, was hardly
    there in the grace of iop before an instant."""

    pair: str
    blows: Sequence[Blow]
    missed: Callable[[int], bool] = _never
    falls: Sequence[Blow] = ()

    def at_gateway(
        self,
        task: Task,
        course: Course,
        executed: int,
        *,
        disowned: bool = False,
        cut: bool = False,
    ) -> frozenset[str]:
        """The ends that the gateway may record of a run. `disowned`: its controller has lost it;
        `cut`: its worker was killed at it, and no worker of any protocol goes on with that."""
        north, _, south = self.pair.partition("-")
        ends = _natural(task)
        if north == "kodelet" and struck(self.blows, course.created, course.ended) is not False:
            ends |= {"canceled"}  # by the next link, before it registers
        if north == "iop" and disowned:
            ends |= {"canceled"}
        if south == "iop" and self.missed(course.ended):
            ends |= LOST
        hit = self._loses(south, course, executed)
        if cut or hit:
            return LOST | (ends & {"canceled"})
        # What a worker had ended, or not yet begun, may have gone with it or not.
        fell = struck(self.falls, course.assigned, course.ended) is not False
        return ends if hit is False and not fell else LOST | ends

    def at_controller(
        self, task: Task, course: Course, gateway: Course | None, executed: int
    ) -> frozenset[str]:
        """The ends that its controller may record. `gateway`: how it went there, if it came so far.
        The kills last as long as it took to notice them."""
        north = self.pair.partition("-")[0]
        if gateway is None:
            hit = self._loses(north, course, executed)
            canceled = _natural(task) & {"canceled"}
            return canceled | LOST if hit is not False else canceled or _natural(task)
        ends = CARRIED.get(gateway.end, frozenset({gateway.end}))
        if north == "iop" and self.missed(course.ended):
            return LOST | ends
        if north != "kodelet":
            return ends
        # It hears no more of a run that it cancels, and the end may be on its way by then.
        ends |= _natural(task) & {"canceled"}
        match struck(self.blows, course.assigned, course.ended):
            case True if not self._over_before(course, gateway):
                return LOST
            case False:
                return ends
            case _:
                return LOST | ends

    def uncertain_input(self, *courses: Course) -> bool:
        """Whether inputs of a run may be missing: a kill came under it, in any of these journals,
        and not both protocols number them."""
        kills = (self.blows, self.falls)
        met = (struck(each, at.created, at.ended) for each in kills for at in courses)
        return not numbers_inputs(self.pair) and any(hit is not False for hit in met)

    def _loses(self, protocol: str, course: Course, executed: int) -> bool | None:
        """Whether a kill ends a run of a protocol that was given to a worker: where runs do not
        outlive a link, or where a start is sent at most once and this one did not arrive."""
        at_most_once = protocol == "kodelet" or (protocol == "iop" and not executed)
        return at_most_once and struck(self.blows, course.assigned, course.ended)

    def _over_before(self, course: Course, gateway: Course) -> bool:
        """Whether its end may have been on its way as the first kill under it came."""
        under = [blow for blow in self.blows if course.assigned < blow.before]
        return any(0 < gateway.ended <= blow.after for blow in under[:1])


def again(pair: str, began: Sequence[tuple[int, int]], started: int) -> bool:
    """Whether a run may have been begun again by a later life of its worker: by a daemon of agency,
    which knows no run of the life before, where that had not been answered. `began` has lives and
    times; `started`: when the gateway heard of it first."""
    later = [at for life, at in began if life > began[0][0]]
    return pair.endswith("-agency") and all(not started or started > at for at in later)


def _natural(task: Task) -> frozenset[str]:
    return frozenset({"succeeded", *(["canceled"] if task.cancel is not None else [])})
