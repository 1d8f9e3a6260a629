"""Answers about many runs, providers or accounts, made of what the core says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from fleetgate.core.answers import Accepted, Answer
from fleetgate.core.errors import Refusal, RunNotFound
from fleetgate.core.ids import RunId
from fleetgate.core.run import Run
from fleetgate.core.worker import AccountReport, ProviderReport
from fleetgate.protocols.agency import refusals, wire
from fleetgate.protocols.agency.encode import snapshot_size
from fleetgate.protocols.agency.translate import (
    provider_of,
    to_account,
    to_provider,
    to_snapshot,
)

_LIST_ENVELOPE: Final = 128
"""What a list of runs takes beside the runs, in bytes, its request id of 20 digits included."""


SMALLEST_SNAPSHOT: Final = 128
"""What a run takes in a list at the least, in bytes."""

MOST_LISTED: Final = wire.MAX_TEXT // SMALLEST_SNAPSHOT
"""Runs that have ended and may be in a list: more of them fit into no frame."""


def run_in(answer: Answer) -> Run | Refusal:
    """The run that a question about one is answered with."""
    if isinstance(answer, Accepted) and answer.run is not None:
        return answer.run
    return answer if isinstance(answer, Refusal) else RunNotFound("no run in the answer")


def unexpected(answer: Answer) -> wire.Error:
    """The error for a question that got no answer of its kind: it was refused."""
    if isinstance(answer, Refusal):
        return refusals.refused(answer)
    return refusals.not_controlled("the gateway has no answer")


def fitting(runs: Sequence[Run]) -> Sequence[Run]:
    """The runs without those that ended first, as many as it takes to fit into one frame."""
    sizes = {run.id: snapshot_size(to_snapshot(run)) for run in runs}
    over = sum(sizes.values()) + _LIST_ENVELOPE - wire.MAX_TEXT
    if over <= 0:
        return runs
    gone: set[RunId] = set()
    for run in sorted(runs, key=lambda run: run.ended):
        if over > 0 and run.state.terminal:
            over -= sizes[run.id]
            gone.add(run.id)
    return [run for run in runs if run.id not in gone]


def providers(names: Iterable[str], reports: Iterable[ProviderReport]) -> wire.Providers:
    """What the workers report of each provider that a start may name; one that nobody reports
    on counts as not installed, as a client expects to hear of each."""
    said = {report.provider: report for report in reports}
    return wire.Providers(tuple(to_provider(said.get(n, _unreported(n))) for n in names))


def accounts(names: Iterable[str], reports: Iterable[AccountReport]) -> wire.AccountUsage:
    """What the workers report of each provider that a start may name."""
    said = {report.provider: report for report in reports}
    unknown = (AccountReport(name, supported=False) for name in names)
    return wire.AccountUsage(tuple(to_account(said.get(u.provider, u)) for u in unknown))


def _unreported(name: str) -> ProviderReport:
    return ProviderReport(
        name, installed=False, detail="no worker behind this gateway reports on it"
    )


def in_session(run: Run, message: wire.InterruptSession) -> bool:
    """Whether the run belongs to the provider's session that a client wants interrupted."""
    sessions = (run.native_session, run.spec.resume)
    return message.session_id in sessions and provider_of(run) == message.provider
