"""The hub's limits: each with a name, a unit, a reason, and what happens at it."""

from __future__ import annotations

import attrs

from fleetgate.core.times import SECOND


@attrs.frozen(slots=True)
class Limits:
    """Durations are nanoseconds."""

    open_runs: int = 100_000
    """Runs that have not ended. At it a start is refused `resource_exhausted`. A slot in
    memory takes a few kilobytes, so this bounds them to some hundred megabytes."""

    run_orders: int = 10_000
    """Orders of one run that its worker has not confirmed. At it a further command is
    refused `resource_exhausted`."""

    run_keys: int = 10_000
    """Command keys that a run remembers, here and in the journal; beyond it the oldest is
    forgotten, and a command that repeats that one is a new command. Peers repeat what they have
    not had an answer to."""

    workers: int = 100_000
    """Workers that are known, here or away. At it a new one is refused `resource_exhausted`.
    Their epochs are never forgotten, and some protocols let peers name themselves."""

    run_input: int = 16 << 20
    """Bytes of one run's inputs that its worker has not confirmed. At it a further input is
    refused `resource_exhausted`: sixteen of the largest frames, as for a script."""

    order_size: int = (1 << 20) - 1024
    """Bytes of one input. Above it, `invalid_argument`: the smallest frames of any protocol
    end at 1 MiB, with what stands around the input in them."""

    answer_within: int = 10 * SECOND
    """How long a command about one run waits, for those before it and for its commit together,
    before it is answered `unavailable`: longer than a busy disk takes, shorter than the peers'
    own patience (15 s and 30 s)."""

    ask_within: int = 20 * SECOND
    """How long a worker may take to answer a question before it counts as `unavailable`."""

    lost_after: int = 24 * 3600 * SECOND
    """How long runs wait for a worker: for theirs that is away, where its protocol sets no grace
    of its own, before they are `lost`; for any at all before they expire. An accepted run always
    ends (I5)."""

    keep_ended: int | None = None
    """How long a run that has ended, and whose controller has acknowledged its last event, is
    kept; then it is forgotten. None: for good. Its id is free again from then on (I6)."""

    keep_unacknowledged: int | None = None
    """The same for one whose controller has not, as none does whose protocol has no word for
    that. None: for good."""

    journal_size: int | None = None
    """Bytes of the journal. Above it runs as of `keep_ended` are forgotten before their time, those
    that ended first; where none is left a start is refused `resource_exhausted`, and runs
    that are open go on. None: no limit."""

    end_margin: int = 30 * SECOND
    """How long after its timeout a run may take to end at a worker before the hub ends it:
    a process is given 10 s after TERMINATE, and links have delays."""
