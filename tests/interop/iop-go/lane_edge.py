"""An edge on google.golang.org/grpc."""

from iop_edge_scenes import *  # noqa: F403
