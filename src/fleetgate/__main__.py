"""`python -m fleetgate`: the command `gateway` where its script is not on the path."""

import sys

from fleetgate.gateway.cli import main

if __name__ == "__main__":
    sys.exit(main())
