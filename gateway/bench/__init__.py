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
    A bench of one thing by itself: appends to the journal, the start of a short command.

A figure means something only beside the other subject's figure from the same run.
"""
