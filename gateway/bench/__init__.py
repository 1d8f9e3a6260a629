"""How fast the gateway is, as a ratio: `gateway bench`.

subject
    What is measured, in a process of its own: the *bridge* is `gateway serve` between agency
    and rvbox with its journal on disk; the *relay* joins the same two links and does nothing
    but read a frame and write a frame.
load host
    An rvbox client that emits a command's output, as fast as it is taken or at a fixed rate.
load client
    An agency client that attaches to the run and counts what comes.
task
    What the host is asked to emit.
trial
    One task at one subject, with three processes of its own.
sample
    What one trial measured.
part
    One bench, with a table of its own: the bridge, each pair of protocols, or one thing by itself,
    such as followers, memory, recovery, appends to the journal.
piece
    One thing that is done for an event on its way, by itself (part `event`).
spot
    A function of a room, and the processor time that a bridge was seen to spend there (part
    `profile`).
base
    Another commit, whose bridge takes turns with this tree's (`--compare`).

A figure means something only beside the other subject's figure from the same run.
"""
