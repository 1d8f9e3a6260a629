"""Hypothesis strategies for the values of this room, for whoever tests with them.

A strategy draws every kind and every member, so that a translation or a record
proven with it is proven total. Only it and `drawing.py` import Hypothesis: importing
`fleetgate.core` never needs it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast, get_args

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import IllegalTransition
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq, SessionId, WorkerId
from fleetgate.core.json import Json
from fleetgate.core.run import Run, evolve, start

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

LARGEST: Final = (1 << 63) - 1
"""Instants, counts and native numbers are 63-bit everywhere: SQLite holds no more."""

TERMINAL: Final = tuple(state for state in e.RunState if state.terminal)
LIVE: Final = tuple(state for state in e.RunState if not state.terminal)


def _once(make: F) -> F:
    """Build each strategy once. Building one costs more than drawing from it."""
    return cast("F", cache(make))


# --- builtins


@_once
def texts(*, min_size: int = 0, max_size: int = 40) -> SearchStrategy[str]:
    """Text that has a UTF-8 form: no lone surrogates, but every other character."""
    return st.text(st.characters(exclude_categories=["Cs"]), min_size=min_size, max_size=max_size)


@_once
def words(max_size: int = 12) -> SearchStrategy[str]:
    """Short names of letters, digits, `_`, `-` and `.`, never empty."""
    return st.text("abcxyzABZ019_-.", min_size=1, max_size=max_size)


@_once
def counts() -> SearchStrategy[int]:
    """How many of something, or Unix nanoseconds."""
    return st.integers(0, LARGEST)


@_once
def json_values(depth: int = 2) -> SearchStrategy[Json]:
    """JSON of every shape, nested up to `depth`: text keys, integers of any size, finite floats."""
    leaf: SearchStrategy[Any] = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        texts(max_size=12),
    )
    if depth == 0:
        return leaf
    inner = json_values(depth - 1)
    return st.one_of(
        leaf,
        st.lists(inner, max_size=3),
        st.dictionaries(texts(max_size=8), inner, max_size=3),
    )


@_once
def json_objects() -> SearchStrategy[Mapping[str, Json]]:
    """JSON objects."""
    return st.dictionaries(texts(max_size=8), json_values(1), max_size=2)


def _perhaps(strategy: SearchStrategy[T]) -> SearchStrategy[T | None]:
    return st.none() | strategy


# --- identifiers


@_once
def _pairs() -> SearchStrategy[str]:
    return st.tuples(words(), words()).map("/".join)


@_once
def run_ids() -> SearchStrategy[RunId]:
    """Run ids as the gateway scopes them: the entry, `/`, the peer's own id."""
    return _pairs().map(RunId)


@_once
def session_ids() -> SearchStrategy[SessionId]:
    """Session ids."""
    return words().map(SessionId)


@_once
def worker_ids() -> SearchStrategy[WorkerId]:
    """Worker ids: the pool, `/`, the worker's own name."""
    return _pairs().map(WorkerId)


@_once
def seqs() -> SearchStrategy[Seq]:
    """Numbers of events, from 1."""
    return st.integers(1, LARGEST).map(Seq)


@_once
def epochs() -> SearchStrategy[Epoch]:
    """Epochs, from 1."""
    return st.integers(1, LARGEST).map(Epoch)


# --- events


@_once
def outcomes() -> SearchStrategy[e.Outcome]:
    """Every terminal state with every reason, also those that no worker of ours pairs."""
    return st.builds(
        e.Outcome,
        state=st.sampled_from(TERMINAL),
        reason=st.sampled_from(e.Reason),
        message=texts(),
        exit_code=_perhaps(st.integers(-(1 << 31), (1 << 31) - 1)),
        signal=_perhaps(st.sampled_from(["SIGTERM", "SIGKILL", "SIGINT"])),
        text=_perhaps(texts()),
        native=json_values(),
    )


