"""Both ends of a WebSocket with coder/websocket at the other."""

from websocket_scenes import *  # noqa: F403
