"""One folder for each protocol, each with the same files. No I/O, no clock, no async.

frame
    The bytes of one message. A codec, and nothing else, knows how they are written.
message
    A typed value on the wire, named as its protocol names it (`wire.py`).
connection
    One end of one link. It is told things by plain calls and answers with steps.
step
    What a connection wants done: `Send` this frame, `Submit` this command,
    `Record` these events. The driver in the gateway performs it.
short way
    What a connection may have beside that for plain reports of one run, which come and go in bulk
    and without a step each (`bulk.py`). It changes what a frame costs, and nothing else.
explainer
    Shows a link's frames to people: their names, their members as JSON, without secrets.
northbound, southbound
    Facing a controller, where we play the worker; facing a worker, where we play
    the controller.

A folder reads in this order: `wire`, `codec`, `state` (which message may come when),
`translate` (wire to core and back), `northbound`, `southbound`; `settings` has what a config may
say, `explain` its explainer. No folder knows another: a bridge is one's translation into the core
and another's out of it.
"""
