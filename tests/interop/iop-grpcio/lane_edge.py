"""An edge on grpcio."""

from iop_edge_scenes import *  # noqa: F403
