"""What a bridge makes of each thing that can be said, as measured and not as believed.

bridge
    A controller, the gateway and a worker, each a hub of its own, on links in memory.
member
    One of the three.
corpus
    Every kind of event and every member of a run's spec, at several values.
trial
    The corpus through one pair of protocols.
report
    What came out at the other end, for each member: carried, converted, synthesised, dropped.
"""
