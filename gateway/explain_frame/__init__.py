"""`gateway explain-frame`: what a frame says, and what is wrong with it.

given
    What somebody has of a frame: digits, a file's bytes, a recording, a pipe.
frame
    The bytes of one message, as a link carries it: without the length that stands before it in a
    stream of bytes.
rule
    What the protocol says against a frame, and the section of its page that says so.
"""
