"""Hypothesis strategies for the values of this room, for whoever tests with them.

A strategy draws every kind and every member, so that a translation or a record
proven with it is proven total. Only it, `drawn.py` and `drawing.py` import Hypothesis:
importing `fleetgate.core` never needs it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, cast, get_args

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.drawn import LARGEST as LARGEST
from fleetgate.core.drawn import counts as counts
from fleetgate.core.drawn import json_objects as json_objects
from fleetgate.core.drawn import json_values as json_values
from fleetgate.core.drawn import once, perhaps
from fleetgate.core.drawn import texts as texts
from fleetgate.core.drawn import words as words
from fleetgate.core.errors import IllegalTransition
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq, SessionId, WorkerId
from fleetgate.core.json import Json
from fleetgate.core.run import Run, evolve, start

TERMINAL: Final = tuple(state for state in e.RunState if state.terminal)
LIVE: Final = tuple(state for state in e.RunState if not state.terminal)


# --- identifiers


@once
def _pairs() -> SearchStrategy[str]:
    return st.tuples(words(), words()).map("/".join)


@once
def run_ids() -> SearchStrategy[RunId]:
    """Run ids as the gateway scopes them: the entry, `/`, the peer's own id."""
    return _pairs().map(RunId)


@once
def session_ids() -> SearchStrategy[SessionId]:
    """Session ids."""
    return words().map(SessionId)


@once
def worker_ids() -> SearchStrategy[WorkerId]:
    """Worker ids: the pool, `/`, the worker's own name."""
    return _pairs().map(WorkerId)


@once
def seqs() -> SearchStrategy[Seq]:
    """Numbers of events, from 1."""
    return st.integers(1, LARGEST).map(Seq)


@once
def epochs() -> SearchStrategy[Epoch]:
    """Epochs, from 1."""
    return st.integers(1, LARGEST).map(Epoch)


# --- events


@once
def outcomes() -> SearchStrategy[e.Outcome]:
    """Every terminal state with every reason, also those that no worker of ours pairs."""
    return st.builds(
        e.Outcome,
        state=st.sampled_from(TERMINAL),
        reason=st.sampled_from(e.Reason),
        message=texts(),
        exit_code=perhaps(st.integers(-(1 << 31), (1 << 31) - 1)),
        signal=perhaps(st.sampled_from(["SIGTERM", "SIGKILL", "SIGINT"])),
        text=perhaps(texts()),
        native=json_values(),
    )


_EVENTS: Final[Mapping[type, Callable[[], SearchStrategy[Any]]]] = MappingProxyType(
    {
        e.RunAssigned: lambda: st.builds(e.RunAssigned, worker_ids(), epochs()),
        e.RunStarted: lambda: st.builds(e.RunStarted, perhaps(st.integers(1, (1 << 31) - 1))),
        e.SessionOpened: lambda: st.builds(e.SessionOpened, texts(), perhaps(texts())),
        e.TextProduced: lambda: st.builds(e.TextProduced, texts()),
        e.ReasoningProduced: lambda: st.builds(e.ReasoningProduced, texts()),
        e.OutputProduced: lambda: st.builds(
            e.OutputProduced, st.sampled_from(e.Stream), st.binary(max_size=40), counts()
        ),
        e.MessageEnded: lambda: st.just(e.MessageEnded()),
        e.ToolCalled: lambda: st.builds(e.ToolCalled, texts(), json_values(), perhaps(texts())),
        e.ToolProgressed: lambda: st.builds(e.ToolProgressed, texts(), perhaps(texts())),
        e.ToolReturned: lambda: st.builds(
            e.ToolReturned, texts(), perhaps(st.booleans()), perhaps(texts())
        ),
        e.ApprovalRequested: lambda: st.builds(
            e.ApprovalRequested, words(), texts(), json_values()
        ),
        e.ApprovalResolved: lambda: st.builds(
            e.ApprovalResolved, words(), st.sampled_from(e.Decision), perhaps(texts())
        ),
        e.InputAccepted: lambda: st.builds(e.InputAccepted, counts()),
        e.UsageReported: lambda: st.builds(
            e.UsageReported, perhaps(counts()), perhaps(counts()), json_values()
        ),
        e.RateLimited: lambda: st.builds(e.RateLimited, json_values()),
        e.HistoryCompacted: lambda: st.builds(e.HistoryCompacted, json_values()),
        e.CommandsListed: lambda: st.builds(e.CommandsListed, json_values()),
        e.StateChanged: lambda: st.builds(e.StateChanged, st.sampled_from(LIVE), texts()),
        e.Diagnosed: lambda: st.builds(e.Diagnosed, texts(), words() | st.just("")),
        e.GapFound: lambda: st.builds(e.GapFound, counts(), counts(), texts()),
        e.RunFinished: lambda: st.builds(e.RunFinished, outcomes()),
    }
)
EVENT_KINDS: Final[tuple[type[e.Event], ...]] = get_args(e.Event)


