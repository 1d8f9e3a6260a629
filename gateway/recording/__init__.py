"""What crossed links, written down and played again.

A *recording* is a file of JSON lines: a header, then *items* in the order in which they happened:
a link comes up, a *frame* crosses, one end is over. Frames are kept without secrets. A *witness*
puts one link into items, a *recorder* writes those of all links to a file. A *replay* plays one
side of a recording against a live peer, and tells the first *difference*.
"""
