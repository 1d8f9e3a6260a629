"""What crossed links, written down and played again.

recording
    A file of JSON lines: a header, then items, in the order in which they happened.
item
    A link comes up, a frame crosses, one end is over. Frames are kept without secrets.
onlookers
    They put a tap on each link, and give the items of all of them to sinks, numbered.
witness
    Puts one link into items.
recorder
    A sink that writes items to a file, and never holds up what is recorded.
replay
    Plays one side of a recording against a live peer, with the names and times of now.
manner
    How close the peer must keep to what was recorded. The first difference ends the replay.
"""
