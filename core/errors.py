"""One error type per refusal, each with a stable code.

A `Refusal` is an answer: the command changed nothing. Its text says what was
expected, what came, and what to do; it never holds a payload or a secret.
"""

from __future__ import annotations

from typing import ClassVar


class Refusal(Exception):
    """A command was refused. Raise one of the subclasses, never this."""

    code: ClassVar[str] = ""

    def __init__(self, message: str) -> None:
        if type(self) is Refusal:
            raise TypeError("raise a subclass of Refusal, so that the answer has a code")
        super().__init__(message)
        self.message = message


class InvalidArgument(Refusal):
    """A member of the command is outside what is allowed."""

    code = "invalid_argument"


class RunNotFound(Refusal):
    """No run has this id."""

    code = "not_found"


class SessionNotFound(Refusal):
    """No session has this id."""

    code = "session_not_found"


class WorkerNotFound(Refusal):
    """No worker has this id."""

    code = "worker_not_found"


class ApprovalNotFound(Refusal):
    """The run does not wait for this approval."""

    code = "approval_not_found"


class Conflict(Refusal):
    """The id is taken by another request, or the command contradicts what was done."""

    code = "conflict"


class RunEnded(Refusal):
    """The run has ended; it takes no more of these commands."""

    code = "run_ended"


class UnsupportedInput(Refusal):
    """No worker on the run's route takes this kind of input. The text names the setting
    that would help."""

    code = "unsupported_input"


class NotAccepted(Refusal):
    """The worker that was named is here, and does not take what the labels ask for."""

    code = "not_accepted"


class NoRoute(Refusal):
    """No route leads from this entry to a worker."""

    code = "no_route"


class Unavailable(Refusal):
    """It cannot be done now: the journal is failing, or no worker is connected. Try again.

    `open`: it is not known yet whether it was done. The same command again is answered by what
    became of it. `lasting`: it stays so until somebody mends it, and its text says how.
    """

    code = "unavailable"

    def __init__(self, message: str, *, open: bool = False, lasting: bool = False) -> None:
        super().__init__(message)
        self.open = open
        self.lasting = lasting


class Stopping(Refusal):
    """The gateway, or this entry of it, takes no new runs."""

    code = "stopping"


class ResourceExhausted(Refusal):
    """A stated limit is reached."""

    code = "resource_exhausted"


class NotAllowed(Refusal):
    """It is there and could be done, but not by this controller."""

    code = "not_allowed"


class Fenced(Refusal):
    """A newer connection of the same worker has taken over (I7)."""

    code = "fenced"


class InstanceConflict(Refusal):
    """Another instance of the same worker is connected and alive."""

    code = "instance_conflict"


class WorkerFailed(Refusal):
    """The worker answered a question with an error of its own; the text is the worker's."""

    code = "worker_failed"


class IllegalTransition(Exception):
    """An event does not follow from the run's state. A mistake of ours, or of a worker's
    that its adapter let through; nothing was changed."""
