"""A node on google.golang.org/grpc."""

from iop_node_scenes import *  # noqa: F403
