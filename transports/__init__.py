"""Links: how frames get from here to there.

frame
    The bytes of one message. Nothing here looks inside one, or logs one.
link
    A two-way carrier of frames between two ends, over whatever carriage.
framing
    How frames stand in a stream of bytes: a prefix with the length, or lines.
listener
    A bound address that hands out a link for each peer that dials it.
dialer
    Knows how to reach one address, and does it once when asked. It never tries again by itself.
opening
    What is known of the peer when a link is up: where it is, who it has proven to be.
carrier
    The task that owns one WebSocket, from the upgrade to the closed socket.
fault
    Something that a wrapped link does wrong on purpose, for tests.
tap
    A wrapped link that tells somebody of each frame. (Under a WebSocket another counts bytes.)

`open.py` is the door: an address and options in, a listener or a dialer out. `testing.py` proves
a carriage. This room imports no other.
"""