@once
def events(*kinds: type[e.Event]) -> SearchStrategy[e.Event]:
    """Events of every kind, or of the kinds given. `StateChanged` is never to an end."""
    return st.one_of([_EVENTS[kind]() for kind in kinds or EVENT_KINDS])


@once
def sources() -> SearchStrategy[e.Source]:
    """Where a worker's event came from."""
    numbers, times = perhaps(counts()), perhaps(counts())
    return st.builds(e.Source, epochs(), numbers, times, perhaps(json_objects()))


@once
def recorded(event: SearchStrategy[e.Event] | None = None) -> SearchStrategy[e.Recorded]:
    """One event with its place."""
    event = events() if event is None else event
    return st.builds(e.Recorded, run_ids(), seqs(), counts(), event, perhaps(sources()))


@once
def _walks(max_size: int) -> SearchStrategy[list[e.Event]]:
    """Events to try one after the other. Most walks leave the queue at once: hardly an
    event is legal in it."""
    anything = st.lists(events(), max_size=max_size)
    if max_size == 0:
        return anything
    working = events(*(kind for kind in EVENT_KINDS if kind is not e.RunFinished))
    last = events(e.RunFinished) | events(e.StateChanged, e.ApprovalRequested)
    usual = st.tuples(
        events(e.RunAssigned).map(lambda event: [event]),
        st.lists(working, max_size=max(0, max_size - 2)),
        st.lists(last, max_size=min(1, max_size - 1)),
    ).map(lambda parts: [*parts[0], *parts[1], *parts[2]])
    return usual | anything


@once
@st.composite
def histories(draw: DrawFn, *, max_size: int = 10) -> tuple[e.Recorded, ...]:
    """Events of one run as a journal would hold them: 1, 2, 3… in order of time, each of
    them legal after those before it."""
    at = draw(runs(max_size=0))
    found: list[e.Recorded] = []
    for event in draw(_walks(max_size)):
        try:
            at = evolve(at, event)
        except IllegalTransition:
            continue
        seq = Seq(len(found) + 1)
        source = draw(perhaps(perhaps(counts()).map(partial(e.Source, Epoch(1), seq))))
        found.append(e.Recorded(at.id, seq, at.created + seq, event, source))
    return tuple(found)


# --- commands


@once
def prompts() -> SearchStrategy[c.Prompt]:
    """Prompts."""
    return st.builds(
        c.Prompt,
        text=texts(),
        system=perhaps(texts()),
        provider=words() | st.just(""),
        model=words() | st.just(""),
        effort=perhaps(words()),
        extra_thinking=perhaps(st.booleans()),
        messages=st.lists(
            st.fixed_dictionaries({"role": words(), "content": texts()}), max_size=2
        ).map(lambda found: cast("tuple[Json, ...]", tuple(found))),
    )


@once
@st.composite
def scripts(draw: DrawFn, *, supplied: bool | None = None) -> c.Script:
    """Scripts whose size and digest are right; `supplied` says whether the data is there."""
    data = draw(st.binary(max_size=40))
    there = draw(st.booleans()) if supplied is None else supplied
    return c.Script(
        size=len(data),
        sha256=hashlib.sha256(data).digest(),
        args=tuple(draw(st.lists(texts(), max_size=2))),
        data=data if there else None,
    )


@once
@st.composite
def shell_commands(draw: DrawFn) -> c.ShellCommand:
    """Commands for a host: exactly one of line, argv, script."""
    what = draw(
        st.fixed_dictionaries({"line": texts()})
        | st.fixed_dictionaries({"argv": st.lists(texts(), min_size=1, max_size=3).map(tuple)})
        | st.fixed_dictionaries({"script": scripts()})
    )
    shells = ["", "none", "sh", "bash", "zsh", "powershell", "pwsh", "cmd"]
    return c.ShellCommand(
        **cast("dict[str, Any]", what),
        shell=draw(st.sampled_from(shells)),
        cwd=draw(texts()),
        stdin=draw(perhaps(st.binary(max_size=40))),
        merge_stderr=draw(st.booleans()),
    )


