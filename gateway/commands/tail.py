"""`gateway tail`: a run's events, from any number on."""

from __future__ import annotations

from argparse import Namespace

from fleetgate.gateway.admin.client import AdminClient
from fleetgate.gateway.commands import exits
from fleetgate.gateway.commands.asking import ask, complain
from fleetgate.gateway.commands.following import follow, show_recorded
from fleetgate.gateway.commands.operate import run_id
from fleetgate.gateway.commands.printing import open_sink


def run(arguments: Namespace) -> int:
    """Show what is recorded and, unless told not to, what comes until the run's end."""

    async def question(client: AdminClient) -> int:
        run = run_id(arguments.run)
        with open_sink(arguments) as sink:
            if arguments.no_follow:
                await show_recorded(client, run, sink, arguments.after)
            else:
                await follow(client, run, sink, after=arguments.after, lost=complain)
        return exits.OK

    return ask(arguments, question)
