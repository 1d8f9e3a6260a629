"""A control client on grpcio."""

from iop_control_scenes import *  # noqa: F403
