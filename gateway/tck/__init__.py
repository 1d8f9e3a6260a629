"""`gateway tck`: does a peer keep to its protocol?

kit
    The requirements for one side of one protocol. `gateway/tck/<protocol>/` has them, one file
    a topic.
target
    The peer that is examined: it listens and is dialled, or it dials and is waited for.
requirement
    One sentence that can be broken: an id, a tier, given, when, expect, where it is written.
topic
    The requirements of one file, in order.
attempt
    One requirement being tried, on links of its own. What it saw becomes a part of the result.
want
    What somebody must make a target do, which asks by itself for nothing: start a run, cancel it.
mutant
    A target that is right, bent at its link so that it breaks a requirement: proof that this can be
    broken.

A requirement speaks in the protocol's own bytes and not through our codecs wherever the bytes
are what is required: a kit that reads what our codec reads would pass our own misreadings.
"""
