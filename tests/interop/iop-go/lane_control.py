"""A control client on google.golang.org/grpc."""

from iop_control_scenes import *  # noqa: F403
