import pytest

from fleetgate.protocols.api import Opening
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.hello import (
    BadHello,
    check_hello,
    is_ours,
    make_hello,
    speaks_higher,
)
from fleetgate.protocols.rvbox.settings import ClientSettings
from fleetgate.protocols.rvbox.testing import make_hello as hello_of
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

ANYBODY = Opening(link="hosts")


def versions(least: tuple[int, int], most: tuple[int, int]) -> w.ProtocolRange:
    return w.ProtocolRange(w.ProtocolVersion(*least), w.ProtocolVersion(*most))


@pytest.mark.parametrize(
    ("least", "most", "higher"),
    [((1, 0), (1, 0), False), ((0, 9), (1, 4), True), ((1, 0), (3, 0), True)],
)
def test_the_highest_common_version_is_spoken(
    least: tuple[int, int], most: tuple[int, int], higher: bool
) -> None:
    hello = hello_of(supported_protocol=versions(least, most))
    assert check_hello(hello, ANYBODY) == w.ProtocolVersion(1, 0)
    assert speaks_higher(hello) is higher


@pytest.mark.parametrize(("least", "most"), [((1, 1), (1, 9)), ((0, 1), (0, 9)), ((2, 0), (2, 0))])
def test_no_common_version_names_both_ranges(least: tuple[int, int], most: tuple[int, int]) -> None:
    with pytest.raises(BadHello) as caught:
        check_hello(hello_of(supported_protocol=versions(least, most)), ANYBODY)
    assert caught.value.code is Code.UNSUPPORTED_VERSION
    assert "1.0 to 1.0" in caught.value.text
    assert f"{least[0]}.{least[1]} to {most[0]}.{most[1]}" in caught.value.text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"client_id": ""}, "0 characters came"),
        ({"client_id": "h" * 129}, "129 characters came"),
        ({"client_id": "two words"}, "without spaces"),
        ({"client_id": "hôte"}, "printable ASCII"),
        ({"client_instance_id": ""}, "client_instance_id is empty"),
        ({"client_instance_id": "i" * 4097}, "more than 4096"),
        ({"daemon_cwd": "/" * 4097}, "more than 4096"),
        ({"supported_shells": ()}, "no shell"),
        ({"supported_shells": (1,) * 65}, "more than 64 shells"),
        ({"supported_protocol": None}, "absent"),
        ({"supported_protocol": versions((1, 1), (1, 0))}, "minimum"),
    ],
)
def test_a_bad_member_is_an_invalid_argument(changes: dict[str, object], says: str) -> None:
    with pytest.raises(BadHello, match=says) as caught:
        check_hello(hello_of(**changes), ANYBODY)
    assert caught.value.code is Code.INVALID_ARGUMENT


@pytest.mark.parametrize("length", [1, 128])
def test_a_client_id_may_have_1_to_128_characters(length: int) -> None:
    assert check_hello(hello_of(client_id="h" * length), ANYBODY)


def test_a_client_speaks_for_the_name_that_its_link_proves() -> None:
    proven = Opening(link="hosts", authenticated=True, identities=("host-1", "other"))
    assert check_hello(hello_of(), proven)
    with pytest.raises(BadHello) as caught:
        check_hello(hello_of(client_id="host-2"), proven)
    assert caught.value.code is Code.UNAUTHENTICATED


def test_our_own_hello_is_welcome() -> None:
    settings = ClientSettings(
        platform="macos", architecture="arm64", shells=("zsh",), max_running=2, max_queued=3
    )
    opening = Opening(link="edge", gateway="gw-1", instance="i-1")
    hello = make_hello(settings, opening, 5)
    assert hello.client_id == "gw-1"
    assert hello.platform == w.Platform.MACOS
    assert hello.supported_shells == (w.ShellType.ZSH,)
    assert (hello.client_instance_id, hello.sent_at) == ("i-1", 5)
    assert (hello.max_running_commands, hello.max_queued_commands) == (2, 3)
    assert is_ours(check_hello(hello, ANYBODY))
    named = make_hello(ClientSettings(client_id="box"), opening, 5)
    assert named.client_id == "box"
