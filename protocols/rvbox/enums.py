"""The numbers of rvbox, with the names that the schema gives them."""

from enum import IntEnum, unique


@unique
class Platform(IntEnum):
    """What a client runs on."""

    UNSPECIFIED = 0
    LINUX = 1
    MACOS = 2
    WINDOWS = 3
    FREEBSD = 4


@unique
class ShellType(IntEnum):
    """What a command line is given to. `UNSPECIFIED` is the client's default shell, `NONE`
    executes directly."""

    UNSPECIFIED = 0
    NONE = 1
    SH = 2
    BASH = 3
    ZSH = 4
    POWERSHELL = 5
    PWSH = 6
    CMD = 7


@unique
class SignalKind(IntEnum):
    """A signal for a command's whole process group."""

    UNSPECIFIED = 0
    INTERRUPT = 1
    TERMINATE = 2
    KILL = 3
    HANGUP = 4


@unique
class CommandLifecycle(IntEnum):
    """Where a command is; from `EXITED` on it has ended."""

    UNSPECIFIED = 0
    AWAITING_SCRIPT = 1
    QUEUED = 2
    RUNNING = 3
    EXITED = 4
    FAILED_TO_START = 5
    TIMED_OUT = 6
    CANCELED = 7
    EXPIRED = 8
    LOST = 9


@unique
class OutputStream(IntEnum):
    """Which output a chunk is of."""

    UNSPECIFIED = 0
    STDOUT = 1
    STDERR = 2


@unique
class ControlErrorCode(IntEnum):
    """What is wrong."""

    UNSPECIFIED = 0
    PROTOCOL_VIOLATION = 1
    UNSUPPORTED_VERSION = 2
    UNAUTHENTICATED = 3
    STALE_SESSION = 4
    SUPERSEDED = 5
    CLIENT_ID_IN_USE = 6
    INVALID_ARGUMENT = 7
    NOT_FOUND = 8
    CONFLICT = 9
    ALREADY_FINISHED = 10
    QUEUE_FULL = 11
    QUEUE_EXPIRED = 12
    UNSUPPORTED_SHELL = 13
    CHECKSUM_MISMATCH = 14
    OUT_OF_ORDER = 15
    RESOURCE_EXHAUSTED = 16
    INTERNAL = 17
