"""Protobuf definitions, and the code that protoc makes of them.

schema
    A `.proto` file. What a protocol publishes keeps its own path, package and
    options; what is ours carries the prefix `fleetgate/`.
generated code
    `*_pb2.py` and `*_pb2.pyi`. Committed, never edited: `just proto` writes
    them, `just proto-check` compares.
pool
    Where descriptors are registered, by file name and by symbol. The default one
    is shared with whatever else runs in the process.
private pool
    A pool of our own, for a schema that is a reconstruction: somebody's genuine
    file of the same name may live in the default pool beside it.
record
    A message of ours that the journal keeps. Its numbers are never used again.
"""
