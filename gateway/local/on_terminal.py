"""Executes a program on the terminal that its standard input is, as its controlling one.

A process gets a controlling terminal by a call of its own, between fork and exec. Python can do
that in the fork of a program with threads only at the risk of a deadlock; so this small program
stands in between, and becomes the one that is wanted.
"""

import fcntl
import os
import sys
import termios

if __name__ == "__main__":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    try:
        os.execvp(sys.argv[1], sys.argv[1:])
    except OSError as error:
        os.write(2, f"{error.strerror}\n".encode())
        os._exit(127)
