"""Where models are served, and how patiently they are waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import attrs

from fleetgate.gateway.config_reader import Flawed, keys_of, read
from fleetgate.gateway.local.work import Declined, unreadable

MAX_PATIENCE: Final = 86_400.0
"""Seconds of a timeout: a day."""


def _check_url(_: object, __: object, value: str) -> None:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise ValueError("is no URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError("expected http://HOST[:PORT] or https://HOST[:PORT], perhaps with a path")
    if parts.username is not None or parts.password is not None:
        raise ValueError("holds credentials; a secret is never in this file")
    if parts.query or parts.fragment or any(ord(char) <= 32 for char in value):
        raise ValueError("is the base of other addresses: no query, no fragment, no spaces")


def _check_patience(_: object, __: object, value: float) -> None:
    if not 0 < value <= MAX_PATIENCE:
        raise ValueError(f"expected seconds above 0, up to {MAX_PATIENCE:g}")


@attrs.frozen(slots=True)
class OllamaSettings:
    """An Ollama server."""

    base_url: str = attrs.field(default="http://127.0.0.1:11434", validator=_check_url)
    """Where it serves; `/api/chat` and `/api/generate` are below."""
    model: str = ""
    """The model of a run that names none."""
    connect_timeout: float = attrs.field(default=10.0, validator=_check_patience)
    """How long a connection may take, in seconds."""
    silence_timeout: float = attrs.field(default=300.0, validator=_check_patience)
    """How long it may send nothing: a large model takes minutes to load."""

    @property
    def url(self) -> str:
        """The base, without a slash at its end."""
        return self.base_url.rstrip("/")


@attrs.frozen(slots=True)
class VllmSettings:
    """A vLLM server, or another that speaks as OpenAI's do."""

    endpoint: str = attrs.field(default="http://127.0.0.1:8000", validator=_check_url)
    """Where it serves, with or without `/v1`."""
    model: str = ""
    """The model of a run that names none."""
    token: Any = None
    """What it was started with as `--api-key`: `{ env = "NAME" }` or `{ file = "PATH" }`. It is
    shown to this endpoint, and to none that came with a run."""
    connect_timeout: float = attrs.field(default=10.0, validator=_check_patience)
    """How long a connection may take, in seconds."""
    silence_timeout: float = attrs.field(default=300.0, validator=_check_patience)
    """How long it may send nothing: a prompt may wait in its queue."""

    @property
    def url(self) -> str:
        """The base with its version, without a slash at its end."""
        return f"{self.endpoint.rstrip('/').removesuffix('/v1')}/v1"


_Settings = TypeVar("_Settings", OllamaSettings, VllmSettings)


def with_pushed(own: _Settings, pushed: Mapping[str, Any]) -> _Settings:
    """Our settings with what came with a run in their place. Another server than ours never gets
    our token.

    Raises: `Declined`.
    """
    if not pushed:
        return own
    if "token" in pushed:
        raise Declined("invalid_argument", "config.token: a secret does not come with a run")
    try:
        given = read(type(own), dict(pushed), ("config",))
    except Flawed as error:
        raise unreadable(error) from None
    kept = {key: getattr(given if key in pushed else own, key) for key in keys_of(type(own))}
    made = type(own)(**kept)
    if isinstance(made, VllmSettings) and made.url != own.url:
        return attrs.evolve(made, token=None)
    return made
