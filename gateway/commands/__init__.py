"""What `gateway NAME` does, a module for each command or family of them.

Each has a `run…(arguments) -> int`, the exit code. `gateway/cli.py` reads the command line
and imports only the module that is wanted.
"""