@once
def inputs() -> SearchStrategy[c.Input]:
    """What a run starts from, of every kind."""
    calls = st.builds(c.ToolCall, words(), json_values())
    return prompts() | shell_commands() | calls


@once
def specs(given: SearchStrategy[c.Input] | None = None) -> SearchStrategy[c.RunSpec]:
    """What a run is asked to be, with every member."""
    named = st.dictionaries(words(), texts(), max_size=3)
    return st.builds(
        c.RunSpec,
        input=inputs() if given is None else given,
        workspace=st.lists(texts(), max_size=2).map(tuple),
        environment=named,
        timeout=perhaps(st.integers(1, LARGEST)),
        expires=perhaps(counts()),
        permission=st.sampled_from(["", "read_only", "plan", "edit", "auto", "bypass"]),
        approvals=st.booleans(),
        interactive=st.booleans(),
        background=st.booleans(),
        session=perhaps(session_ids()),
        resume=perhaps(texts()),
        labels=named,
        announce=st.booleans(),
        metadata=json_objects(),
        native=json_objects(),
    )


@once
def origins() -> SearchStrategy[c.Origin]:
    """Who asked."""
    return st.builds(c.Origin, words(), words())


@once
def run_commands(run: SearchStrategy[RunId] | None = None) -> SearchStrategy[c.RunCommand]:
    """Commands about one run, of every kind."""
    run = run_ids() if run is None else run
    return st.one_of(
        st.builds(c.StartRun, run, specs(), origins()),
        st.builds(c.SupplyScript, run, st.binary(max_size=40)),
        st.builds(c.SendInput, run, st.binary(max_size=40), st.booleans()),
        st.builds(c.CloseInput, run),
        st.builds(c.SignalRun, run, st.sampled_from(c.Signal)),
        st.builds(c.CancelRun, run, st.sampled_from(c.CancelScope), texts()),
        st.builds(c.ResolveApproval, run, words(), st.sampled_from(e.Decision), perhaps(texts())),
        st.builds(c.ResizeTerminal, run, st.integers(1, 10_000), st.integers(1, 10_000)),
    )


@once
def commands() -> SearchStrategy[c.Command]:
    """Commands of every kind."""
    return st.one_of(
        run_commands(),
        st.builds(c.StartRunIf, st.builds(c.StartRun, run_ids(), specs(), origins())),
        *(st.builds(kind, words()) for kind in (c.ReadUsage, c.ProbeWorkers, c.LimitLink)),
        st.builds(c.EndSession, session_ids()),
        st.builds(c.DrainWorker, worker_ids(), st.booleans()),
        st.builds(c.StopLink, words(), st.sampled_from(c.StopMode)),
        st.builds(c.AcknowledgeRun, run_ids(), counts()),
        st.builds(c.DescribeRun, run_ids()),
        st.builds(c.ListRuns, perhaps(words()), *[st.booleans()] * 2, words(), perhaps(counts())),
        st.builds(c.ListWorkers, perhaps(st.tuples(worker_ids()))),
    )


@once
@st.composite
def orders(draw: DrawFn) -> c.Order:
    """Orders; only inputs have an input number."""
    command = draw(run_commands())
    takes_input = isinstance(command, c.SendInput | c.CloseInput)
    return c.Order(
        run=command.run,
        number=OrderNumber(draw(counts())),
        command=command,
        input=draw(st.integers(1, LARGEST)) if takes_input else 0,
    )


# --- runs


@once
@st.composite
def runs(draw: DrawFn, *, max_size: int = 8) -> Run:
    """Runs as they stand after up to `max_size` legal events: every state can be reached."""
    created = draw(st.integers(0, LARGEST // 2))
    run = start(c.StartRun(draw(run_ids()), draw(specs()), draw(origins())), created).run
    for event in draw(_walks(max_size)):
        try:
            after = evolve(run, event)
        except IllegalTransition:
            continue
        run = attrs.evolve(after, last_seq=Seq(run.last_seq + 1))
    return attrs.evolve(
        run,
        native_seq=draw(counts()),
        clock=draw(counts()),
        accepted=draw(st.booleans()),
        acknowledged=Seq(draw(st.integers(0, run.last_seq))),
        ended=run.created + run.last_seq if run.state.terminal else 0,
        notes=draw(json_objects()),
    )
