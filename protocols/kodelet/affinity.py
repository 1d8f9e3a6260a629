"""Which runner and profile a conversation is bound to, once a run of it was opened (W 9.1)."""

from __future__ import annotations

from typing import Final

from fleetgate.protocols.kodelet.wire import RunOpen

BOUND: Final = 65_536
"""Conversations that are remembered; beyond it the one that was bound first is free again."""

_DEFAULT: Final = "default"


class Affinities:
    """Of one control plane, whichever runner is connected."""

    def __init__(self, bound: int = BOUND) -> None:
        self._bound = bound
        self._of: dict[str, tuple[str, str]] = {}

    def wrong_with(self, asked: RunOpen, runner: str) -> str | None:
        """Why a run may not be opened at `runner`; None: it may."""
        bound = self._of.get(asked.conversation_id)
        if bound is None:
            return None
        if bound[0] != runner:
            return f"conversation is bound to runner {bound[0]}"
        profile = asked.agent.environment_profile
        if _folded(profile) != _folded(bound[1]):
            return (
                f'conversation environment profile is locked to "{bound[1]}"; '
                f'cannot resume with "{profile}"'
            )
        return None

    def bind(self, asked: RunOpen, runner: str) -> None:
        """A run was opened there. The first one binds."""
        bound = (runner, asked.agent.environment_profile)
        self._of.setdefault(asked.conversation_id, bound)
        if len(self._of) > self._bound:
            del self._of[next(iter(self._of))]


def _folded(profile: str) -> str:
    """A profile's name to compare: `default`, in any case, is none."""
    return "" if profile.lower() == _DEFAULT else profile
