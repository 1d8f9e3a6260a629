import attrs
import pytest
from hypothesis import given

from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.limits import check_spec
from fleetgate.protocols.rvbox.testing import UUID, specs
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

LINE = w.ExecutionSpec(program="make", shell=w.ShellType.SH)
ARGV = w.ExecutionSpec(program=w.Argv(("make",)))
SCRIPT = w.ExecutionSpec(program=w.ScriptRef(3, bytes(32)))
BIG = limits.ARGUMENT


@pytest.mark.parametrize(
    "good",
    [
        LINE,
        attrs.evolve(LINE, shell=w.ShellType.UNSPECIFIED),
        attrs.evolve(LINE, program="x" * BIG),
        ARGV,
        attrs.evolve(ARGV, shell=w.ShellType.NONE, program=w.Argv(("x",) * 4096)),
        SCRIPT,
        attrs.evolve(SCRIPT, shell=w.ShellType.BASH),
        attrs.evolve(SCRIPT, program=w.ScriptRef(limits.SCRIPT, bytes(32))),
        attrs.evolve(LINE, env={str(n): "" for n in range(256)}),
        attrs.evolve(LINE, env={"K": "v" * (BIG - 2)}),
        attrs.evolve(LINE, timeout=1),
    ],
)
def test_what_is_within_the_limits_passes(good: w.ExecutionSpec) -> None:
    assert check_spec(good) is None


@pytest.mark.limit(
    "protocols/rvbox/limits.SCRIPT",
    "protocols/rvbox/limits.ARGUMENT",
    "protocols/rvbox/limits.ARGUMENTS",
    "protocols/rvbox/limits.ENV",
)
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (w.ExecutionSpec(), "a program is needed"),
        (attrs.evolve(LINE, program=""), "command_line is empty"),
        (attrs.evolve(LINE, shell=w.ShellType.NONE), "needs a shell"),
        (attrs.evolve(LINE, program="x" * (BIG + 1)), "131072 bytes"),
        (attrs.evolve(LINE, program="ä" * 65536), "131072 bytes"),
        (attrs.evolve(LINE, program="a\0b"), "command_line holds a NUL"),
        (attrs.evolve(ARGV, program=w.Argv()), "first item"),
        (attrs.evolve(ARGV, program=w.Argv(("",))), "first item"),
        (attrs.evolve(ARGV, program=w.Argv(("a", "b\0"))), "argv holds a NUL"),
        (attrs.evolve(ARGV, program=w.Argv(("x",) * 4097)), "4097 arguments"),
        (attrs.evolve(ARGV, shell=w.ShellType.BASH), "executed directly"),
        (attrs.evolve(SCRIPT, program=w.ScriptRef(limits.SCRIPT + 1, bytes(32))), "at most"),
        (attrs.evolve(SCRIPT, program=w.ScriptRef(3, bytes(31))), "31 bytes instead of 32"),
        (attrs.evolve(SCRIPT, program=w.ScriptRef(3, bytes(32), ("\0",))), "NUL"),
        (attrs.evolve(LINE, env={str(n): "" for n in range(257)}), "257 entries"),
        (attrs.evolve(LINE, env={"": "v"}), "empty or holds ="),
        (attrs.evolve(LINE, env={"A=B": "v"}), "empty or holds ="),
        (attrs.evolve(LINE, env={"A": "v\0"}), "env holds a NUL"),
        (attrs.evolve(LINE, env={"K": "v" * (BIG - 1)}), "an entry of env has 131072"),
        (attrs.evolve(LINE, env={"A": "v" * 70_000, "B": "v" * 70_000}), "env has 140002 bytes"),
        (attrs.evolve(LINE, timeout=0), "timeout"),
        (attrs.evolve(LINE, timeout=-1), "timeout"),
        (attrs.evolve(LINE, cwd="/tmp\0"), "cwd holds a NUL"),
    ],
)
def test_a_bad_request_is_an_invalid_argument(bad: w.ExecutionSpec, says: str) -> None:
    error = check_spec(bad)
    assert error is not None
    assert error.code == Code.INVALID_ARGUMENT
    assert says in error.message


def test_a_shell_that_is_not_offered_is_unsupported() -> None:
    offered = {w.ShellType.SH}
    assert check_spec(LINE, offered) is None
    assert check_spec(attrs.evolve(LINE, shell=w.ShellType.UNSPECIFIED), offered) is None
    none = check_spec(attrs.evolve(LINE, shell=w.ShellType.NONE), offered)
    assert none is not None
    assert none.code == Code.INVALID_ARGUMENT
    for shell in (w.ShellType.BASH, 99):
        error = check_spec(attrs.evolve(LINE, shell=shell), offered)
        assert error is not None
        assert error.code == Code.UNSUPPORTED_SHELL


@given(specs())
def test_every_request_is_judged(spec: w.ExecutionSpec) -> None:
    error = check_spec(spec)
    assert error is None or error.code in (Code.INVALID_ARGUMENT, Code.UNSUPPORTED_SHELL)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (UUID, True),
        (UUID.upper(), False),
        (UUID.replace("-", ""), False),
        ("{" + UUID + "}", False),
        (UUID + "\n", False),
        ("", False),
    ],
)
def test_a_uuid_is_canonical_and_lower_case(text: str, is_one: bool) -> None:
    assert limits.is_uuid(text) is is_one


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("h", True), ("!~" * 64, True), ("", False), ("h" * 129, False), ("a b", False), ("é", False)],
)
def test_a_client_id_is_1_to_128_printable_ascii_characters(text: str, is_one: bool) -> None:
    assert limits.is_client_id(text) is is_one
