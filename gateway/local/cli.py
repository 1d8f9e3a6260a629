"""Command-line agents: a prompt goes in, what the program writes is the answer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from math import inf
from typing import Final

import attrs
import trio

from fleetgate.core.commands import Prompt, RunSpec
from fleetgate.core.events import (
    Diagnosed,
    Outcome,
    Reason,
    RunState,
)
from fleetgate.gateway.local.choosing import Choice
from fleetgate.gateway.local.cli_answer import Answer
from fleetgate.gateway.local.cli_profile import SESSION, CliProfile, profile_for
from fleetgate.gateway.local.execution import exit_outcome
from fleetgate.gateway.local.known_sessions import KnownSessions
from fleetgate.gateway.local.launch import MARK, CannotStart, Launch
from fleetgate.gateway.local.process import ProcessGroup, spawn
from fleetgate.gateway.local.script import text_of
from fleetgate.gateway.local.sessions import Key, Session, Sessions
from fleetgate.gateway.local.talker import Talker, wait_any
from fleetgate.gateway.local.terminal import END, spawn_on_terminal, unfit
from fleetgate.gateway.local.work import Declined, Job, Work, WorkFailed, keep_note

STARTUP_WITHIN: Final = 120.0
"""Seconds in which a program has to come to the silence that ends its banner. Beyond it the run
fails: a program that never stops talking by itself has no banner."""


@attrs.frozen(slots=True)
class Question:
    """What one run asks of one profile. `session` is empty where the run has none."""

    name: str
    profile: CliProfile
    choice: Choice
    prompt: str = attrs.field(repr=False)

    @property
    def session(self) -> str:
        """The session's id."""
        return self.choice.session

    @property
    def fed(self) -> bool:
        """Whether the prompt is written to the program."""
        return self.profile.mode != "argument"

    @property
    def gathers_lines(self) -> bool:
        """Whether a terminal of the program hands over whole lines, and the input has an end."""
        return self.fed and not self.profile.persistent

    def argv(self, *, resumed: bool) -> tuple[str, ...]:
        """The program and its arguments."""
        profile = self.profile
        args = profile.resume_args if resumed else profile.args
        if profile.mode == "resume":
            args = tuple(each.replace(SESSION, self.session) for each in args)
        return (profile.command, *args, *(() if self.fed else (self.prompt,)))


