"""`gateway demo --all`: every pair of protocols at once, through one gateway that is killed.

speaker
    One protocol, as the demo starts its two ends and configures the gateway for it.
pair
    A controller of one protocol and the workers of another: a column of the matrix.
scene
    One run of a pair: what it says, and how it must end.
"""
