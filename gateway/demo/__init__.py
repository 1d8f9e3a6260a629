"""`gateway demo`: a real bridge, real processes, and a `kill -9` in the middle.

case
    One run of the show: a prompt, what it must produce, how it must end.
stage
    The temporary directory: config, journal, sockets, marks of what was executed.
child
    One of the processes: the gateway, the host daemon, the agency client.
director
    Starts the children and the runs, and kills the gateway at the right moment.
judge
    Says afterwards, from what the client saw and the host executed, whether anything was
    lost or done twice.
"""

from __future__ import annotations

from collections.abc import Sequence


def run(argv: Sequence[str]) -> int:
    """Run the demo with a command line's words; answers its exit code."""
    from fleetgate.gateway.demo.cli import main

    return main(argv)
