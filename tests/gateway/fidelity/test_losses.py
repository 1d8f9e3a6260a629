"""What does not arrive as it was said."""

from __future__ import annotations

from fleetgate.gateway.fidelity.kept import kept
from fleetgate.gateway.fidelity.losses import Fates, Losses, losses
from fleetgate.gateway.fidelity.verdict import Verdict

YES, TURNED, GONE, MADE_UP = (
    Verdict.CARRIED,
    Verdict.CONVERTED,
    Verdict.DROPPED,
    Verdict.SYNTHESISED,
)
TABLE = {
    "ToolCalled": {"a>b": GONE},
    "ToolCalled.name": {"a>b": GONE},
    "ToolReturned": {"a>b": TURNED},
    "ToolReturned.ok": {"a>b": GONE},
    "RunFinished": {"a>b": YES, "a>c": YES},
    "RunFinished.state": {"a>b": YES},
    "RunFinished.signal": {"a>b": GONE},
    "RunFinished.message": {"a>b": MADE_UP},
    "RunAssigned (unsaid)": {"a>b": MADE_UP},
    "SendInput": {"a>b": GONE},
    "CancelRun": {"a>b": YES},
    "CancelRun.reason": {"a>b": TURNED},
    "RunSpec.labels": {"a>b": GONE},
    "Prompt.text": {"a>b": TURNED},
}


def test_events_orders_and_requests_are_told_apart_and_a_kind_speaks_for_its_members() -> None:
    found = losses(TABLE, "a", "b")
    assert found == Losses(
        events=Fates(
            ("ToolReturned",),
            ("RunFinished.signal", "ToolCalled"),
            ("RunAssigned (unsaid)", "RunFinished.message"),
        ),
        orders=Fates(("CancelRun.reason",), ("SendInput",)),
        requests=Fates(("Prompt.text",), ("RunSpec.labels",)),
    )
    assert found.events.members() == {"RunFinished": ["signal"]}


def test_nothing_lost_and_nothing_measured_are_two_things() -> None:
    assert losses(TABLE, "a", "c") == Losses(Fates(), Fates(), Fates())
    assert losses(TABLE, "b", "a") is None


def test_every_row_that_was_measured_is_of_one_of_the_three() -> None:
    """A kind that is renamed in the core would else count as a part of the request."""
    for column in {column for row in kept().values() for column in row if ">" in column}:
        north, _, south = column.partition(">")
        found = losses(kept(), north, south)
        assert found is not None
        named = [*found.requests.converted, *found.requests.dropped, *found.requests.synthesised]
        assert {name.partition(".")[0] for name in named} <= {
            "Prompt",
            "RunSpec",
            "ShellCommand",
            "ToolCall",
        }
