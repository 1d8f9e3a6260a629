"""Every pair of protocols, beside a relay of the same two transports: `gateway bench --only pairs`.

ends
    Controller and worker of a pair, both in the load's process: hubs with journals in memory that
    speak the two protocols, as the fakes do.
subject
    What is measured, in a process of its own: a gateway with its journal on disk, or a relay.
run
    One of those that a trial has at the same time; its worker says so many texts of one size.

The load decodes, numbers and encodes, which a relay's load does not: through a gateway it is often
the limit. Processor time of the subject for an event does not depend on that; a rate does.
"""
