"""What the fixtures of the pytest plugin are: a fake that starts when it is first used."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from fleetgate.gateway.fakes import threads
from fleetgate.gateway.fakes.options import BadOption

TOKEN: Final = "token"
"""What an edge's fixture lets in, and a node's shows."""

_F = TypeVar("_F", bound=threads.Fake[Any])


def _nothing(place: Path) -> dict[str, Any]:
    return {}


def _runner(place: Path) -> dict[str, Any]:
    workspace = place / "workspace"
    workspace.mkdir(exist_ok=True)
    return {"workspace": workspace, "state": place / "state"}


OFFERED: Final[
    Mapping[str, tuple[Callable[..., threads.Fake[Any]], Callable[[Path], dict[str, Any]]]]
] = {
    "agency-daemon": (threads.AgencyDaemon, lambda place: {"socket": place / "s"}),
    "agency-client": (threads.AgencyClient, lambda place: {"socket": place / "s"}),
    "rvbox-server": (threads.RvboxServer, _nothing),
    "rvbox-client": (
        threads.RvboxClient,
        lambda place: {"client_id": "host", "state": place / "state"},
    ),
    "iop-edge": (threads.IopEdge, lambda place: {"token": [TOKEN]}),
    "iop-node": (threads.IopNode, lambda place: {"token": TOKEN}),
    "kodelet-control-plane": (threads.KodeletControlPlane, _nothing),
    "kodelet-runner": (threads.KodeletRunner, _runner),
}
"""Each fake, and the options that its fixture has unless it is given others."""

NEEDED: Final = {"rvbox-client": "connect", "iop-node": "connect", "kodelet-runner": "server"}
"""The option that only the test can know: where the peer is."""


class Fixture(Generic[_F]):
    """A fake of `fleetgate.gateway.fakes.threads`, started with its defaults when a member of it is
    first used. Called with options it starts another one: `daemon = fixture(script=path)`. The
    members that the fixture itself has are those of the one that was started first. All end with
    the test, the last first."""

    def __init__(self, name: str, stack: ExitStack) -> None:
        self._name = name
        self._stack = stack
        self._first: _F | None = None

    def __call__(self, **options: Any) -> _F:
        """Start one with these options beside the defaults.

        Raises: `BadOption`, `CannotStart`.
        """
        needed = NEEDED.get(self._name)
        if needed is not None and needed not in options:
            call = f"fleetgate_{self._name.replace('-', '_')}({needed}=…)"
            raise BadOption(f"{needed}: say where its peer is, with {call}, before it is used")
        make, defaults = OFFERED[self._name]
        # Not pytest's own directory: its path may be too long for the address of a socket.
        place = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fleetgate-"))
        try:
            made: Any = make(**{**defaults(Path(place)), **options})
        except TypeError as error:
            raise BadOption(f"{self._name}: {error}") from None
        fake: _F = self._stack.enter_context(made)
        if self._first is None:
            self._first = fake
        return fake

    @property
    def first(self) -> _F:
        """The one that was started first; with its defaults, where none was."""
        return self() if self._first is None else self._first

    def __repr__(self) -> str:
        return f"<Fixture of {self._name if self._first is None else self._first}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks for such, and none of them starts a fake
            raise AttributeError(name)
        return getattr(self.first, name)


@contextmanager
def offered(name: str) -> Generator[Fixture[Any], None, None]:
    """A fixture, as long as its test lasts."""
    with ExitStack() as stack:
        yield Fixture(name, stack)
