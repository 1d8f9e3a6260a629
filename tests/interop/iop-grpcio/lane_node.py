"""A node on grpcio."""

from iop_node_scenes import *  # noqa: F403
