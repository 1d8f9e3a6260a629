"""The temporary directory of a demo, and the config that the gateway is given."""

from __future__ import annotations

import os
import random
import socket
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import attrs

_CONFIG: Final = """\
# Written by `gateway demo`. Prompts of an agency client become commands on an rvbox host.
[gateway]
name = "demo"
journal = "sqlite:journal.db"
admin = "unix:admin/socket"

[[north]]
name = "gui"
protocol = "agency"
listen = "unix:gui/runtime.sock"

[[south]]
name = "hosts"
protocol = "rvbox"
listen = "ws://127.0.0.1:{port}/agent"

[[route]]
from = "gui"
when = {{ model = "short" }}
to = "hosts"
set = {{ timeout = 2.0, interactive = true }}
adapt.prompt = {{ argv = ["sh", "-c", "{{prompt}}"] }}

[[route]]
from = "gui"
to = "hosts"
set = {{ interactive = true }}
adapt.prompt = {{ argv = ["sh", "-c", "{{prompt}}"] }}
"""


LONGEST: Final = 60
"""Bytes of a directory for temporary files. A socket's path may have 107, and some forty of
them are ours."""

LOWEST: Final = 10_000
"""Ports below it have services of their own."""
USUALLY_HANDED_OUT: Final = 32_768
"""Linux gives ports from here on to whoever asks for any; other systems begin above it."""


@attrs.frozen(slots=True)
class Stage:
    """Where everything of one demo lies."""

    root: Path
    port: int

    @property
    def config(self) -> Path:
        """The gateway's config file."""
        return self.root / "gateway.toml"

    @property
    def socket(self) -> Path:
        """Where the agency client finds its daemon."""
        return self.root / "gui" / "runtime.sock"

    @property
    def marks(self) -> Path:
        """A file for each case, a line in it for each time that it was executed."""
        return self.root / "marks"

    @property
    def host_url(self) -> str:
        """Where the host finds its server."""
        return f"ws://127.0.0.1:{self.port}/agent"

    def executed(self, name: str) -> int:
        """How often the host executed a case."""
        mark = self.marks / name
        return len(mark.read_text().splitlines()) if mark.exists() else 0


def set_root() -> Path:
    """Make the directory of a demo: where temporary files go, but in /tmp where the path of a
    socket there would be too long."""
    usual = tempfile.gettempdir()
    place = usual if len(os.fsencode(usual)) <= LONGEST else "/tmp"
    return Path(tempfile.mkdtemp(prefix="fleetgate-demo-", dir=place))


def set_stage() -> Stage:
    """Make the directory and the config in it."""
    stage = Stage(set_root(), free_port())
    stage.marks.mkdir()
    stage.config.write_text(_CONFIG.format(port=stage.port))
    return stage


def free_port() -> int:
    """One of `free_ports`."""
    (port,) = free_ports(1)
    return port


def free_ports(count: int) -> list[int]:
    """Different ports that were free a moment ago. They are needed beforehand: peers must find
    the gateway at the same place after the restart. No outgoing connection and nobody who asks
    for any free port is given one of them while the gateway is away."""
    ports: list[int] = []
    with ExitStack() as held:
        while len(ports) < count:
            probe = held.enter_context(socket.socket())
            with suppress(OSError):
                probe.bind(("127.0.0.1", random.SystemRandom().randrange(LOWEST, _handed_out())))
                ports.append(int(probe.getsockname()[1]))
    return ports


def _handed_out() -> int:
    """The lowest port that the system gives to whoever asks for any."""
    known = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first = int(known.read_text().split()[0]) if known.exists() else USUALLY_HANDED_OUT
    return first if first > LOWEST else USUALLY_HANDED_OUT
