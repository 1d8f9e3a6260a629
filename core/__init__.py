"""What a run is, whoever asks for it and whoever executes it.

command
    An order in the imperative: `StartRun`, `CancelRun`. It is judged against a
    run by `decide`, and either changes something or is refused with a code.
event
    A fact in the past tense: `RunStarted`, `RunFinished`. It has one number in
    its run, given once by the journal, and is never changed after.
run
    One piece of work, from `queued` to exactly one end. It is what its events
    make of it (`evolve`), beside a few counters about orders and inputs.
session
    A conversation that outlives its runs, at one worker. Who began it is its owner.
worker
    Whoever executes runs, under an epoch. A newer epoch fences the older one.
link
    Where a run came by: the name of a northbound entry. (What the transports call a
    link is a connection, and nothing that this room knows.)
journal
    Where a run's sequence and its row are durable. Followers are positions in it.
forgotten
    Of a run that has ended: no longer kept. It goes whole, and its id is free again.

The values and rules (`ids`, `json`, `values`, `events`, `commands`, `errors`, `answers`,
`worker`, `run`, `session`, `sequence`) wait for nothing, read no clock and draw no
lots. The engine beside them (`hub` and its helpers, `routing`, `retention`, `journal`) is trio,
and knows no protocol's format.
"""