class CliAdapter:
    """Runs of the adapter `cli`, by the profiles of a pool or those that came with the run."""

    def __init__(
        self,
        profiles: Mapping[str, CliProfile],
        sessions: Sessions,
        known: KnownSessions,
        starting: trio.Lock,
    ) -> None:
        self._profiles = profiles
        self._sessions = sessions
        self._known = known
        self._starting = starting

    def job(self, choice: Choice, spec: RunSpec) -> Job:
        """The job of a run.

        Raises: `Declined`.
        """
        name, profile = profile_for(choice.target, choice.config, self._profiles)
        question = Question(name, profile, choice, text_of(spec.input))
        self._check(question)
        return partial(self._continue if profile.persistent else self._ask_once, question)

    def end_session(self, id: str) -> None:
        """Whoever had the session is done with it: its program ends, and no run resumes it.

        Raises: `OSError`: not all of it can be forgotten for good.
        """
        self._sessions.end(id)
        self._known.forget(id)

    def _check(self, question: Question) -> None:
        profile, session = question.profile, question.session
        if profile.mode == "resume":
            if session.startswith("-"):
                said = "a session id that begins with - would be taken for an option"
                raise Declined("invalid_argument", said)
            if not session and any(SESSION in arg for arg in profile.args):
                said = f"the profile {question.name} needs a session, and the run names none"
                raise Declined("invalid_argument", said)
        keeps = profile.persistent or profile.mode == "resume"
        if question.choice.must_exist and keeps and not self._exists(question):
            said = f"the profile {question.name} has no session of this id here"
            raise Declined("session_not_found", said)
        if profile.terminal and question.fed:
            data = question.prompt.encode(errors="replace")
            refusal = unfit(data, gathers_lines=question.gathers_lines)
            if refusal is not None:
                raise Declined("invalid_argument", refusal)

    def _exists(self, question: Question) -> bool:
        key = (question.name, question.session)
        return key in self._sessions or (question.profile.mode == "resume" and key in self._known)

    # --- a process for one run

    async def _ask_once(self, question: Question, work: Work) -> Outcome:
        try:
            talker = Talker(await self._start(question, work))
        except CannotStart as error:
            return _not_started(error)
        failed: WorkFailed | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(talker.run)
            try:
                await self._converse(question, work, talker, fresh=True)
            except WorkFailed as error:  # a nursery would wrap it
                failed = error
            nursery.cancel_scope.cancel()
        if failed is not None:
            raise failed
        return self._ended(question, talker)

    # --- a process for a session

    async def _continue(self, question: Question, work: Work) -> Outcome:
        key = (question.name, question.session or work.run)
        async with self._sessions.turn(key) as session:
            try:
                talker, fresh = await self._talker(key, session, question, work)
            except CannotStart as error:
                return _not_started(error)
            whole = await self._converse(question, work, talker, fresh=fresh)
            if not (question.session and whole):
                await session.close()
            elif not talker.ended.is_set():
                self._remember(question)
                return Outcome(RunState.SUCCEEDED, Reason.EXITED)
        if not question.session and talker.code is None:
            return Outcome(RunState.SUCCEEDED, Reason.EXITED)
        return self._ended(question, talker)

    async def _talker(
        self, key: Key, session: Session, question: Question, work: Work
    ) -> tuple[Talker, bool]:
        ground = (question.profile, question.choice.directory)
        if session.alive is not None:
            if session.ground == ground:
                return session.alive, False
            await session.close()
        group = await self._start(question, work)
        return self._sessions.keep(key, session, group, ground), True

    # --- both

    async def _start(self, question: Question, work: Work) -> ProcessGroup:
        """Start the program.

        Raises: `CannotStart`. Cancelled, nothing runs.
        """
        profile = question.profile
        resumed = profile.mode == "resume" and (question.name, question.session) in self._known
        variables = dict(item.split("=", 1) for item in profile.env)
        launch = Launch(
            argv=question.argv(resumed=resumed),
            cwd=question.choice.directory,
            environment={**os.environ, **variables, MARK: work.run},
            takes_input=question.fed,
            merge_stderr=False,
        )
        async with self._starting:
            if profile.terminal:
                return await spawn_on_terminal(launch, gathers_lines=question.gathers_lines)
            return await spawn(launch)

    async def _converse(
        self, question: Question, work: Work, talker: Talker, *, fresh: bool
    ) -> bool:
        """Ask, and hear the answer to its end; False: not all of the prompt was taken.

        Raises: `WorkFailed`.
        """
        answer = Answer(work, question.profile)
        banner = question.profile.startup_idle_timeout_ms / 1000 if fresh and question.fed else 0
        if fresh and not banner:  # what it writes before it is asked is its answer, too
            talker.listener = answer
        try:
            await keep_note(work.reporter, work.run, talker.group.note())
            self._tell_the_start(question, work, talker)
            answer.begin()
            if banner:
                await _hear_banner(talker, banner)
            talker.listener = answer
            whole = await self._exchange(question, talker, answer)
        finally:
            talker.listener = None
            answer.begin()
        answer.finish()
        return whole

    def _tell_the_start(self, question: Question, work: Work, talker: Talker) -> None:
        work.started(talker.group.pid)
        _tell_what_is_left_out(work)

    async def _exchange(self, question: Question, talker: Talker, answer: Answer) -> bool:
        ends = [talker.ended.wait, answer.done.wait]
        idle = question.profile.response_idle_timeout_ms
        if question.profile.persistent and idle:
            ends.append(partial(talker.wait_silent, idle / 1000))
        written = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_feed, question, talker, written)
            await wait_any(*ends)
            nursery.cancel_scope.cancel()
        return written.is_set()

    def _ended(self, question: Question, talker: Talker) -> Outcome:
        """The outcome where the program came to its end."""
        if talker.code is None:
            return Outcome(RunState.FAILED, Reason.ERROR, "its process was ended")
        outcome = exit_outcome(talker.code)
        if outcome.state is RunState.SUCCEEDED:
            self._remember(question)
        return outcome

    def _remember(self, question: Question) -> None:
        # A run that is canceled and has just come to its end must not bring back a session that
        # was ended with it.
        canceled = trio.current_effective_deadline() == -inf
        if question.profile.mode == "resume" and question.session and not canceled:
            self._known.add((question.name, question.session))


def _not_started(error: CannotStart) -> Outcome:
    return Outcome(RunState.FAILED, Reason.FAILED_TO_START, str(error))


def _tell_what_is_left_out(work: Work) -> None:
    given = work.spec.input
    if isinstance(given, Prompt) and (given.system is not None or given.messages):
        said = "a command-line agent is given the prompt alone: no system text, no messages"
        work.tell(Diagnosed(said, "cli_prompt_only"))


async def _hear_banner(talker: Talker, silence: float) -> None:
    with trio.move_on_after(STARTUP_WITHIN) as scope:
        await talker.wait_silent(silence)
    if scope.cancelled_caught:
        said = f"the program was not silent for {silence:g} s within {STARTUP_WITHIN:g} s"
        raise WorkFailed("startup_timeout", f"{said}; set startup_idle_timeout_ms lower")


async def _feed(question: Question, talker: Talker, written: trio.Event) -> None:
    """Give the program its prompt. Where it has closed its input, nobody misses the rest."""
    if question.fed:
        await talker.write(question.prompt.encode(errors="replace") + b"\n")
        if not question.profile.persistent and talker.group.stdin is not None:
            if question.profile.terminal:
                await talker.write(END)
            else:
                await talker.group.stdin.aclose()
    written.set()
