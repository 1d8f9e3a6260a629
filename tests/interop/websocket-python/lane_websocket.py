"""Both ends of a WebSocket with websockets at the other."""

from websocket_scenes import *  # noqa: F403
