"""The only room that knows the others, and the only one with a main.

entry
    One `[[north]]` or `[[south]]` of the config: a protocol, an address, settings.
house, keeper
    All entries at work, and what keeps one of them going: its listener or dialler,
    its links.
driver
    `connection.py`: the one loop between a link and a protocol's connection. It
    performs steps, and nobody else does.
rights
    What a controller may do with which runs. An overseer sees all of its entry and may do all with
    them; a reader sees them and changes nothing; any other has what it began.
registry
    What a name in the config stands for: protocols, transports, journals.
fake
    A peer for tests, made of the same pieces: a small gateway with its own journal.
recording
    What crossed links, in a file: written by whoever looks on, played again by a replay.
local worker
    A worker that runs in this process's care: child processes, scripts.
"""
