"""Workers that run on this machine, and reach the hub without a wire.

A *pool* is one `[[local]]` table of the config, and has one worker. An *adapter* here, as on
the iop page, is what carries a run out: `mock`, `cli`, `ollama`, `vllm` or `shell`.

A *launch* is how a shell command becomes a program to execute. A *process group* is that
program and its children while they live; signals and ends are for all of them. An
*execution* takes one run from its start order to its end. A *task* does the same where code of
ours carries the run out, its *job*. A *script* is what a mock's runs do, step by step. The
*local worker* takes the hub's orders and keeps one execution or task a run.
"""