_EVENTS: Final[Mapping[type, Callable[[], SearchStrategy[Any]]]] = MappingProxyType(
    {
        e.RunAssigned: lambda: st.builds(e.RunAssigned, worker_ids(), epochs()),
        e.RunStarted: lambda: st.builds(e.RunStarted, _perhaps(st.integers(1, (1 << 31) - 1))),
        e.SessionOpened: lambda: st.builds(e.SessionOpened, texts(), _perhaps(texts())),
        e.TextProduced: lambda: st.builds(e.TextProduced, texts()),
        e.ReasoningProduced: lambda: st.builds(e.ReasoningProduced, texts()),
        e.OutputProduced: lambda: st.builds(
            e.OutputProduced, st.sampled_from(e.Stream), st.binary(max_size=40), counts()
        ),
        e.MessageEnded: lambda: st.just(e.MessageEnded()),
        e.ToolCalled: lambda: st.builds(e.ToolCalled, texts(), json_values(), _perhaps(texts())),
        e.ToolProgressed: lambda: st.builds(e.ToolProgressed, texts(), _perhaps(texts())),
        e.ToolReturned: lambda: st.builds(
            e.ToolReturned, texts(), _perhaps(st.booleans()), _perhaps(texts())
        ),
        e.ApprovalRequested: lambda: st.builds(
            e.ApprovalRequested, words(), texts(), json_values()
        ),
        e.ApprovalResolved: lambda: st.builds(
            e.ApprovalResolved, words(), st.sampled_from(e.Decision), _perhaps(texts())
        ),
        e.InputAccepted: lambda: st.builds(e.InputAccepted, counts()),
        e.UsageReported: lambda: st.builds(
            e.UsageReported, _perhaps(counts()), _perhaps(counts()), json_values()
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


@_once
def events(*kinds: type[e.Event]) -> SearchStrategy[e.Event]:
    """Events of every kind, or of the kinds given. `StateChanged` is never to an end."""
    return st.one_of([_EVENTS[kind]() for kind in kinds or EVENT_KINDS])


@_once
def sources() -> SearchStrategy[e.Source]:
    """Where a worker's event came from."""
    return st.builds(e.Source, epochs(), _perhaps(counts()))


@_once
def recorded(event: SearchStrategy[e.Event] | None = None) -> SearchStrategy[e.Recorded]:
    """One event with its place."""
    event = events() if event is None else event
    return st.builds(e.Recorded, run_ids(), seqs(), counts(), event, _perhaps(sources()))


@_once
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


@_once
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
        source = draw(_perhaps(_perhaps(counts()).map(partial(e.Source, Epoch(1), seq))))
        found.append(e.Recorded(at.id, seq, at.created + seq, event, source))
    return tuple(found)


# --- commands


@_once
def prompts() -> SearchStrategy[c.Prompt]:
    """Prompts."""
    return st.builds(
        c.Prompt,
        text=texts(),
        system=_perhaps(texts()),
        provider=words() | st.just(""),
        model=words() | st.just(""),
        effort=_perhaps(words()),
        extra_thinking=_perhaps(st.booleans()),
        messages=st.lists(
            st.fixed_dictionaries({"role": words(), "content": texts()}), max_size=2
        ).map(lambda found: cast("tuple[Json, ...]", tuple(found))),
    )


@_once
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


@_once
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
        stdin=draw(_perhaps(st.binary(max_size=40))),
        merge_stderr=draw(st.booleans()),
    )


@_once
def inputs() -> SearchStrategy[c.Input]:
    """What a run starts from, of every kind."""
    calls = st.builds(c.ToolCall, words(), json_values())
    return prompts() | shell_commands() | calls


@_once
def specs(given: SearchStrategy[c.Input] | None = None) -> SearchStrategy[c.RunSpec]:
    """What a run is asked to be, with every member."""
    named = st.dictionaries(words(), texts(), max_size=3)
    return st.builds(
        c.RunSpec,
        input=inputs() if given is None else given,
        workspace=st.lists(texts(), max_size=2).map(tuple),
        environment=named,
        timeout=_perhaps(st.integers(1, LARGEST)),
        expires=_perhaps(counts()),
        permission=st.sampled_from(["", "read_only", "plan", "edit", "auto", "bypass"]),
        approvals=st.booleans(),
        interactive=st.booleans(),
        background=st.booleans(),
        session=_perhaps(session_ids()),
        resume=_perhaps(texts()),
        labels=named,
        announce=st.booleans(),
        metadata=json_objects(),
        native=json_objects(),
    )


@_once
def origins() -> SearchStrategy[c.Origin]:
    """Who asked."""
    return st.builds(c.Origin, words(), words())


@_once
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
        st.builds(c.ResolveApproval, run, words(), st.sampled_from(e.Decision), _perhaps(texts())),
        st.builds(c.ResizeTerminal, run, st.integers(1, 10_000), st.integers(1, 10_000)),
    )


@_once
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
        st.builds(c.ListRuns, _perhaps(words()), *[st.booleans()] * 2, words(), _perhaps(counts())),
        st.builds(c.ListWorkers),
    )


@_once
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


@_once
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
        accepted=draw(st.booleans()),
        acknowledged=Seq(draw(st.integers(0, run.last_seq))),
        ended=run.created + run.last_seq if run.state.terminal else 0,
        notes=draw(json_objects()),
    )
