"""`python -m fleetgate.gateway.bench`."""

import sys

from fleetgate.gateway.bench.cli import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
