"""What an operator may ask of a running gateway, and how it is answered.

| request | answer |
|---|---|
| `GET /v1/status` | the gateway as a whole |
| `GET /v1/workers` | the workers that are known |
| `GET /v1/runs?link=&open=1&after=&limit=` | runs, by id, a page at a time |
| `POST /v1/runs` | start one: `run` (its name, optional) and a spec |
| `GET /v1/runs/RUN` | one run |
| `GET /v1/runs/RUN/events?after=&follow=1` | its events, a JSON object a line |
| `GET /v1/runs/RUN/life?seq=&payload=1` | how far its events are, or the way of one |
| `POST /v1/runs/RUN/input` | `text` or `data_base64`, `newline` |
| `POST /v1/runs/RUN/close` | end its input |
| `POST /v1/runs/RUN/signal` | `signal` |
| `POST /v1/runs/RUN/cancel` | `scope`, `reason` |
| `POST /v1/runs/RUN/approve` | `approval`, `decision`, `value` |
| `POST /v1/workers/WORKER/drain` | `on` |
| `POST /v1/drain` | drain the gateway, as SIGTERM does |

`RUN` and `WORKER` are percent-encoded, since ids hold `/`. Commands about a run take `key`
beside the rest: a repeated key is not performed again. An error is
`{"error": {"code": …, "message": …}}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted, Answer, RunList, WorkerList
from fleetgate.core.errors import InvalidArgument, Refusal
from fleetgate.core.events import RunFinished
from fleetgate.core.follow import Follower
from fleetgate.core.ids import RunId, Seq, WorkerId
from fleetgate.core.ladder import Ladders
from fleetgate.core.passages import SENT, Point
from fleetgate.core.routing import OPERATOR
from fleetgate.core.run import Run
from fleetgate.gateway.admin import bodies
from fleetgate.gateway.admin.http import Reply, Request, Send, Stream, error_reply
from fleetgate.gateway.admin.life import event_life, ladder_line, run_life
from fleetgate.gateway.config_reader import nearest
from fleetgate.gateway.render import Line, encode, event_line, run_line, worker_line
from fleetgate.protocols.json_text import Malformed, load

PAGE: Final = 500
"""Runs of one answer: a few hundred kilobytes."""

READERS: Final[Point] = (SENT, OPERATOR, "the admin socket")
"""What operators read, whoever they are."""

STATUSES: Final[Mapping[str, int]] = {
    "invalid_argument": 400,
    "not_found": 404,
    "session_not_found": 404,
    "worker_not_found": 404,
    "approval_not_found": 404,
    "conflict": 409,
    "run_ended": 409,
    "fenced": 409,
    "instance_conflict": 409,
    "not_allowed": 403,
    "unsupported_input": 422,
    "not_accepted": 422,
    "no_route": 422,
    "resource_exhausted": 429,
    "worker_failed": 502,
    "unavailable": 503,
    "stopping": 503,
}
"""The HTTP status of each refusal."""


class HubPort(Protocol):
    """What of the hub is needed here."""

    async def submit(self, command: c.Command, key: str | None = None) -> Answer:
        """As `Hub.submit`."""
        ...

    def follow(self, run: RunId, after: Seq) -> Follower:
        """As `Hub.follow`."""
        ...

    @property
    def ladders(self) -> Ladders:
        """As `Hub.ladders`."""
        ...


class Api:
    """Answers operators' requests. `status` gives the gateway's own part of an answer,
    `drain` has it drained and ended, `new_name` names a run that was given no name."""

    def __init__(
        self,
        hub: HubPort,
        status: Callable[[], Line],
        drain: Callable[[], None],
        new_name: Callable[[], str],
    ) -> None:
        self._hub = hub
        self._status = status
        self._drain = drain
        self._new_name = new_name

    async def handle(self, request: Request) -> Reply | Stream:
        """Answer a request. Refusals become typed errors."""
        try:
            return await self._route(request)
        except Refusal as refusal:
            return error_reply(STATUSES[refusal.code], refusal.code, refusal.message)

    async def _route(self, request: Request) -> Reply | Stream:
        match (request.method, *request.path):
            case ("GET", "v1", "status"):
                return Reply(self._status())
            case ("GET", "v1", "workers"):
                return await self._workers()
            case ("GET", "v1", "runs"):
                return await self._runs(request.query)
            case ("GET", "v1", "runs", run):
                return Reply({"run": self._line(await self._run(RunId(run)))})
            case ("GET", "v1", "runs", run, "life"):
                return await self._life(RunId(run), request.query)
            case ("GET", "v1", "runs", run, "events"):
                return await self._events(RunId(run), request.query)
            case ("POST", "v1", *rest):
                return await self._post(rest, read_body(request))
            case _:
                return _unknown(request)

    async def _post(self, path: list[str], body: Mapping[str, Any]) -> Reply:
        match path:
            case ["runs"]:
                return await self._start(body)
            case ["runs", run, verb] if verb in bodies.COMMANDS:
                key, command = bodies.read_command(verb, RunId(run), body)
                return await self._command(command, key)
            case ["workers", worker, "drain"]:
                on = bodies.read_drain(body)
                await self._hub.submit(c.DrainWorker(WorkerId(worker), on))
                return await self._workers(worker)
            case ["drain"]:
                self._drain()
                return Reply({"draining": True}, 202)
            case _:
                said = f"nothing can be posted to /v1/{'/'.join(path[:1])}…"
                return error_reply(404, "no_such_path", said)

    # --- reading

    async def _workers(self, only: str | None = None) -> Reply:
        answer = cast(WorkerList, await self._hub.submit(c.ListWorkers()))
        lines = [worker_line(each) for each in answer.workers if only in (None, each.info.id)]
        return Reply({"workers": lines} if only is None else {"worker": lines[0]})

    async def _runs(self, query: Mapping[str, str]) -> Reply:
        limit = _number(query, "limit", PAGE)
        if not 1 <= limit <= PAGE:
            raise InvalidArgument(f"limit: expected 1 to {PAGE}")
        link, after = query.get("link"), query.get("after", "")
        which = c.ListRuns(link, open_only=_flag(query, "open"), after=after, limit=limit)
        answer = cast(RunList, await self._hub.submit(which))
        if link is not None and not answer.runs:
            await self._check_link(link)
        more = answer.runs[-1].id if answer.more else None
        return Reply({"runs": [self._line(run) for run in answer.runs], "next": more})

    def _line(self, run: Run) -> Line:
        return run_line(run) | {"ladder": ladder_line(self._hub.ladders.standing(run))}

    async def _life(self, id: RunId, query: Mapping[str, str]) -> Reply:
        run, ladders = await self._run(id), self._hub.ladders
        line: Line = {"run": self._line(run), "life": run_life(ladders, run)}
        if "seq" in query:
            seq, payload = _number(query, "seq", 0), _flag(query, "payload")
            recorded = await ladders.event(run, seq)
            line["event"] = event_life(ladders, run, seq, recorded, payload=payload)
        return Reply(line)

    async def _check_link(self, link: str) -> None:
        """Refuse a name that no entry has. One that an earlier config had may have runs."""
        entries = self._status()["entries"]
        known = [OPERATOR, *(each["entry"] for each in entries if each["facing"] == "north")]
        if link in known:
            return
        answer = cast(RunList, await self._hub.submit(c.ListRuns(link, limit=1)))
        if not answer.runs:
            hint = nearest(link, known)
            raise InvalidArgument(f"no [[north]] entry is named {link}, and no run is its; {hint}")

    async def _run(self, run: RunId) -> Run:
        answer = cast(Accepted, await self._hub.submit(c.DescribeRun(run)))
        return cast(Run, answer.after)

    async def _events(self, id: RunId, query: Mapping[str, str]) -> Stream:
        after, follow = _number(query, "after", 0), _flag(query, "follow")
        run = await self._run(id)
        last = run.last_seq if run.state.terminal or not follow else None

        async def write(send: Send) -> None:
            if last is None or after < last:
                await self._write_events(id, Seq(after), last, send)

        return Stream(write)

    async def _write_events(self, run: RunId, after: Seq, last: Seq | None, send: Send) -> None:
        """Write events up to and with number `last`, or the run's end."""
        passages = self._hub.ladders.passages
        passages.mark(run, READERS, after)
        with self._hub.follow(run, after) as follower:
            async for batch in follower:
                wanted = [each for each in batch if last is None or each.seq <= last]
                await send(b"".join(encode(event_line(each)) for each in wanted))
                final = batch[-1]
                passages.mark(run, READERS, final.seq if last is None else min(final.seq, last))
                if final.seq == last or isinstance(final.event, RunFinished):
                    return
                if last is not None and final.seq > last:
                    return

    # --- commanding

    async def _start(self, body: Mapping[str, Any]) -> Reply:
        name, spec = bodies.read_start(body)
        name = name or self._new_name()
        run = RunId(f"{OPERATOR}/{name}")
        return await self._command(c.StartRun(run, spec, c.Origin(OPERATOR, name)), status=201)

    async def _command(
        self, command: c.RunCommand, key: str | None = None, *, status: int = 200
    ) -> Reply:
        answer = await self._hub.submit(command, key)
        if isinstance(answer, Accepted) and answer.after is not None:
            return Reply({"run": self._line(answer.after)}, status)
        return Reply({"run": self._line(await self._run(command.run))}, status)


def read_body(request: Request) -> Mapping[str, Any]:
    """The JSON object of a request; an empty body is an empty object.

    Raises: `InvalidArgument`.
    """
    if not request.body:
        return {}
    try:
        # As strictly as what comes from a peer: what Python takes beside JSON, such as half of a
        # surrogate pair or 1e999, has a place in a run and none on the link of a worker.
        value = load(request.body)
    except Malformed as error:
        raise InvalidArgument(f"the body: {error}") from None
    if not isinstance(value, dict):
        raise InvalidArgument("the body is not a JSON object")
    return cast(dict[str, Any], value)


def _unknown(request: Request) -> Reply:
    if request.method not in ("GET", "POST"):
        return error_reply(405, "no_such_method", "only GET and POST are known here")
    return error_reply(404, "no_such_path", "no such path; they begin with /v1/")


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise InvalidArgument(f"{name}: expected a number")
    return int(text)


def _flag(query: Mapping[str, str], name: str) -> bool:
    text = query.get(name, "0")
    if text not in ("0", "1"):
        raise InvalidArgument(f"{name}: expected 0 or 1")
    return text == "1"
