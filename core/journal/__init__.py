"""Where a run's one sequence is made durable.

write
    What the hub asks for: `PutRun`, `Append`, `ForgetRun`. Several together are in one commit, or
    none of them is.
line, batch
    The writes that wait, and those of them that one commit takes.
row
    A write as it is stored, made before it waits: what cannot be kept is refused then.
record
    A value of the core as bytes (`schemas/journal`). Its field numbers last for ever.
note
    A small value under a name, for whoever keeps something beside runs.
stone
    What a forgotten run is until the room of its events is free.
disk
    What SQLite stands on in tests (`vfs`, `torn`): one that fails, or loses its power.

`api` is the door; `memory` and `sqlite` are journals, over `queued` and `threaded`; `testing`
proves one. `offline` is for a file that no gateway has open.
"""
