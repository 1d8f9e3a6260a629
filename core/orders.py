"""Commands about an open run: decided, made durable, handed to its worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import attrs

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted
from fleetgate.core.dispatcher import Dispatcher
from fleetgate.core.errors import InvalidArgument, ResourceExhausted, UnsupportedInput
from fleetgate.core.journal.api import Done, OpenOrder, PutKey, PutOrder, PutRun, Write
from fleetgate.core.ledger import Ledger
from fleetgate.core.limits import Limits
from fleetgate.core.run import Run, Verdict, decide, give_input
from fleetgate.core.sequence import split_bytes
from fleetgate.core.slots import Slot


class Orders:
    """Gives commands to open runs, one at a time per run, in the order they came."""

    def __init__(
        self,
        ledger: Ledger,
        dispatcher: Dispatcher,
        limits: Limits,
        route: Callable[[Run], Run],
        hears: Callable[[str], bool],
    ) -> None:
        self._ledger = ledger
        self._dispatcher = dispatcher
        self._limits = limits
        self._route = route
        self._hears = hears

    def opening(self, run: Run) -> tuple[Run, tuple[OpenOrder, ...]]:
        """What the spec itself feeds to the run's input, and the run with that counted.

        Raises: `InvalidArgument`.
        """
        given = run.work.input
        if not isinstance(given, c.ShellCommand) or given.stdin is None:
            return run, ()
        if len(given.stdin) > self._limits.run_input:
            raise InvalidArgument(
                f"stdin may have {self._limits.run_input} bytes, {len(given.stdin)} came; "
                "start the run interactive and send the rest"
            )
        pieces = split_bytes(given.stdin, self._limits.order_size)
        commands: list[c.SendInput | c.CloseInput] = [c.SendInput(run.id, p) for p in pieces]
        if not run.spec.interactive:
            commands.append(c.CloseInput(run.id))
        orders: list[OpenOrder] = []
        for command in commands:
            run = give_input(run, closes=isinstance(command, c.CloseInput)).run
            orders.append(OpenOrder(_order(run, command, run.created), sent=False))
        return run, tuple(orders)

    def _check_size(self, command: c.RunCommand) -> None:
        limit = self._limits.order_size
        if isinstance(command, c.SendInput) and len(command.data) > limit:
            raise InvalidArgument(
                f"an input may have {limit} bytes, {len(command.data)} came; send it in pieces"
            )

    def _check_heard(self, run: Run, command: c.RunCommand) -> None:
        """A decision that no worker hears of decides nothing, so it is not recorded either."""
        if isinstance(command, c.ResolveApproval) and not self._hears(run.pool):
            raise UnsupportedInput(
                f"workers of {run.pool} cannot be told of a decision; answer where the worker "
                "itself asks, or cancel the run"
            )

    def _check_room(self, slot: Slot, size: int) -> None:
        given = (open_.order.command for open_ in slot.orders.values())
        waiting = sum(len(each.data) for each in given if isinstance(each, c.SendInput))
        if waiting + size > self._limits.run_input:
            raise ResourceExhausted(
                f"run {slot.run.id} has {waiting} bytes of unconfirmed input, and "
                f"{self._limits.run_input} is the limit; wait until its worker confirms some"
            )

    async def give(self, slot: Slot, command: c.RunCommand, key: str | None) -> Accepted:
        """Decide and perform `command`; the answer is durable. One whose key the run knows was
        performed before, and is answered so.

        Raises: `Refusal`. Cancelled, it may or may not be performed.
        """
        self._check_size(command)
        if slot.turn.value:  # else the same command may be in line, and yet be performed
            self._ledger.check()
        with self._ledger.using(slot):
            return await self._give(slot, command, key)

    async def _give(self, slot: Slot, command: c.RunCommand, key: str | None) -> Accepted:
        late = f"the command before it of run {slot.run.id} is not durable yet; try again later"
        await self._ledger.commits.take(slot.turn, late)
        if key is not None and key in slot.keys:
            slot.turn.release()
            return Accepted(slot.seen(), slot.seen())
        before = [slot.run]
        enqueue = partial(self._decide, slot, command, key, before)
        # Until the journal has settled it no other command of this run is decided: what it
        # gives up must leave no hole in the numbers.
        await self._ledger.commit(enqueue, settled=slot.turn.release)
        return Accepted(before[0], slot.seen())

    def _decide(
        self, slot: Slot, command: c.RunCommand, key: str | None, before: list[Run], done: Done
    ) -> None:
        """Decide and put in line, without a wait between the two."""
        before[0] = slot.run
        # Of a worker that is being told to stop, nothing more is asked: to many a program a second
        # TERM means to drop what it is cleaning up.
        told = isinstance(command, c.CancelRun) and _is_told_to_stop(slot)
        verdict = Verdict(slot.run) if told else decide(slot.run, command)
        self._check_heard(slot.run, command)
        if isinstance(command, c.SendInput):
            self._check_room(slot, len(command.data))
        if verdict.order and len(slot.orders) >= self._limits.run_orders:
            raise ResourceExhausted(
                f"run {slot.run.id} has {len(slot.orders)} unconfirmed commands, which is the "
                "limit; wait until its worker confirms some"
            )
        if isinstance(command, c.SupplyScript):
            verdict = attrs.evolve(verdict, run=self._route(verdict.run))
        if verdict.run is slot.run and not verdict.events and key is None:
            done(None)
        else:
            self._enqueue(slot, command, verdict, key, done)

    def _enqueue(
        self, slot: Slot, command: c.RunCommand, verdict: Verdict, key: str | None, done: Done
    ) -> None:
        """The slot counts the command as given from here on; where the journal gives it up,
        slot and row go back."""
        before = slot.run
        slot.run = verdict.run
        order = _order(slot.run, command, self._ledger.clock()) if verdict.order else None

        def durable() -> None:
            self._remember(slot, key)
            if order is not None:
                slot.orders[order.number] = OpenOrder(order, sent=False)
                self._dispatcher.advance(slot)
            if isinstance(command, c.SupplyScript):
                self._dispatcher.line_up(slot)
            done(None)

        def committed(error: Exception | None) -> None:
            if error is None:
                slot.visible = _as_given(slot.visible, verdict.run)
                durable()
            else:
                slot.run = _as_given(slot.run, before)
                self._ledger.put(slot)
                done(error)
            self._ledger.put_done(slot)

        writes = [*self._key_writes(slot, key)]
        writes += () if order is None else (PutOrder(order),)
        try:
            if verdict.events:
                self._ledger.record(slot, verdict.events, also=writes, then=durable)
            else:
                row = PutRun(slot.written())
                self._ledger.journal.enqueue((row, *writes), committed, may_fail=True)
                slot.puts += 1
        except ValueError:  # a journal cannot hold it: nothing was put in line
            slot.run = before
            raise

    def _key_writes(self, slot: Slot, key: str | None) -> Iterator[Write]:
        """The key is durable with what its command does, and the oldest one makes room for it."""
        if key is None:
            return
        yield PutKey(slot.run.id, key, slot.run.orders)
        for oldest in self._too_old(slot):
            yield PutKey(slot.run.id, oldest, None)

    def _too_old(self, slot: Slot) -> list[str]:
        """The keys that one more leaves no room for."""
        return list(islice(slot.keys, max(0, len(slot.keys) + 1 - self._limits.run_keys)))

    def _remember(self, slot: Slot, key: str | None) -> None:
        if key is not None:
            for oldest in self._too_old(slot):
                del slot.keys[oldest]
            slot.keys[key] = slot.run.orders


def _is_told_to_stop(slot: Slot) -> bool:
    return any(isinstance(open_.order.command, c.CancelRun) for open_ in slot.orders.values())


def _as_given(run: Run, given: Run) -> Run:
    """`run` with the members that commands change, and no event does, as in `given`."""
    return attrs.evolve(
        run,
        spec=given.spec,
        pool=given.pool,
        routed=given.routed,
        inputs=given.inputs,
        input_closed=given.input_closed,
        orders=given.orders,
        canceling=given.canceling,
    )


def _order(run: Run, command: c.RunCommand, now: int) -> c.Order:
    is_input = isinstance(command, c.SendInput | c.CloseInput)
    return c.Order(run.id, run.orders, command, run.inputs if is_input else 0, now)
