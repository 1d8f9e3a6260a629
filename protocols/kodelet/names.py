"""Identifiers that are derived, so that they outlive every restart without being stored."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode

from fleetgate.protocols.kodelet.go_json import trim


def derive(prefix: str, size: int, *parts: str) -> str:
    """`prefix` and `size` bytes of a digest of the parts, in unpadded base64url. The same parts
    give the same name, and others another."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
    return prefix + encoded(digest[:size])


def encoded(data: bytes) -> str:
    """Unpadded base64url."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def runner_id(instance: str, host: str, workspace: str) -> str:
    """A runner's id at the entry `instance`, from its identity (W 7.2)."""
    return derive("runner_", 12, "runner", instance, trim(host), trim(workspace))


def host_id(instance: str) -> str:
    """The stable installation id of the entry `instance` (W 7.1)."""
    return derive("host_", 18, "host", instance)


def registration(server: str, workspace: str) -> str:
    """What a cached registration is found by (W 7.4): the server it is of, and the workspace."""
    return derive("", 12, "registration", server, workspace)


def connection_id(entropy: bytes) -> str:
    """A connection's diagnostic id."""
    return "conn_" + encoded(entropy[:12])


def run_id(instance: str, run: str) -> str:
    """The id that a run of the core has at runners."""
    return derive("run_", 18, "run", instance, run)


def ui_id(extension: str, generation: int, id: str) -> str:
    """An interactive request's id, unique across extension processes (W 12.1)."""
    return "runner-ui-" + encoded(f"{extension}\0{generation}\0{id}".encode("utf-8", "replace"))
