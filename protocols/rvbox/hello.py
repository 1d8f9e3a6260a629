"""Who is there, and in which version the two speak."""

from __future__ import annotations

from fleetgate.protocols.api import Opening
from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.settings import ClientSettings
from fleetgate.protocols.rvbox.translate import PLATFORMS, SHELLS
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

OURS = w.ProtocolRange(w.ProtocolVersion(1, 0), w.ProtocolVersion(1, 0))

_WORDS = 4096
"""Bytes of each thing that a hello tells: it is kept with the worker, and shown."""

_SHELLS = 64
"""Shells that a hello may list."""


class BadHello(Exception):
    """Why a hello is not welcome."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def check_hello(hello: w.ClientHello, opening: Opening) -> w.ProtocolVersion:
    """The version to speak with this client.

    Raises: `BadHello`.
    """
    wrong = _wrong_member(hello)
    if wrong:
        raise BadHello(Code.INVALID_ARGUMENT, wrong)
    version = _common(hello.supported_protocol)
    if opening.authenticated and hello.client_id not in opening.identities:
        raise BadHello(
            Code.UNAUTHENTICATED,
            "client_id is none of the names that this link's certificate or token stands for",
        )
    return version


def speaks_higher(hello: w.ClientHello) -> bool:
    """Whether the client also speaks a version above ours."""
    offered = hello.supported_protocol
    return offered is not None and offered.maximum > OURS.maximum


def _wrong_member(hello: w.ClientHello) -> str:
    if not limits.is_client_id(hello.client_id):
        return (
            "client_id must be 1 to 128 printable ASCII characters without spaces; "
            f"{len(hello.client_id)} characters came"
        )
    if not hello.client_instance_id:
        return "client_instance_id is empty"
    if not hello.supported_shells:
        return "supported_shells names no shell"
    if len(hello.supported_shells) > _SHELLS:
        return f"supported_shells names more than {_SHELLS} shells"
    told = (
        hello.client_instance_id,
        hello.daemon_version,
        hello.architecture,
        hello.daemon_cwd,
    )
    if max(map(len, told)) > _WORDS:
        return f"a member of the hello has more than {_WORDS} characters"
    offered = hello.supported_protocol
    if offered is None or offered.minimum > offered.maximum:
        return "supported_protocol is absent, or its minimum is above its maximum"
    return ""


def _common(offered: w.ProtocolRange | None) -> w.ProtocolVersion:
    """The highest version that both speak."""
    theirs = offered or w.ProtocolRange()
    highest = min(theirs.maximum, OURS.maximum)
    if highest < theirs.minimum or highest < OURS.minimum:
        raise BadHello(
            Code.UNSUPPORTED_VERSION,
            f"this server speaks {_range(OURS)}, the client {_range(theirs)}",
        )
    return highest


def _range(versions: w.ProtocolRange) -> str:
    least, most = versions.minimum, versions.maximum
    return f"{least.major}.{least.minor} to {most.major}.{most.minor}"


def make_hello(settings: ClientSettings, opening: Opening, now: int) -> w.ClientHello:
    """Our own hello."""
    return w.ClientHello(
        client_id=settings.client_id or opening.gateway,
        supported_protocol=OURS,
        daemon_version=settings.daemon_version,
        platform=PLATFORMS[settings.platform],
        architecture=settings.architecture,
        daemon_cwd=settings.daemon_cwd,
        supported_shells=tuple(SHELLS[shell] for shell in settings.shells),
        client_instance_id=opening.instance,
        max_running_commands=settings.max_running,
        max_queued_commands=settings.max_queued,
        sent_at=now,
    )


def is_ours(version: w.ProtocolVersion) -> bool:
    """Whether we speak this version."""
    return OURS.minimum <= version <= OURS.maximum
