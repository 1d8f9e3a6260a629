"""Identifiers. Distinct types, so that a checker refuses one in place of another."""

from typing import NewType

RunId = NewType("RunId", str)
"""A run, for the life of the journal. A peer's own run id is scoped to its link first (I12)."""

SessionId = NewType("SessionId", str)
"""A conversation that several runs may continue."""

WorkerId = NewType("WorkerId", str)
"""A worker: the southbound entry's name, then `/` and the name the protocol gives it."""

Seq = NewType("Seq", int)
"""A position in a run's event sequence: 1, 2, 3…; 0 stands before the first event."""

Epoch = NewType("Epoch", int)
"""One connection of one worker: 1, 2, 3…, durable. An older epoch is fenced (I7)."""

OrderNumber = NewType("OrderNumber", int)
"""A position among the orders given to a run's worker: 1, 2, 3…; 0 is the start itself."""
